#include "inspector/ui/canvas/canvas_widget.h"

#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <QElapsedTimer>
#include <QLabel>
#include <QPainter>
#include <QResizeEvent>
#include <algorithm>

#include "inspector/ui/canvas/canvas_context.h"
#include "inspector/ui/canvas/canvas_fonts.h"
#include "inspector/ui/canvas/canvas_input.h"
#include "inspector/ui/canvas/canvas_painter.h"
#include "inspector/ui/canvas/canvas_textures.h"
#include "inspector/ui/canvas/imgui_types.h"

namespace tapedeck::inspector {

namespace {

QString noOpenGlSentence() {
  return CanvasWidget::tr(
      "This panel draws with OpenGL 3.2, which can not be had here. On Debian the package libgl1-mesa-dri "
      "provides "
      "it for every machine; LIBGL_ALWAYS_SOFTWARE=1 goes round a driver that fails.");
}

}  // namespace

struct CanvasWidget::Private {
  Theme theme;
  ImGuiContext* context = nullptr;
  std::shared_ptr<CanvasFonts> fonts;
  CanvasTextures textures;
  ImTextureID font_texture = nullptr;
  bool backend_ready = false;
  quint64 frames = 0;
  QElapsedTimer since_frame;
  bool own_cursor = false;  ///< the cursor shape is one that ImGui asked for
  std::shared_ptr<CanvasContext> opengl;
  QImage picture;     ///< what is on the screen
  bool stale = true;  ///< a frame was asked for since
  QLabel* problem = nullptr;
};

bool CanvasWidget::openGlWorks() {
  static const bool works = CanvasContext::shared() != nullptr;
  return works;
}

CanvasWidget::CanvasWidget(QWidget* parent) : QWidget(parent), d_(std::make_unique<Private>()) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  d_->theme = Theme::fromPalette(palette());
  if (openGlWorks()) d_->opengl = CanvasContext::shared();
  if (!d_->opengl) {
    showProblem(noOpenGlSentence());
    return;
  }
  setAttribute(Qt::WA_OpaquePaintEvent);
  d_->fonts = CanvasFonts::forRatio(devicePixelRatioF());
  ImGuiContext* const before = ImGui::GetCurrentContext();
  d_->context = ImGui::CreateContext(d_->fonts->atlas());
  ImGui::SetCurrentContext(d_->context);
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.LogFilename = nullptr;
  prepareInput(io);
  ImGui::SetCurrentContext(before);
  updateTheme();
}

CanvasWidget::~CanvasWidget() {
  if (d_->opengl && d_->opengl->makeCurrent()) {
    d_->textures.clear();
    ImGui::SetCurrentContext(d_->context);
    if (d_->backend_ready) ImGui_ImplOpenGL3_Shutdown();
  }
  if (d_->context) ImGui::DestroyContext(d_->context);
}

void CanvasWidget::showProblem(const QString& sentence) {
  if (!d_->problem) d_->problem = new QLabel(this);
  d_->problem->setText(sentence);
  d_->problem->setWordWrap(true);
  d_->problem->setAlignment(Qt::AlignCenter);
  d_->problem->setMargin(16);
  d_->problem->setGeometry(rect());
  d_->problem->show();
}

QString CanvasWidget::problem() const {
  return d_->problem ? d_->problem->text() : QString();
}
const Theme& CanvasWidget::theme() const {
  return d_->theme;
}
quint64 CanvasWidget::framesPainted() const {
  return d_->frames;
}
QImage CanvasWidget::grabFramebuffer() {
  if (d_->opengl && d_->stale) paintFrame();
  return d_->picture;
}

void CanvasWidget::requestFrame() {
  if (!d_->opengl) return;
  d_->stale = true;
  update();
}

void CanvasWidget::resizeEvent(QResizeEvent* event) {
  requestFrame();
  if (d_->problem) d_->problem->setGeometry(rect());
  QWidget::resizeEvent(event);
}

bool CanvasWidget::event(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) {
    updateTheme();
    themeChanged();
    requestFrame();
  }
  if (d_->context) {
    ImGuiContext* const before = ImGui::GetCurrentContext();
    ImGui::SetCurrentContext(d_->context);
    if (feedEvent(ImGui::GetIO(), event)) requestFrame();
    ImGui::SetCurrentContext(before);
  }
  return QWidget::event(event);
}

