#include "plots/plot_chart.h"

#include <QtCharts>
#include <algorithm>
#include <cmath>

#include "inspector/model/format.h"
#include "inspector/model/tensor/notation.h"
#include "inspector/ui/window_scale.h"
#include "plots/curves_item.h"

namespace tapedeck::plots {

using inspector::SeriesData;
using inspector::SeriesModel;

constexpr double roomy_height = 220;  ///< pixels; below it axes have no titles
constexpr double tick_width = 80, tick_height = 30;
constexpr int read_out_digits = 6;

struct PlotChart::Private {
  PlotChart* q;
  inspector::Theme theme = inspector::Theme::light();
  std::vector<ChartSeries> series;
  std::vector<QLineSeries*> legendEntries;  ///< without points: they carry name and pen for the legend
  std::vector<Curve> curves;
  QCategoryAxis* stepAxis;
  QCategoryAxis* valueAxis;
  CurvesItem* item;
  QString axis = QStringLiteral("step");  ///< what x is
  bool logarithmic = false;
  std::optional<Range> zoomSteps, zoomY;
  Range steps, y;
  std::vector<Tick> stepTicks, valueTicks;
  quint64 cursorRecord = 0;
  std::optional<double> cursorStep, hoverStep;
  QString notice;
  QStringList readOut;
  QTimer timer;

