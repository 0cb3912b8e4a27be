#include "inspector/canvas/canvas_widget.h"

#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <QElapsedTimer>
#include <QLabel>
#include <QOffscreenSurface>
#include <QOpenGLContext>
#include <QOpenGLFunctions>
#include <QOpenGLWidget>
#include <QResizeEvent>
#include <optional>

#include "inspector/canvas/canvas_fonts.h"
#include "inspector/canvas/canvas_input.h"
#include "inspector/canvas/canvas_painter.h"
#include "inspector/canvas/canvas_textures.h"
#include "inspector/canvas/imgui_types.h"

namespace tapedeck::inspector {

namespace {

QString noOpenGlSentence() {
  return CanvasWidget::tr(
      "This panel draws with OpenGL 3.2, which can not be had here. On Debian the package libgl1-mesa-dri "
      "provides "
      "it for every machine; LIBGL_ALWAYS_SOFTWARE=1 goes round a driver that fails.");
}

bool newEnough(const QSurfaceFormat& format) {
  return format.majorVersion() > 3 || (format.majorVersion() == 3 && format.minorVersion() >= 2);
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
  Surface* surface = nullptr;
  QLabel* problem = nullptr;
};

/// The OpenGL part. Input goes through it to the canvas, so that a canvas without OpenGL is still a widget
/// that can be focused and laid out.
class CanvasWidget::Surface : public QOpenGLWidget {
 public:
  explicit Surface(CanvasWidget* canvas) : QOpenGLWidget(canvas), canvas_(canvas) {
    if (!newEnough(QSurfaceFormat::defaultFormat())) setFormat(CanvasWidget::surfaceFormat());
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setFocusPolicy(Qt::NoFocus);
  }
  ~Surface() override {
    release();
    disconnect(lost_);  // QOpenGLWidget's own destructor ends the context, when this is a Surface no more
  }

  void release() {
    Private& d = *canvas_->d_;
    if (!d.backend_ready) return;
    makeCurrent();
    d.textures.clear();
    ImGui::SetCurrentContext(d.context);
    ImGui_ImplOpenGL3_Shutdown();
    d.backend_ready = false;
    doneCurrent();
  }

 protected:
  void initializeGL() override {
    // A canvas that moves to another window (a dock that floats) gets a new context.
    lost_ = connect(context(), &QOpenGLContext::aboutToBeDestroyed, this, [this] { release(); });
    Private& d = *canvas_->d_;
    ImGui::SetCurrentContext(d.context);
    d.backend_ready = newEnough(context()->format()) && ImGui_ImplOpenGL3_Init("#version 150");
    d.font_texture = nullptr;
    if (!d.backend_ready)
      QMetaObject::invokeMethod(
          canvas_, [canvas = canvas_] { canvas->showProblem(noOpenGlSentence()); }, Qt::QueuedConnection);
  }
  void paintGL() override { canvas_->paintFrame(); }

 private:
  CanvasWidget* canvas_;
  QMetaObject::Connection lost_;
};

QSurfaceFormat CanvasWidget::surfaceFormat() {
  QSurfaceFormat format;
  format.setVersion(3, 2);
  format.setProfile(QSurfaceFormat::CoreProfile);
  format.setSwapInterval(1);
  return format;
}

bool CanvasWidget::openGlWorks() {
  static const bool works = [] {
    QOpenGLContext context;
    context.setFormat(surfaceFormat());
    if (!context.create() || !newEnough(context.format())) return false;
    QOffscreenSurface surface;
    surface.setFormat(context.format());
    surface.create();
    return surface.isValid() && context.makeCurrent(&surface);
  }();
  return works;
}

CanvasWidget::CanvasWidget(QWidget* parent) : QWidget(parent), d_(std::make_unique<Private>()) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  d_->theme = Theme::fromPalette(palette());
  if (!openGlWorks()) {
    showProblem(noOpenGlSentence());
    return;
  }
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
  d_->surface = new Surface(this);
  d_->surface->setGeometry(rect());
}

CanvasWidget::~CanvasWidget() {
  delete d_->surface;  // while the context that it shuts down is still there
  if (d_->context) ImGui::DestroyContext(d_->context);
}

void CanvasWidget::showProblem(const QString& sentence) {
  if (d_->surface) d_->surface->hide();
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
  return d_->surface ? d_->surface->grabFramebuffer() : QImage();
}

void CanvasWidget::requestFrame() {
  if (d_->surface) d_->surface->update();
}

void CanvasWidget::resizeEvent(QResizeEvent* event) {
  if (d_->surface) d_->surface->setGeometry(rect());
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

void CanvasWidget::paintFrame() {
  Private& d = *d_;
  QOpenGLFunctions* gl = QOpenGLContext::currentContext()->functions();
  const QColor& back = d.theme.background;
  gl->glClearColor(static_cast<float>(back.redF()), static_cast<float>(back.greenF()),
                   static_cast<float>(back.blueF()), 1);
  gl->glClear(GL_COLOR_BUFFER_BIT);
  if (!d.backend_ready) return;
  ImGuiContext* const before = ImGui::GetCurrentContext();
  ImGui::SetCurrentContext(d.context);
  ImGuiIO& io = ImGui::GetIO();
  const double ratio = devicePixelRatioF();
  if (d.fonts->ratio() != ratio) {
    d.fonts = CanvasFonts::forRatio(ratio);
    io.Fonts = d.fonts->atlas();
    d.font_texture = nullptr;
  }
  if (!d.font_texture) {  // the atlas is shared between canvases; its texture belongs to this context
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
