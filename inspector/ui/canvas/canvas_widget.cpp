#include "inspector/ui/canvas/canvas_widget.h"

#include <imgui.h>

#include <QApplication>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QResizeEvent>
#include <QWheelEvent>

#include "inspector/ui/canvas/canvas_context.h"
#include "inspector/ui/canvas/canvas_painter.h"
#include "inspector/ui/canvas/canvas_textures.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::inspector {

namespace {

QString noOpenGlSentence() {
  return QStringLiteral(
      "This panel draws with OpenGL 3.2, which is not available here. On Debian the package libgl1-mesa-dri "
      "provides it for every machine; LIBGL_ALWAYS_SOFTWARE=1 works around a driver that fails.");
}

bool isInput(QEvent::Type type) {
  switch (type) {
    case QEvent::MouseMove:
    case QEvent::MouseButtonPress:
    case QEvent::MouseButtonRelease:
    case QEvent::MouseButtonDblClick:
    case QEvent::Wheel:
    case QEvent::KeyPress:
    case QEvent::KeyRelease:
    case QEvent::Leave:
    case QEvent::FocusIn:
    case QEvent::FocusOut:
      return true;
    default:
      return false;
  }
}

}  // namespace

struct CanvasWidget::Private {
  Theme theme;
  CanvasTextures textures;
  quint64 frames = 0;
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
}

CanvasWidget::~CanvasWidget() {
  if (d_->opengl && d_->opengl->makeCurrent()) d_->textures.clear();
}

void CanvasWidget::showProblem(const QString& sentence) {
  if (!d_->problem) d_->problem = plainLabel(this);
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
double CanvasWidget::letters() const {
  const double own = font().pointSizeF(), usual = usualFont().pointSizeF();
  return own > 0 && usual > 0 ? own / usual : 1;
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
    d_->theme = Theme::fromPalette(palette());
    themeChanged();
    requestFrame();
  }
  if (event->type() == QEvent::FontChange) {
    QResizeEvent resized(size(), size());  // the canvas has another size, if not the widget
    resizeEvent(&resized);
  }
  if (isInput(event->type())) requestFrame();
  return letters() == 1 ? QWidget::event(event) : scaledEvent(event);
}

bool CanvasWidget::scaledEvent(QEvent* event) {
  const auto pass = [&](auto&& copy) {
    copy.setTimestamp(static_cast<QInputEvent*>(event)->timestamp());
    const bool result = QWidget::event(&copy);
    event->setAccepted(copy.isAccepted());
    return result;
  };
  if (auto* mouse = dynamic_cast<QMouseEvent*>(event))
    return pass(QMouseEvent(mouse->type(), mouse->position() / letters(), mouse->scenePosition(),
                            mouse->globalPosition(), mouse->button(), mouse->buttons(), mouse->modifiers(),
                            mouse->pointingDevice()));
  if (auto* wheel = dynamic_cast<QWheelEvent*>(event))
    return pass(QWheelEvent(wheel->position() / letters(), wheel->globalPosition(), wheel->pixelDelta(),
                            wheel->angleDelta(), wheel->buttons(), wheel->modifiers(), wheel->phase(),
                            wheel->inverted(), wheel->source(), wheel->pointingDevice()));
  return QWidget::event(event);
}

void CanvasWidget::paintEvent(QPaintEvent*) {
  if (!d_->opengl) return;
  if (d_->stale || d_->picture.devicePixelRatio() != devicePixelRatioF()) paintFrame();
  QPainter painter(this);
  painter.drawImage(QPoint(), d_->picture);
}

void CanvasWidget::paintFrame() {
  Private& d = *d_;
  const QSize pixels = (QSizeF(size()) * devicePixelRatioF()).toSize();
  const double ratio = devicePixelRatioF() * letters();
  const QSizeF canvas = canvasSize();
  d.stale = false;
  if (pixels.isEmpty() || !d.opengl->makeCurrent()) return;
  const auto painterOn = [&](ImDrawList* list) {
    return CanvasPainter(list, d.opengl->glyphs(), d.textures, d.theme, canvas, ratio);
  };
  d.picture = d.opengl->draw(pixels, ratio, d.theme.background, [&] {
    CanvasPainter painter = painterOn(ImGui::GetBackgroundDrawList());
    paintCanvas(painter);
    if (!hasFocus()) return;
    CanvasPainter front = painterOn(ImGui::GetForegroundDrawList());
    front.outline(QRectF(0.5, 0.5, canvas.width() - 2, canvas.height() - 2), d.theme.accent, 2);
  });
  d.textures.endFrame();
  d.picture.setDevicePixelRatio(devicePixelRatioF());
  ++d.frames;
  emit framePainted();
}

}  // namespace tapedeck::inspector
