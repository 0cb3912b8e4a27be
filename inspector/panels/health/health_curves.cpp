#include "inspector/panels/health/health_curves.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/panels/health/health_text.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

namespace {

constexpr int most_charts = 4, least_height = 44;
constexpr double floor_exponent = -300;

double exponentOf(double value) {
  return value > 0 ? std::log10(value) : floor_exponent;
}

}  // namespace

HealthCurves::HealthCurves(HealthModel* model, QWidget* parent) : QWidget(parent), model_(model) {
  exposeParts();
  setObjectName(QStringLiteral("healthCurves"));
  setAccessibleName(QStringLiteral("Curves of the selected row"));
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  const auto look = [this] {
    setAccessibleDescription(description());
    tellPartsChanged(this);
    update();
  };
  connect(model, &HealthModel::curvesChanged, this, look);
  connect(model, &HealthModel::changed, this, look);
  connect(model->session(), &Session::cursorChanged, this, [this] { update(); });
}

double HealthCurves::lastStep() const {
  const protocol::HealthRun* run = model_->shownRun();
  double last = static_cast<double>(std::max<quint64>(run ? run->steps : 0, 1));
  for (const protocol::HealthCurve* curve : model_->curves())
    if (!curve->steps.empty()) last = std::max(last, curve->steps.back());
  return last;
}

std::vector<HealthCurves::Chart> HealthCurves::charts() const {
  std::vector<Chart> charts;
  const double last_step = lastStep();
  for (const protocol::HealthCurve* curve : model_->curves()) {
    const bool silent = curve->quantity == "not finite" &&
                        std::ranges::all_of(curve->values, [](double value) { return value == 0; });
    if (!curve->steps.empty() && !silent) charts.push_back({curve, {}, 0, 1, last_step});
  }
  const auto room = static_cast<std::size_t>(std::clamp(QWidget::height() / least_height, 1, most_charts));
  if (charts.size() > room) charts.resize(room);
  const int line = fontMetrics().lineSpacing();
  const int left = fontMetrics().horizontalAdvance(QStringLiteral("8.88e-08")) + 10;
  const double each =
      charts.empty() ? 0
                     : static_cast<double>(QWidget::height() - line - 2) / static_cast<double>(charts.size());
  for (std::size_t i = 0; i < charts.size(); ++i) {
    Chart& chart = charts[i];
    chart.area = QRectF(left, static_cast<double>(i) * each + line + 2, std::max(10, width() - left - 10),
                        std::max(8.0, each - line - 6));
    chart.logarithmic = isLogarithmic(chart.curve->quantity);
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (const double value : chart.curve->values) {
      if (!std::isfinite(value)) continue;
      if (chart.logarithmic && !(value > 0)) {
        chart.floored = true;
        continue;
      }
      low = std::min(low, chart.logarithmic ? exponentOf(value) : value);
      high = std::max(high, chart.logarithmic ? exponentOf(value) : value);
    }
    const bool share = chart.curve->quantity == "dead" || chart.curve->quantity == "saturated";
    if (share) low = 0, high = 1;
    chart.numbers = low <= high;
    if (!chart.numbers) low = 0, high = 1;
    const double room_around = high > low          ? 0.05 * (high - low)
                               : chart.logarithmic ? 0.5
                                                   : std::max(0.5, 0.1 * std::abs(high));
    chart.low = share ? low : low - (chart.floored ? 4 : 1) * room_around;
    chart.high = share ? high : high + room_around;
  }
  return charts;
}

double HealthCurves::height(const Chart& chart, double value) {
  const double at = chart.logarithmic ? exponentOf(value) : value;
  return chart.area.bottom() -
         std::clamp((at - chart.low) / (chart.high - chart.low), 0.0, 1.0) * chart.area.height();
}

double HealthCurves::stepPlace(const Chart& chart, double step) {
  const double last = chart.last_step;
  return chart.area.left() + (last > 1 ? (step - 1) / (last - 1) : 0.5) * chart.area.width();
}

QPointF HealthCurves::placeOf(const std::string& quantity, int sample) const {
  for (const Chart& chart : charts()) {
    if (chart.curve->quantity != quantity || sample < 0 ||
        sample >= static_cast<int>(chart.curve->steps.size()))
      continue;
    const auto at = static_cast<std::size_t>(sample);
    return {stepPlace(chart, chart.curve->steps[at]), height(chart, chart.curve->values[at])};
  }
  return {};
}

