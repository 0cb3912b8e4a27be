// The OpenGL context that all canvases of the process share. It draws off screen; the picture is read back
// and painted like any other image. A window that holds OpenGL widgets is put together by OpenGL as a whole
// at every change of any widget in it, which software OpenGL pays for with more time than all drawing takes.
#pragma once

#include <QImage>
#include <QOffscreenSurface>
#include <QOpenGLContext>
#include <QOpenGLFramebufferObject>
#include <memory>

namespace tapedeck::inspector {

class CanvasContext {
 public:
  /// Made on first use, kept while a canvas holds it. UI thread only. Null where OpenGL 3.2 can not be had.
  static std::shared_ptr<CanvasContext> shared();
  ~CanvasContext();
  CanvasContext(const CanvasContext&) = delete;

  bool makeCurrent() { return context_.makeCurrent(&surface_); }
  /// Starts a picture of `pixels`, filled with one colour. The context must be current.
  void begin(QSize pixels, const QColor& back);
  /// The picture that was begun, as drawn since.
  QImage end();

 private:
  CanvasContext() = default;
  bool create();

  QOffscreenSurface surface_;
  QOpenGLContext context_;
  std::unique_ptr<QOpenGLFramebufferObject> buffer_;  ///< as large as the largest canvas
  QSize pixels_;
};

}  // namespace tapedeck::inspector
