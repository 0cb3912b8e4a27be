#include "plots/plot_canvas.h"

#include <QtWidgets>

namespace tapedeck::plots {

namespace {

constexpr double reach = 14;      ///< pixels from a point that still mean it
constexpr double least_band = 8;  ///< smaller drags are clicks of an unsteady hand

}  // namespace

PlotCanvas::PlotCanvas(PlotChart* chart, QWidget* parent)
    : QChartView(chart, parent), chart_(chart), band_(new QRubberBand(QRubberBand::Rectangle, viewport())) {
  setRenderHint(QPainter::Antialiasing);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(NoFrame);
  setMinimumSize(160, 100);
  setAccessibleName(QStringLiteral("Curves of the session"));
}

QPointF PlotCanvas::inChart(QPointF position) const {
  return chart_->mapFromScene(mapToScene(position.toPoint()));
}
bool PlotCanvas::inPlot(QPointF position) const {
  return chart_->plotArea().contains(inChart(position));
}

void PlotCanvas::zoomAround(QPointF center, double factor, bool steps, bool values) {
  const QPointF at = chart_->toAxes(center);
  const auto scaled = [factor](Range range, double fixed) {
    return Range{fixed + (range.from - fixed) / factor, fixed + (range.to - fixed) / factor};
  };
  chart_->setZoom(steps ? scaled(chart_->stepsShown(), at.x()) : chart_->stepsShown(),
                  values ? scaled(chart_->yShown(), at.y()) : chart_->yShown());
}

void PlotCanvas::zoomIn() {
  zoomAround(chart_->plotArea().center(), 1.5, true, true);
}
void PlotCanvas::zoomOut() {
  zoomAround(chart_->plotArea().center(), 1 / 1.5, true, true);
}
void PlotCanvas::resetZoom() {
  chart_->setZoom(std::nullopt, std::nullopt);
}

void PlotCanvas::wheelEvent(QWheelEvent* event) {
  const double turns = (event->angleDelta().y() + event->angleDelta().x()) / 120.0;
  if (turns == 0 || !inPlot(event->position())) return;
  const bool stepsOnly = event->modifiers() & Qt::ShiftModifier,
             valuesOnly = event->modifiers() & Qt::ControlModifier;
  zoomAround(inChart(event->position()), std::pow(1.25, turns), !valuesOnly, !stepsOnly);
  event->accept();
}

void PlotCanvas::mousePressEvent(QMouseEvent* event) {
  setFocus(Qt::MouseFocusReason);
  pressed_ = last_ = event->position();
  if (!inPlot(event->position())) {
    QChartView::mousePressEvent(event);  // the legend's
    return;
  }
  if (event->button() == Qt::LeftButton)
    drag_ = event->modifiers() & Qt::AltModifier ? Drag::pan : Drag::pressed;
  if (event->button() == Qt::MiddleButton) drag_ = Drag::pan;
  if (drag_ == Drag::pan) viewport()->setCursor(Qt::ClosedHandCursor);
}

void PlotCanvas::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  if (drag_ == Drag::pressed && QLineF(at, pressed_).length() >= least_band) {
    drag_ = Drag::band;
    band_->show();
  }
  if (drag_ == Drag::band) {
    band_->setGeometry(QRectF(pressed_, at).normalized().toRect());
  } else if (drag_ == Drag::pan) {
    panBy(at - last_);
  } else if (inPlot(at)) {
    chart_->setHover(chart_->toAxes(inChart(at)).x());
  } else {
    chart_->setHover(std::nullopt);
    QChartView::mouseMoveEvent(event);
  }
  last_ = at;
}

void PlotCanvas::panBy(QPointF pixels) {
  const QRectF area = chart_->plotArea();
  if (area.isEmpty()) return;
  const Range steps = chart_->stepsShown(), y = chart_->yShown();
  const double right = -pixels.x() / area.width() * steps.width(),
               up = pixels.y() / area.height() * y.width();
  chart_->setZoom(Range{steps.from + right, steps.to + right}, Range{y.from + up, y.to + up});
  chart_->refresh();  // the next move starts from the new place
}

void PlotCanvas::finishBand(QPointF position) {
  band_->hide();
  const QRectF area = chart_->plotArea();
  const QRectF band = QRectF(inChart(pressed_), inChart(position)).normalized() & area;
  if (band.width() < least_band && band.height() < least_band) return;
  // A flat band means a range of steps only, a narrow one values only.
  const QPointF low = chart_->toAxes(band.bottomLeft()), high = chart_->toAxes(band.topRight());
  const Range steps = band.width() < least_band ? chart_->stepsShown() : Range{low.x(), high.x()};
  const Range y = band.height() < least_band ? chart_->yShown() : Range{low.y(), high.y()};
  chart_->setZoom(steps, y);
}

void PlotCanvas::mouseReleaseEvent(QMouseEvent* event) {
  const Drag drag = drag_;
  drag_ = Drag::none;
  viewport()->unsetCursor();
  if (drag == Drag::band) {
    finishBand(event->position());
  } else if (drag == Drag::pressed) {
    const ChartPoint point = chart_->pointNear(inChart(event->position()), reach);
    if (point.series >= 0) emit pointClicked(point.series, point.index);
  } else if (drag == Drag::none) {
    QChartView::mouseReleaseEvent(event);
  }
}

void PlotCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (inPlot(event->position())) {
    resetZoom();
  } else {
    QChartView::mouseDoubleClickEvent(event);
  }
}

void PlotCanvas::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right:
      emit pointStepped(event->key() == Qt::Key_Left ? -1 : 1);
      break;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      zoomIn();
      break;
    case Qt::Key_Minus:
      zoomOut();
      break;
    case Qt::Key_Escape:
      if (drag_ == Drag::band) {
        drag_ = Drag::none;
        band_->hide();
        break;
      }
      [[fallthrough]];
    default:
      event->ignore();
      return;
  }
  event->accept();
}

void PlotCanvas::leaveEvent(QEvent* event) {
  chart_->setHover(std::nullopt);
  QChartView::leaveEvent(event);
}

}  // namespace tapedeck::plots
