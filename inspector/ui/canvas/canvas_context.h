// What all canvases of the process share: one OpenGL context, one ImGui context (only its draw lists are
// used; input is Qt's), and the glyphs. It draws off screen; the picture is read back
// and painted like any other image. A window that holds OpenGL widgets is put together by OpenGL as a whole
// at every change of any widget in it, which software OpenGL pays for with more time than all drawing takes.
#pragma once

#include <QImage>
#include <QOffscreenSurface>
#include <QOpenGLContext>
#include <QOpenGLFramebufferObject>
#include <functional>
#include <memory>

#include "inspector/ui/canvas/glyph_atlas.h"

namespace tapedeck::inspector {

class CanvasContext {
 public:
  /// Made on first use, kept while a canvas holds it. UI thread only. Null where OpenGL 3.2 is not available.
  static std::shared_ptr<CanvasContext> shared();
  ~CanvasContext();
  CanvasContext(const CanvasContext&) = delete;

  bool makeCurrent() { return context_.makeCurrent(&surface_); }
  GlyphAtlas& glyphs() { return *glyphs_; }

  /// Calls `paint`, which fills ImGui's draw lists (once more where the glyphs did not fit), and returns the
  /// picture of it: `pixels` large, on a ground of one colour. The context must be current.
  QImage draw(QSize pixels, double ratio, const QColor& back, const std::function<void()>& paint);

 private:
  CanvasContext() = default;
  bool create();
  void begin(QSize pixels, const QColor& back);
  QImage end();

  QOffscreenSurface surface_;
  QOpenGLContext context_;
  ImGuiContext* imgui_ = nullptr;
  std::unique_ptr<GlyphAtlas> glyphs_;
  std::unique_ptr<QOpenGLFramebufferObject> buffer_;  ///< as large as the largest canvas
  QSize pixels_;
};

}  // namespace tapedeck::inspector