void CanvasWidget::updateTheme() {
  d_->theme = Theme::fromPalette(palette());
  if (!d_->context) return;
  ImGuiContext* const before = ImGui::GetCurrentContext();
  ImGui::SetCurrentContext(d_->context);
  const Theme& theme = d_->theme;
  theme.dark ? ImGui::StyleColorsDark() : ImGui::StyleColorsLight();
  ImGuiStyle& style = ImGui::GetStyle();
  const auto set = [&style](ImGuiCol role, const QColor& color) {
    style.Colors[role] = ImGui::ColorConvertU32ToFloat4(toImGui(color));
  };
  set(ImGuiCol_Text, theme.text);
  set(ImGuiCol_TextDisabled, theme.faintText);
  set(ImGuiCol_WindowBg, theme.background);
  set(ImGuiCol_PopupBg, theme.panel);
  set(ImGuiCol_Border, theme.border);
  set(ImGuiCol_NavHighlight, theme.accent);
  set(ImGuiCol_TextSelectedBg, theme.selection);
  style.FrameRounding = 3;
  style.PopupRounding = 4;
  ImGui::SetCurrentContext(before);
}

void CanvasWidget::paintEvent(QPaintEvent*) {
  if (!d_->opengl) return;
  if (d_->stale || d_->picture.devicePixelRatio() != devicePixelRatioF()) paintFrame();
  QPainter painter(this);
  painter.drawImage(QPoint(), d_->picture);
}

void CanvasWidget::paintFrame() {
  Private& d = *d_;
  const double ratio = devicePixelRatioF();
  const QSize pixels = (QSizeF(size()) * ratio).toSize();
  d.stale = false;
  if (pixels.isEmpty() || !d.opengl->makeCurrent()) return;
  ImGuiContext* const before = ImGui::GetCurrentContext();
  ImGui::SetCurrentContext(d.context);
  if (!d.backend_ready) d.backend_ready = ImGui_ImplOpenGL3_Init("#version 150");
  d.opengl->begin(pixels, d.theme.background);
  ImGuiIO& io = ImGui::GetIO();
  if (d.fonts->ratio() != ratio) {
    d.fonts = CanvasFonts::forRatio(ratio);
    io.Fonts = d.fonts->atlas();
    d.font_texture = nullptr;
  }
  if (!d.font_texture) {  // the atlas is shared between canvases; each has a texture of its own
    ImGui_ImplOpenGL3_DestroyDeviceObjects();
    ImGui_ImplOpenGL3_CreateDeviceObjects();
    d.font_texture = io.Fonts->TexID;
  }
  io.Fonts->SetTexID(d.font_texture);
  io.FontGlobalScale = static_cast<float>(1 / ratio);
  io.DisplaySize = {static_cast<float>(width()), static_cast<float>(height())};
  io.DisplayFramebufferScale = {static_cast<float>(ratio), static_cast<float>(ratio)};
  const double seconds =
      d.since_frame.isValid() ? static_cast<double>(d.since_frame.nsecsElapsed()) * 1e-9 : 0.0;
  d.since_frame.start();
  io.DeltaTime = static_cast<float>(std::clamp(seconds, 1e-4, 1.0));
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::NewFrame();
  CanvasPainter painter(ImGui::GetBackgroundDrawList(), *d.fonts, d.textures, d.theme, size());
  paintCanvas(painter);
  if (hasFocus()) {
    CanvasPainter front(ImGui::GetForegroundDrawList(), *d.fonts, d.textures, d.theme, size());
    front.outline(QRectF(0.5, 0.5, width() - 2, height() - 2), d.theme.accent, 2);
  }
  ImGui::Render();
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  d.textures.endFrame();
  d.picture = d.opengl->end();
  d.picture.setDevicePixelRatio(ratio);
  const ImGuiMouseCursor wanted = ImGui::GetMouseCursor();
  if (wanted != ImGuiMouseCursor_Arrow)
    setCursor(cursorShape(wanted));
  else if (d.own_cursor)
    unsetCursor();
  d.own_cursor = wanted != ImGuiMouseCursor_Arrow;
  if (ImGui::IsAnyItemActive()) requestFrame();
  ImGui::SetCurrentContext(before);
  ++d.frames;
  emit framePainted();
}

}  // namespace tapedeck::inspector
