#include "inspector/ui/canvas/canvas_context.h"

#include <QColor>
#include <QOpenGLFunctions>
#include <cstring>

namespace tapedeck::inspector {

std::shared_ptr<CanvasContext> CanvasContext::shared() {
  static std::weak_ptr<CanvasContext> instance;
  if (auto here = instance.lock()) return here;
  std::shared_ptr<CanvasContext> made(new CanvasContext);
  if (!made->create()) return nullptr;
  instance = made;
  return made;
}

bool CanvasContext::create() {
  QSurfaceFormat format;
  format.setVersion(3, 2);
  format.setProfile(QSurfaceFormat::CoreProfile);
  context_.setFormat(format);
  if (!context_.create()) return false;
  const QSurfaceFormat got = context_.format();
  if (got.majorVersion() < 3 || (got.majorVersion() == 3 && got.minorVersion() < 2)) return false;
  surface_.setFormat(got);
  surface_.create();
  return surface_.isValid() && makeCurrent();
}

CanvasContext::~CanvasContext() {
  if (!buffer_ || !makeCurrent()) return;
  buffer_.reset();
  context_.doneCurrent();
}

void CanvasContext::begin(QSize pixels, const QColor& back) {
  if (!buffer_ || buffer_->width() < pixels.width() || buffer_->height() < pixels.height())
    buffer_ = std::make_unique<QOpenGLFramebufferObject>(
        buffer_ ? buffer_->size().expandedTo(pixels) : pixels, QOpenGLFramebufferObject::NoAttachment);
  pixels_ = pixels;
  buffer_->bind();
  QOpenGLFunctions* gl = context_.functions();
  gl->glViewport(0, 0, pixels.width(), pixels.height());
  gl->glEnable(GL_SCISSOR_TEST);
  gl->glScissor(0, 0, pixels.width(), pixels.height());
  gl->glClearColor(static_cast<float>(back.redF()), static_cast<float>(back.greenF()),
                   static_cast<float>(back.blueF()), 1);
  gl->glClear(GL_COLOR_BUFFER_BIT);
  gl->glDisable(GL_SCISSOR_TEST);
}

QImage CanvasContext::end() {
  QOpenGLFunctions* gl = context_.functions();
  QImage upside_down(pixels_, QImage::Format_RGB32);
  gl->glPixelStorei(GL_PACK_ALIGNMENT, 4);
  gl->glReadPixels(0, 0, pixels_.width(), pixels_.height(), GL_BGRA, GL_UNSIGNED_BYTE, upside_down.bits());
  buffer_->release();
  QImage image(pixels_, QImage::Format_RGB32);
  for (int y = 0; y < pixels_.height(); ++y)
    std::memcpy(image.scanLine(y), upside_down.constScanLine(pixels_.height() - 1 - y),
                static_cast<std::size_t>(image.bytesPerLine()));
  return image;
}

}  // namespace tapedeck::inspector