/// -1: the cursor is before the first sample, or in another run.
int HealthCurves::sampleAtCursor(const protocol::HealthCurve& curve) const {
  const RecordNumber cursor = model_->session()->cursor();
  if (const protocol::HealthRun* run = model_->shownRun(); run && cursor > run->last) return -1;
  const auto after = std::ranges::upper_bound(curve.records, cursor);
  return static_cast<int>(after - curve.records.begin()) - 1;
}

void HealthCurves::draw(QPainter& painter, const Chart& chart) const {
  const Theme theme = Theme::fromPalette(palette());
  const protocol::HealthCurve& curve = *chart.curve;
  const int line = fontMetrics().lineSpacing();
  painter.setPen(theme.faintText);
  const QRectF title(chart.area.left(), chart.area.top() - line - 1, chart.area.width(), line);
  painter.drawText(
      title, Qt::AlignLeft,
      healthQuantityText(curve.quantity) + (chart.logarithmic ? QStringLiteral(" (log)") : QString()));
  const auto label = [&](double at) {
    return healthValueText(curve.quantity, chart.logarithmic ? std::pow(10.0, at) : at);
  };
  if (chart.numbers)
    painter.drawText(QRectF(0, chart.area.top() - line / 2.0, chart.area.left() - 5, line), Qt::AlignRight,
                     label(chart.high));
  if (chart.numbers || chart.floored)
    painter.drawText(QRectF(0, chart.area.bottom() - line / 2.0, chart.area.left() - 5, line), Qt::AlignRight,
                     chart.floored ? QStringLiteral("≤ 0") : label(chart.low));
  painter.setPen(theme.grid);
  painter.drawRect(chart.area);
  if (const int at = sampleAtCursor(curve); at >= 0) {
    const double x = stepPlace(chart, curve.steps[static_cast<std::size_t>(at)]);
    painter.setPen(QPen(theme.accent, 1, Qt::DashLine));
    painter.drawLine(QPointF(x, chart.area.top()), QPointF(x, chart.area.bottom()));
    painter.setPen(theme.text);
    painter.drawText(title, Qt::AlignRight,
                     QStringLiteral("step %1: %2")
                         .arg(countText(static_cast<quint64>(curve.steps[static_cast<std::size_t>(at)])),
                              healthValueText(curve.quantity, curve.values[static_cast<std::size_t>(at)])));
  }
  painter.setRenderHint(QPainter::Antialiasing);
  QPainterPath path;
  bool pen = false;
  QPolygonF missing;
  for (std::size_t i = 0; i < curve.steps.size(); ++i) {
    const double x = stepPlace(chart, curve.steps[i]);
    if (!std::isfinite(curve.values[i])) {
      missing << QPointF(x, chart.area.top() + 5);
      pen = false;
      continue;
    }
    const QPointF point(x, height(chart, curve.values[i]));
    pen ? path.lineTo(point) : path.moveTo(point);
    pen = true;
  }
  painter.setPen(QPen(theme.forward.stroke, 1.5));
  painter.drawPath(path);
  const bool sparse = static_cast<double>(curve.steps.size()) < chart.area.width() / 6;
  if (sparse) {
    painter.setBrush(theme.forward.stroke);
    for (std::size_t i = 0; i < curve.steps.size(); ++i)
      if (std::isfinite(curve.values[i]))
        painter.drawEllipse(QPointF(stepPlace(chart, curve.steps[i]), height(chart, curve.values[i])), 2, 2);
    painter.setBrush(Qt::NoBrush);
  }
  painter.setPen(QPen(theme.error.stroke, 1.5));  // crosses: NaN, infinite or None
  for (const QPointF& place : missing) {
    painter.drawLine(place - QPointF(3, 3), place + QPointF(3, 3));
    painter.drawLine(place - QPointF(3, -3), place + QPointF(3, -3));
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void HealthCurves::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = Theme::fromPalette(palette());
  painter.fillRect(rect(), theme.background);
  const std::vector<Chart> shown = charts();
  for (const Chart& chart : shown) draw(painter, chart);
  painter.setPen(theme.faintText);
  if (shown.empty()) {
    painter.drawText(rect().adjusted(6, 2, -6, -2), Qt::AlignCenter | Qt::TextWordWrap,
                     QStringLiteral("Select a row to see its curves."));
    return;
  }
  const Chart& last = shown.back();
  const QRectF axis(last.area.left(), last.area.bottom() + 1, last.area.width(), fontMetrics().lineSpacing());
  painter.drawText(axis, Qt::AlignLeft, QStringLiteral("step 1, the run's first"));
  painter.drawText(axis, Qt::AlignRight, countText(static_cast<quint64>(last.last_step)));
  if (hasFocus()) {
    painter.setPen(theme.accent);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

HealthCurves::Hit HealthCurves::hitAt(const QPointF& place) const {
  const std::vector<Chart> shown = charts();
  const Chart* nearest = nullptr;
  for (const Chart& chart : shown)
    if (place.y() >= chart.area.top() - fontMetrics().lineSpacing() && place.y() <= chart.area.bottom() + 4)
      nearest = &chart;
  if (!nearest && !shown.empty()) nearest = &shown.back();
  if (!nearest) return {};
  Hit hit{nearest->curve, -1};
  double best = HUGE_VAL;
  for (std::size_t i = 0; i < nearest->curve->steps.size(); ++i) {
    const double distance = std::abs(stepPlace(*nearest, nearest->curve->steps[i]) - place.x());
    if (distance >= best) continue;
    best = distance;
    hit.sample = static_cast<int>(i);
  }
  return hit;
}

void HealthCurves::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return QWidget::mousePressEvent(event);
  const Hit hit = hitAt(event->position());
  if (hit.sample >= 0) model_->showRecord(hit.curve->records[static_cast<std::size_t>(hit.sample)]);
}

void HealthCurves::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->position();
}
void HealthCurves::leaveEvent(QEvent*) {
  pointer_ = {-1, -1};
}

bool HealthCurves::event(QEvent* event) {
  if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) update();
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const Hit hit = hitAt(help->pos());
  if (hit.sample < 0) return true;
  const auto at = static_cast<std::size_t>(hit.sample);
  QToolTip::showText(help->globalPos(),
                     plainTip(QStringLiteral("step %1, %2: %3\nA click goes there.")
                                  .arg(countText(static_cast<quint64>(hit.curve->steps[at])),
                                       healthQuantityText(hit.curve->quantity),
                                       healthValueText(hit.curve->quantity, hit.curve->values[at]))),
                     this);
  return true;
}

