#include "plots/plot_canvas.h"

#include <QtWidgets>
#include <algorithm>
#include <cmath>

#include "inspector/model/format.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::plots {

namespace {

constexpr double reach = 14;      ///< pixels from a point that still mean it
constexpr double least_band = 8;  ///< smaller drags are clicks of an unsteady hand
constexpr int spoken_digits = 6;

QString spoken(double value) {
  if (std::isnan(value)) return QStringLiteral("NaN");
  if (std::isinf(value)) return value > 0 ? QStringLiteral("infinity") : QStringLiteral("minus infinity");
  return QString::number(value, 'g', spoken_digits);
}

/// "120 points, step 1 to 120, between 0.41 and 2.3, the newest 0.42".
QString spokenCurve(const inspector::SeriesData& data) {
  if (data.size() == 0) return QStringLiteral("no points");
  QStringList parts{data.size() == 1 ? QStringLiteral("1 point")
                                     : QStringLiteral("%1 points").arg(inspector::countText(data.size()))};
  if (const auto range = stepRange(data))
    parts << QStringLiteral("%1 %2 to %3").arg(data.x, spoken(range->from), spoken(range->to));
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double value : data.values)
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  if (low <= high) parts << QStringLiteral("between %1 and %2").arg(spoken(low), spoken(high));
  parts << QStringLiteral("the newest %1").arg(spoken(data.values.back()));
  return parts.join(QStringLiteral(", "));
}

}  // namespace

PlotCanvas::PlotCanvas(PlotChart* chart, QWidget* parent)
    : QChartView(chart, parent), chart_(chart), band_(new QRubberBand(QRubberBand::Rectangle, viewport())) {
  setRenderHint(QPainter::Antialiasing);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(NoFrame);
  setMinimumSize(160, 100);
  inspector::followFont(this, [this] {
    const double usual = inspector::usualFont().pointSizeF();
    if (usual > 0 && font().pointSizeF() > 0) chart_->setLetters(font().pointSizeF() / usual);
  });
  inspector::exposeParts();
  setAccessibleName(QStringLiteral("Curves of the session"));
  connect(chart, &PlotChart::refreshed, this, [this] { inspector::tellPartsChanged(this); });
}

std::vector<int> PlotCanvas::shownCurves() const {
  std::vector<int> shown;
  for (std::size_t i = 0; i < chart_->series().size(); ++i)
    if (chart_->series()[i].visible && chart_->series()[i].data) shown.push_back(static_cast<int>(i));
  return shown;
}

int PlotCanvas::accessiblePartCount() const {
  return static_cast<int>(shownCurves().size());
}

inspector::AccessiblePart PlotCanvas::accessiblePart(int index) const {
  const auto curve = static_cast<std::size_t>(shownCurves()[static_cast<std::size_t>(index)]);
  const inspector::SeriesData& data = *chart_->series()[curve].data;
  const auto& curves = chart_->curves();
  return {data.title(), spokenCurve(data), curve < curves.size() ? rectOf(curves[curve]) : QRectF(),
          QAccessible::ListItem};
}

/// The part of the plot that its points take, or the whole where it has no visible ones.
QRectF PlotCanvas::rectOf(const Curve& curve) const {
  QRectF rect;
  for (const auto& run : curve.runs)
    for (const QPointF& point : run) {
      const QPointF at = chart_->toScene(point);
      rect = rect.united(QRectF(at - QPointF(1, 1), QSizeF(2, 2)));
    }
  rect = rect.isEmpty() ? chart_->plotArea() : rect & chart_->plotArea();
  return QRectF(mapFromScene(chart_->mapToScene(rect)).boundingRect());
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
