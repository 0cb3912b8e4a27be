#include "inspector/ui/canvas/canvas_context.h"

#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

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
  if (!surface_.isValid() || !makeCurrent()) return false;
  glyphs_ = std::make_unique<GlyphAtlas>();
  imgui_ = ImGui::CreateContext(glyphs_->shapes());
  ImGui::SetCurrentContext(imgui_);
  ImGui::GetIO().IniFilename = nullptr;
  ImGui::GetIO().LogFilename = nullptr;
  if (!ImGui_ImplOpenGL3_Init("#version 150") || !ImGui_ImplOpenGL3_CreateDeviceObjects()) return false;
  ImGui_ImplOpenGL3_DestroyFontsTexture();  // the glyphs' texture takes its place
  glyphs_->shapes()->ClearTexData();
  return true;
}

CanvasContext::~CanvasContext() {
  if (!imgui_) return;
  ImGui::SetCurrentContext(imgui_);
  if (makeCurrent()) {
    ImGui_ImplOpenGL3_Shutdown();
    buffer_.reset();
    glyphs_.reset();
    context_.doneCurrent();
  }
  ImGui::DestroyContext(imgui_);
}

QImage CanvasContext::draw(QSize pixels, double ratio, const QColor& back,
                           const std::function<void()>& paint) {
  ImGui::SetCurrentContext(imgui_);
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(pixels.width() / ratio), static_cast<float>(pixels.height() / ratio)};
  io.DisplayFramebufferScale = {static_cast<float>(ratio), static_cast<float>(ratio)};
  io.DeltaTime = 1.0f / 60;
  do {
    glyphs_->upload();  // draw lists name their texture when they are begun
    ImGui::NewFrame();
    paint();
    ImGui::Render();
  } while (!glyphs_->complete());
  glyphs_->upload();
  begin(pixels, back);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  return end();
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