/// To the sample before or after the cursor's, on the first curve.
void HealthCurves::go(int direction) {
  const std::vector<Chart> shown = charts();
  if (shown.empty()) return;
  const protocol::HealthCurve& curve = *shown[0].curve;
  const int at = std::clamp(sampleAtCursor(curve) + direction, 0, static_cast<int>(curve.records.size()) - 1);
  model_->showRecord(curve.records[static_cast<std::size_t>(at)]);
}

void HealthCurves::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Left)
    go(-1);
  else if (event->key() == Qt::Key_Right)
    go(1);
  else
    QWidget::keyPressEvent(event);
}

AccessiblePart HealthCurves::accessiblePart(int index) const {
  const Chart chart = charts()[static_cast<std::size_t>(index)];
  const protocol::HealthCurve& curve = *chart.curve;
  QString value =
      QStringLiteral("%1 samples, from %2 to %3")
          .arg(countText(curve.steps.size()), healthValueText(curve.quantity, curve.values.front()),
               healthValueText(curve.quantity, curve.values.back()));
  if (const int at = sampleAtCursor(curve); at >= 0)
    value += QStringLiteral(", at step %1: %2")
                 .arg(countText(static_cast<quint64>(curve.steps[static_cast<std::size_t>(at)])),
                      healthValueText(curve.quantity, curve.values[static_cast<std::size_t>(at)]));
  return {healthQuantityText(curve.quantity), value, chart.area, QAccessible::ListItem};
}

QString HealthCurves::description() const {
  QStringList parts;
  for (const Chart& chart : charts())
    parts << QStringLiteral("%1: from %2 to %3")
                 .arg(healthQuantityText(chart.curve->quantity),
                      healthValueText(chart.curve->quantity, chart.curve->values.front()),
                      healthValueText(chart.curve->quantity, chart.curve->values.back()));
  return parts.join(QStringLiteral("; "));
}

}  // namespace tapedeck::inspector