  void schedule() {
    if (!timer.isActive()) timer.start();
  }
  void style();
  void styleLegend();
  void syncLegend();
  void computeRanges();
  void computeCurves();
  void setTicks(QCategoryAxis* axis, std::vector<Tick>* shown, std::vector<Tick> ticks, Range range);
  void makeNotice();
  CurvePicture picture();
  void addReadOut(CurvePicture* picture);
  int cursorIndex(const SeriesData& data) const {
    return cursorRecord ? SeriesModel::pointAt(data, cursorRecord) : -1;
  }
  std::optional<QPointF> place(const SeriesData& data, int index) const {
    const auto at = static_cast<std::size_t>(index);
    const double value = data.values[at];
    if (!std::isfinite(value) || !std::isfinite(data.steps[at]) || (logarithmic && value <= 0))
      return std::nullopt;
    return q->toScene({data.steps[at], logarithmic ? std::log10(value) : value});
  }
};

void PlotChart::Private::style() {
  q->setBackgroundBrush(theme.background);
  q->setBackgroundPen(Qt::NoPen);
  for (QCategoryAxis* axis : {stepAxis, valueAxis}) {
    axis->setLabelsColor(theme.text);
    axis->setTitleBrush(theme.faintText);
    axis->setLinePen(QPen(theme.axis, 1));
    axis->setGridLinePen(QPen(theme.grid, 1));
  }
  q->legend()->setLabelColor(theme.text);
  q->setTitleBrush(theme.text);
  styleLegend();
}

void PlotChart::setLetters(double times) {
  const auto grown = [times](QFont font) {
    if (font.pointSizeF() > 0) font.setPointSizeF(font.pointSizeF() * times);
    return font;
  };
  const QFont usual = inspector::usualFont();
  QFont title = usual;
  title.setBold(true);
  for (QCategoryAxis* axis : {d_->stepAxis, d_->valueAxis}) {
    axis->setLabelsFont(grown(usual));
    axis->setTitleFont(grown(title));
  }
  // Half of a number at the end of the axis is beyond it.
  const QFontMetrics metrics(grown(usual));
  setMargins(QMargins(4, 0, std::max(8, metrics.horizontalAdvance(QStringLiteral("10000")) / 2 + 2), 2));
  legend()->setFont(grown(usual));
  setTitleFont(grown(title));
  d_->styleLegend();
}

void PlotChart::Private::styleLegend() {
  for (std::size_t index = 0; index < legendEntries.size(); ++index) {
    QLineSeries* entry = legendEntries[index];
    const int of = series[index].branchOf;
    QPen pen = of < 0 ? curvePen(theme, static_cast<int>(index)) : branchPen(theme, of);
    QColor text = theme.text;
    if (!series[index].visible) {
      pen.setColor(theme.grid);
      text = theme.faintText;
    }
    entry->setPen(pen);
    for (QLegendMarker* marker : q->legend()->markers(entry)) {
      marker->setVisible(series[index].listed);
      marker->setLabelBrush(text);
      QFont font = q->legend()->font();
      font.setStrikeOut(!series[index].visible);
      marker->setFont(font);
    }
  }
}

void PlotChart::Private::syncLegend() {
  while (legendEntries.size() > series.size()) {
    q->removeSeries(legendEntries.back());
    delete legendEntries.back();
    legendEntries.pop_back();
  }
  while (legendEntries.size() < series.size()) {
    auto* entry = new QLineSeries(q);
    const int index = static_cast<int>(legendEntries.size());
    legendEntries.push_back(entry);
    q->addSeries(entry);
    entry->attachAxis(stepAxis);
    entry->attachAxis(valueAxis);
    for (QLegendMarker* marker : q->legend()->markers(entry))
      QObject::connect(marker, &QLegendMarker::clicked, q, [this, index] { emit q->legendClicked(index); });
  }
  for (std::size_t index = 0; index < series.size(); ++index)
    legendEntries[index]->setName(series[index].data->title().toHtmlEscaped());
  styleLegend();
}

void PlotChart::Private::computeRanges() {
  std::optional<Range> all;
  for (const ChartSeries& one : series) {
    const auto range = one.drawn() ? stepRange(*one.data) : std::nullopt;
    if (!range) continue;
    if (!all) all = range;
    all->from = std::min(all->from, range->from);
    all->to = std::max(all->to, range->to);
  }
  steps = zoomSteps ? *zoomSteps : all && all->width() > 0 ? *all : padded(all.value_or(Range{0, 1}));
}

void PlotChart::Private::computeCurves() {
  const int columns = std::max(50, static_cast<int>(q->plotArea().width()));
  curves.assign(series.size(), {});
  std::optional<Range> all;
  for (std::size_t index = 0; index < series.size(); ++index) {
    if (!series[index].drawn()) continue;
    curves[index] = makeCurve(*series[index].data, steps, columns, logarithmic);
    const auto& range = curves[index].y;
    if (!range) continue;
    if (!all) all = range;
    all->from = std::min(all->from, range->from);
    all->to = std::max(all->to, range->to);
  }
  y = zoomY ? *zoomY : padded(all.value_or(Range{0, 1}));
}

// Removing and adding labels lays the whole chart out again, so it is done only where they changed.
void PlotChart::Private::setTicks(QCategoryAxis* axis, std::vector<Tick>* shown, std::vector<Tick> ticks,
                                  Range range) {
  axis->setRange(range.from, range.to);
  if (ticks == *shown) return;
  *shown = std::move(ticks);
  for (const QString& label : axis->categoriesLabels()) axis->remove(label);
  axis->setStartValue(range.from - range.width());
  for (const Tick& tick : *shown) axis->append(tick.label, tick.at);
}

void PlotChart::Private::makeNotice() {
  QStringList parts;
  for (std::size_t index = 0; index < curves.size(); ++index) {
    const Curve& curve = curves[index];
    if (!curve.withoutLogarithm) continue;
    parts << QStringLiteral("%1 of %2 points of “%3” are ≤ 0: a log axis can't show them.")
                 .arg(inspector::countText(curve.withoutLogarithm), inspector::countText(curve.points),
                      series[index].data->title());
  }
  notice = parts.join(QLatin1Char('\n'));
}

CurvePicture PlotChart::Private::picture() {
  CurvePicture picture;
  picture.area = q->plotArea();
  picture.notice = notice;
  cursorStep.reset();
  quint64 newest = 0;
  for (std::size_t index = 0; index < series.size(); ++index) {
    if (!series[index].drawn()) continue;
    const SeriesData& data = *series[index].data;
    CurvePicture::Line line;
    line.series = static_cast<int>(index);
    line.branch = series[index].branchOf >= 0;
    line.style = line.branch ? series[index].branchOf : line.series;
    for (const auto& run : curves[index].runs) {
      QList<QPointF> points;
      points.reserve(static_cast<qsizetype>(run.size()));
      for (const QPointF& point : run) points << q->toScene(point);
      line.runs.push_back(std::move(points));
    }
    for (const LostPoint& lost : curves[index].lost)
      line.lost.emplace_back(q->toScene({lost.step, y.from}).x(), lost.kind);
    if (const int at = cursorIndex(data); at >= 0) {
      line.cursor = place(data, at);
      const quint64 record = data.records[static_cast<std::size_t>(at)];
      if (!cursorStep || record > newest) cursorStep = data.steps[static_cast<std::size_t>(at)];
      newest = std::max(newest, record);
    }
    picture.lines.push_back(std::move(line));
  }
  if (cursorStep) picture.cursorX = q->toScene({*cursorStep, y.from}).x();
  addReadOut(&picture);
  return picture;
}

void PlotChart::Private::addReadOut(CurvePicture* picture) {
  readOut.clear();
  if (!hoverStep) return;
  std::optional<double> step;
  for (CurvePicture::Line& line : picture->lines) {
    const SeriesData& data = *series[static_cast<std::size_t>(line.series)].data;
    const int index = nearestPoint(data, *hoverStep);
    if (index < 0) continue;
    const auto at = static_cast<std::size_t>(index);
    if (!step || std::abs(data.steps[at] - *hoverStep) < std::abs(*step - *hoverStep)) step = data.steps[at];
  }
  if (!step) return;
  QStringList names, places;
  std::vector<double> values;
  for (CurvePicture::Line& line : picture->lines) {
    const SeriesData& data = *series[static_cast<std::size_t>(line.series)].data;
    const int index = nearestPoint(data, *step);
    if (index < 0) continue;
    const auto at = static_cast<std::size_t>(index);
    line.hover = place(data, index);
    const bool elsewhere = data.steps[at] != *step;
    names << data.title();
    values.push_back(data.values[at]);
    places << (elsewhere ? QStringLiteral(" (%1 %2)").arg(axis, inspector::stepText(data.steps[at]))
                         : QString());
    picture->readOutLines.push_back(static_cast<std::size_t>(&line - picture->lines.data()));
  }
  const auto notation = inspector::Notation::of(values, read_out_digits);
  for (qsizetype row = 0; row < names.size(); ++row)
    readOut << names[row] + QStringLiteral(": ") + notation.text(values[static_cast<std::size_t>(row)]) +
                   places[row];
  readOut.prepend(QStringLiteral("%1 %2").arg(axis, inspector::stepText(*step)));
  picture->readOut = readOut;
  picture->hoverX = q->toScene({*step, y.from}).x();
}

PlotChart::PlotChart(QGraphicsItem* parent) : QChart(parent), d_(std::make_unique<Private>()) {
  d_->q = this;
  d_->stepAxis = new QCategoryAxis(this);
  d_->valueAxis = new QCategoryAxis(this);
  for (QCategoryAxis* axis : {d_->stepAxis, d_->valueAxis}) {
    axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
    axis->setTruncateLabels(false);
  }
  d_->stepAxis->setTitleText(d_->axis);
  d_->valueAxis->setTitleText(QStringLiteral("value"));
  addAxis(d_->stepAxis, Qt::AlignBottom);
  addAxis(d_->valueAxis, Qt::AlignLeft);
  d_->item = new CurvesItem(this);
  setAnimationOptions(NoAnimation);
  setMargins(QMargins(4, 0, 8, 2));
  layout()->setContentsMargins(0, 0, 0, 0);
  setBackgroundRoundness(0);
  legend()->setMarkerShape(QLegend::MarkerShapeFromSeries);
  legend()->setAlignment(Qt::AlignTop);
  d_->timer.setSingleShot(true);
  d_->timer.setInterval(0);
  connect(&d_->timer, &QTimer::timeout, this, [this] { refresh(); });
  // In a small chart the curves need the room more than the axes' titles do.
  connect(this, &QGraphicsWidget::geometryChanged, this, [this] {
    d_->stepAxis->setTitleVisible(size().height() >= roomy_height);
    d_->valueAxis->setTitleVisible(size().height() >= roomy_height);
  });
  connect(this, &QChart::plotAreaChanged, this, [this] { d_->schedule(); });
  d_->style();
}

PlotChart::~PlotChart() = default;

void PlotChart::setTheme(const inspector::Theme& theme) {
  d_->theme = theme;
  d_->style();
  d_->schedule();
}
const inspector::Theme& PlotChart::theme() const {
  return d_->theme;
}

const std::vector<ChartSeries>& PlotChart::series() const {
  return d_->series;
}

void PlotChart::setSeries(std::vector<ChartSeries> series) {
  d_->series = std::move(series);
  const auto listed =
      std::find_if(d_->series.begin(), d_->series.end(), [](const ChartSeries& one) { return one.listed; });
  const QString axis = listed == d_->series.end() ? QStringLiteral("step") : listed->data->x;
  if (axis != d_->axis) {
    d_->axis = axis;
    d_->stepAxis->setTitleText(axis.toHtmlEscaped());
    d_->zoomSteps.reset();  // its numbers mean something else now
    d_->zoomY.reset();
  }
  d_->syncLegend();
  d_->schedule();
}

void PlotChart::setLogarithmic(bool on) {
  if (on == d_->logarithmic) return;
  d_->logarithmic = on;
  d_->zoomY.reset();  // its numbers mean something else now
  d_->valueAxis->setTitleText(on ? QStringLiteral("value (log)") : QStringLiteral("value"));
  d_->schedule();
}
bool PlotChart::logarithmic() const {
  return d_->logarithmic;
}

void PlotChart::setZoom(std::optional<Range> steps, std::optional<Range> y) {
  const auto usable = [](const std::optional<Range>& range) {
    return !range ||
           (std::isfinite(range->width()) &&
            range->width() > 1e-12 * std::max({std::abs(range->from), std::abs(range->to), 1e-280}));
  };
  if (!usable(steps) || !usable(y)) return;
  d_->zoomSteps = steps;
  d_->zoomY = y;
  d_->schedule();
}
bool PlotChart::zoomed() const {
  return d_->zoomSteps || d_->zoomY;
}
Range PlotChart::stepsShown() const {
  return d_->steps;
}
Range PlotChart::yShown() const {
  return d_->y;
}

void PlotChart::setCursorRecord(quint64 record) {
  if (record == d_->cursorRecord) return;
  d_->cursorRecord = record;
  d_->schedule();
}
std::optional<double> PlotChart::cursorStep() const {
  return d_->cursorStep;
}

void PlotChart::setHover(std::optional<double> step) {
  if (step == d_->hoverStep) return;
  d_->hoverStep = step;
  d_->schedule();
}

void PlotChart::refresh() {
  d_->timer.stop();
  d_->computeRanges();
  d_->computeCurves();
  const int across = std::clamp(static_cast<int>(plotArea().width() / tick_width), 2, 10);
  const int up = std::clamp(static_cast<int>(plotArea().height() / tick_height), 3, 8);
  d_->setTicks(d_->stepAxis, &d_->stepTicks, linearTicks(d_->steps, across), d_->steps);
  d_->setTicks(d_->valueAxis, &d_->valueTicks, d_->logarithmic ? logTicks(d_->y, up) : linearTicks(d_->y, up),
               d_->y);
  d_->makeNotice();
  d_->item->setPicture(d_->picture(), d_->theme);
  emit refreshed();
}

const std::vector<Curve>& PlotChart::curves() const {
  return d_->curves;
}
QString PlotChart::axis() const {
  return d_->axis;
}
QString PlotChart::notice() const {
  return d_->notice;
}
QString PlotChart::hoverText() const {
  return d_->readOut.join(QLatin1Char('\n'));
}

QPointF PlotChart::toScene(QPointF axes) const {
  const QRectF area = plotArea();
  return {area.left() + (axes.x() - d_->steps.from) / d_->steps.width() * area.width(),
          area.bottom() - (axes.y() - d_->y.from) / d_->y.width() * area.height()};
}

QPointF PlotChart::toAxes(QPointF chart) const {
  const QRectF area = plotArea();
  if (area.isEmpty()) return {};
  return {d_->steps.from + (chart.x() - area.left()) / area.width() * d_->steps.width(),
          d_->y.from + (area.bottom() - chart.y()) / area.height() * d_->y.width()};
}

ChartPoint PlotChart::pointNear(QPointF position, double reach) const {
  ChartPoint best;
  double least = reach;
  const double step = toAxes(position).x();
  for (std::size_t index = 0; index < d_->series.size(); ++index) {
    if (!d_->series[index].drawn()) continue;
    const SeriesData& data = *d_->series[index].data;
    const int near = nearestPoint(data, step);
    if (near < 0) continue;
    // Where points lie closer than pixels, the nearest in height counts, not the nearest step alone.
    const int first = std::max(0, near - 50), last = std::min(static_cast<int>(data.size()) - 1, near + 50);
    for (int at = first; at <= last; ++at) {
      const auto point = d_->place(data, at);
      const double distance = point ? QLineF(*point, position).length() : least;
      if (distance >= least) continue;
      least = distance;
      best = {static_cast<int>(index), at};
    }
  }
  return best;
}

}  // namespace tapedeck::plots
