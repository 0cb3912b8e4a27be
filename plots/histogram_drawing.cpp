#include "plots/histogram_drawing.h"

#include <QLinearGradient>
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/protocol/record_filter.h"
#include "inspector/model/format.h"
#include "inspector/model/tensor/notation.h"
#include "plots/plot_style.h"

namespace tapedeck::plots {

using inspector::StepHistogram;
using inspector::Theme;

namespace {

constexpr double least_distance = 5;  ///< pixels between baselines
constexpr double least_row = 3;       ///< pixels that a row of the heat map takes
constexpr double most_ridges = 120;   ///< more would be slow to draw, and indistinguishable
constexpr double most_lines = 60;     ///< on one baseline
constexpr double margin = 8;
constexpr int narrowest = 60;    ///< a bin takes at least one of so many parts of the width
constexpr double overlap = 0.4;  ///< of the area's height, what the highest ridge takes

/// A whole number of values in words.
QString valuesText(double count) {
  return inspector::countText(static_cast<quint64>(std::llround(std::min(count, 1e18))));
}

std::vector<HistogramDrawing::Bin> binsOf(const StepHistogram& histogram, double least) {
  std::vector<HistogramDrawing::Bin> bins;
  if (histogram.counts.empty()) return bins;
  HistogramDrawing::Bin next{0, 0, histogram.limits.front(), 0, 0};
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    next.count += histogram.counts[i];
    next.to = histogram.limits[i + 1];
    if (next.to - next.from < least && i + 1 < histogram.counts.size()) continue;
    if (next.to - next.from < least && !bins.empty()) {  // what is left at the end
      bins.back().to = next.to;
      bins.back().count += next.count;
      break;
    }
    bins.push_back(next);
    next = {0, 0, next.to, 0, 0};
  }
  for (HistogramDrawing::Bin& bin : bins) {
    bin.left = bin.from;
    bin.right = bin.to;
  }
  if (HistogramDrawing::Bin& only = bins.front(); only.to - only.from < least) {
    const double middle = only.from + (only.to - only.from) / 2;
    only.left = middle - least / 2;
    only.right = middle + least / 2;
  }
  return bins;
}

}  // namespace

void HistogramDrawing::setHistograms(inspector::Pictures<StepHistogram> all) {
  all_ = std::move(all);
  layOut(size_, font_);
}

void HistogramDrawing::setForm(HistogramForm form) {
  form_ = form;
  layOut(size_, font_);
}

void HistogramDrawing::layOut(const QSizeF& size, const QFont& font) {
  size_ = size;
  font_ = font;
  const QFontMetricsF metrics(font_);
  const double header = metrics.height() + 6, footer = metrics.height() + 6;
  area_ = QRectF(margin, header, 20, std::max(20., size.height() - header - footer));
  choose();
  double labels = std::max(metrics.horizontalAdvance(QStringLiteral("step")),
                           metrics.horizontalAdvance(QStringLiteral("value")));
  for (const Shape& shape : shown_)
    labels = std::max(labels, metrics.horizontalAdvance(inspector::stepText(shape.histogram->step)));
  if (form_ == HistogramForm::overlay) labels += margin + 4;  // the ramp
  area_.setWidth(std::max(20., size.width() - 3 * margin - labels));
  const bool rows = form_ == HistogramForm::ridges && shown_.size() > 1;
  ridge_ = area_.height() * (rows ? overlap : 0.97);
  first_ = rows ? area_.top() + roomAbove() : area_.bottom();
}

/// What the first baseline must leave so that no ridge is higher than the area: for ridge i of n, h high,
/// room + i·(height − room)/(n − 1) ≥ h.
double HistogramDrawing::roomAbove() const {
  double room = 0;
  const double last = static_cast<double>(shown_.size() - 1);
  for (std::size_t i = 0; i + 1 < shown_.size(); ++i) {
    double highest = 0;
    for (const Bin& bin : shown_[i].bins) highest = std::max(highest, heightOf(bin));
    const double part = static_cast<double>(i) / last;
    room = std::max(room, (highest - part * area_.height()) / (1 - part));
  }
  return std::min(room + 2, ridge_);
}

double HistogramDrawing::heightOf(const Bin& bin) const {
  return highest_ > 0 ? ridge_ * bin.height() / highest_ : 0;
}

void HistogramDrawing::choose() {
  const double places = form_ == HistogramForm::heat ? area_.height() / least_row
                        : form_ == HistogramForm::overlay
                            ? most_lines
                            : std::min(most_ridges, area_.height() / least_distance);
  const auto room = static_cast<std::size_t>(std::max(2., places));
  every_ = std::max<std::size_t>(1, (all_.size() + room - 1) / room);
  shown_.clear();
  for (std::size_t i = all_.empty() ? 0 : (all_.size() - 1) % every_; i < all_.size(); i += every_)
    shown_.push_back({all_[i], {}, 0});
  Range range{HUGE_VAL, -HUGE_VAL};
  for (const Shape& shape : shown_) {
    if (shape.histogram->limits.empty()) continue;
    range.from = std::min(range.from, shape.histogram->limits.front());
    range.to = std::max(range.to, shape.histogram->limits.back());
  }
  values_ = padded(range);
  highest_ = 0;
  for (Shape& shape : shown_) {
    shape.bins = binsOf(*shape.histogram, values_.width() / narrowest);
    for (const Bin& bin : shape.bins) {
      shape.values += bin.count;
      highest_ = std::max(highest_, bin.height());
    }
  }
}

double HistogramDrawing::baseline(std::size_t step) const {
  return shown_.size() < 2 ? area_.bottom()
                           : first_ + (area_.bottom() - first_) * static_cast<double>(step) /
                                          static_cast<double>(shown_.size() - 1);
}

QRectF HistogramDrawing::row(std::size_t step) const {
  const double height = area_.height() / static_cast<double>(shown_.size());
  return {area_.left(), area_.top() + height * static_cast<double>(step), area_.width(), height};
}

double HistogramDrawing::across(double value) const {
  return area_.left() + area_.width() * ((value - values_.from) / values_.width());
}

/// What a bin takes: of the area of its ridge, or of its row.
QRectF HistogramDrawing::cell(std::size_t step, const Bin& bin) const {
  const double left = across(bin.left), right = across(bin.right);
  if (form_ == HistogramForm::heat) {
    const QRectF whole = row(step);
    return {left, whole.top(), right - left, whole.height()};
  }
  const double height = heightOf(bin);
  return {left, baseline(step) - height, right - left, height};
}

QPolygonF HistogramDrawing::outline(std::size_t step) const {
  QPolygonF line;
  const std::vector<Bin>& bins = shown_[step].bins;
  if (bins.empty()) return line;
  const double base = baseline(step);
  line << QPointF(across(bins.front().left), base);
  for (const Bin& bin : bins) {
    const QRectF place = cell(step, bin);
    line << QPointF(place.center().x(), place.top());
  }
  line << QPointF(across(bins.back().right), base);
  return line;
}

QRectF HistogramDrawing::rectOf(int step) const {
  const auto at = static_cast<std::size_t>(step);
  return form_ == HistogramForm::heat || shown_[at].bins.empty() ? row(at) : outline(at).boundingRect();
}

/// 1: the newest.
double HistogramDrawing::nearness(std::size_t step) const {
  return shown_.size() > 1 ? static_cast<double>(step) / static_cast<double>(shown_.size() - 1) : 1;
}

void HistogramDrawing::drawHeader(QPainter& painter, const Theme& theme, const QString& title,
                                  const QString& line, bool faint) const {
  QFont bold = font_;
  bold.setBold(true);
  const QFontMetricsF metrics(font_), heavy(bold);
  const double bottom = metrics.ascent() + 2;
  double left = margin;
  if (!title.isEmpty()) {
    const QString text = heavy.elidedText(title, Qt::ElideMiddle, area_.width() * 0.7);
    painter.setFont(bold);
    painter.setPen(theme.text);
    painter.drawText(QPointF(left, bottom), text);
    left += heavy.horizontalAdvance(text) + 2 * margin;
  }
  painter.setFont(font_);
  painter.setPen(faint ? theme.faintText : theme.text);
  painter.drawText(QPointF(left, bottom), metrics.elidedText(line, Qt::ElideRight, area_.right() - left));
  painter.setPen(theme.faintText);
  painter.drawText(QPointF(area_.right() + margin, bottom), QStringLiteral("step"));
}

void HistogramDrawing::drawValueAxis(QPainter& painter, const Theme& theme) const {
  const QFontMetricsF metrics(font_);
  const double bottom = area_.bottom() + 4 + metrics.ascent();
  for (const Tick& tick : linearTicks(values_, std::max(3, static_cast<int>(area_.width() / 70)))) {
    const double x = across(tick.at);
    painter.setPen(theme.grid);
    painter.drawLine(QPointF(x, area_.top()), QPointF(x, area_.bottom() + 4));
    const double width = metrics.horizontalAdvance(tick.label);
    const double left = std::clamp(x - width / 2, 2., std::max(2., area_.right() + margin - 2 - width));
    painter.setPen(theme.faintText);
    painter.drawText(QPointF(left, bottom), tick.label);
  }
  painter.setPen(theme.faintText);
  painter.drawText(QPointF(area_.right() + margin, bottom), QStringLiteral("value"));
}

/// From the newest up, as many as do not touch.
void HistogramDrawing::drawStepLabels(QPainter& painter, const Theme& theme) const {
  const QFontMetricsF metrics(font_);
  double next = HUGE_VAL;
  for (std::size_t i = shown_.size(); i-- > 0;) {
    const double middle =
        form_ == HistogramForm::heat ? row(i).center().y() : baseline(i) - metrics.capHeight() / 2;
    if (next - middle < metrics.height() || middle < area_.top()) continue;
    next = middle;
    const bool whole = shown_[i].histogram->notFinite == 0;
    painter.setPen(whole ? theme.faintText : theme.error.stroke);
    painter.drawText(QPointF(area_.right() + margin, middle + metrics.capHeight() / 2),
                     inspector::stepText(shown_[i].histogram->step));
  }
}

/// Which shade is which step.
void HistogramDrawing::drawStepRamp(QPainter& painter, const Theme& theme) const {
  if (shown_.empty()) return;
  const QFontMetricsF metrics(font_);
  const QRectF ramp(area_.right() + margin, area_.top() + 2, 6, area_.height() - 2);
  const QColor ink = curveColor(theme, 0);
  QLinearGradient shades(ramp.topLeft(), ramp.bottomLeft());
  shades.setColorAt(0, inspector::mix(theme.background, ink, 0.25));
  shades.setColorAt(1, ink);
  painter.fillRect(ramp, shades);
  painter.setPen(theme.faintText);
  const double left = ramp.right() + 4;
  painter.drawText(QPointF(left, area_.bottom()), inspector::stepText(shown_.back().histogram->step));
  if (shown_.size() > 1 && area_.height() > 2 * metrics.height())
    painter.drawText(QPointF(left, ramp.top() + metrics.capHeight()),
                     inspector::stepText(shown_.front().histogram->step));
}

void HistogramDrawing::drawRidges(QPainter& painter, const Theme& theme) const {
  const QColor ink = curveColor(theme, 0);
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    const double near = nearness(i);
    if (shown_[i].bins.empty()) {
      painter.setPen(QPen(theme.error.stroke, 1, Qt::DashLine));
      painter.drawLine(QPointF(area_.left(), baseline(i)), QPointF(area_.right(), baseline(i)));
      continue;
    }
    const QPolygonF line = outline(i);
    if (form_ == HistogramForm::ridges) {  // a ridge covers those behind it
      painter.setPen(Qt::NoPen);
      painter.setBrush(inspector::mix(theme.background, ink, 0.15 + 0.35 * near));
      painter.drawPolygon(line);
    }
    painter.setBrush(Qt::NoBrush);
    const double shade = form_ == HistogramForm::ridges ? 0.6 + 0.4 * near : 0.25 + 0.75 * near;
    painter.setPen(QPen(inspector::mix(theme.background, ink, shade), 1.2));
    painter.drawPolyline(line);
  }
}

void HistogramDrawing::drawHeat(QPainter& painter, const Theme& theme) const {
  const QColor ink = theme.dark ? inspector::mix(curveColor(theme, 0), theme.text, 0.4)
                                : inspector::mix(curveColor(theme, 0), theme.text, 0.3);
  painter.setRenderHint(QPainter::Antialiasing, false);
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    // Edges on whole pixels, and those of neighbours the same: nothing shines through between them.
    const double top = std::round(row(i).top()), bottom = std::round(row(i + 1).top());
    for (const Bin& bin : shown_[i].bins) {
      if (!(bin.count > 0)) continue;
      // A root, or rare values could not be seen beside frequent ones.
      const double shade = 0.08 + 0.92 * std::sqrt(bin.height() / highest_);
      painter.fillRect(
          QRectF(QPointF(std::round(across(bin.left)), top), QPointF(std::round(across(bin.right)), bottom)),
          inspector::mix(theme.background, ink, shade));
    }
    if (shown_[i].bins.empty()) painter.fillRect(row(i), QBrush(theme.error.stroke, Qt::BDiagPattern));
  }
  painter.setRenderHint(QPainter::Antialiasing);
}

void HistogramDrawing::draw(QPainter& painter, const Theme& theme) const {
  painter.fillRect(QRectF(QPointF(0, 0), size_), theme.background);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(font_);
  drawValueAxis(painter, theme);
  form_ == HistogramForm::heat ? drawHeat(painter, theme) : drawRidges(painter, theme);
  form_ == HistogramForm::overlay ? drawStepRamp(painter, theme) : drawStepLabels(painter, theme);
  painter.setPen(theme.axis);
  painter.drawLine(area_.bottomLeft(), area_.bottomRight());
}

void HistogramDrawing::drawMark(QPainter& painter, const Theme& theme, HistogramPlace place) const {
  if (place.step < 0) return;
  const auto step = static_cast<std::size_t>(place.step);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.accent, 2));
  form_ == HistogramForm::heat ? painter.drawRect(row(step)) : painter.drawPolyline(outline(step));
  if (place.bin < 0) return;
  painter.setPen(QPen(theme.text, 1));
  const QRectF where = cell(step, shown_[step].bins[static_cast<std::size_t>(place.bin)]);
  if (form_ == HistogramForm::heat) return painter.drawRect(where);
  const QPointF top(where.center().x(), where.top());
  painter.drawLine(top, QPointF(top.x(), where.bottom()));
  painter.setBrush(theme.text);
  painter.drawEllipse(top, 2.5, 2.5);
}

QPointF HistogramDrawing::positionOf(HistogramPlace place) const {
  const auto step = static_cast<std::size_t>(place.step);
  const QRectF where = cell(step, shown_[step].bins[static_cast<std::size_t>(place.bin)]);
  return {where.center().x(), form_ == HistogramForm::heat ? where.center().y() : where.top()};
}

QString HistogramDrawing::readOut(HistogramPlace place) const {
  if (place.step < 0) return {};
  const Shape& shape = shown_[static_cast<std::size_t>(place.step)];
  QStringList parts{QStringLiteral("step %1").arg(inspector::stepText(shape.histogram->step))};
  if (shape.histogram->execution)
    parts << QString::fromStdString(protocol::execution_label(shape.histogram->execution));
  if (place.bin >= 0) {
    const Bin& bin = shape.bins[static_cast<std::size_t>(place.bin)];
    const std::array<double, 2> ends{bin.from, bin.to};
    const auto notation = inspector::Notation::of(ends, 4);
    parts << QStringLiteral("%1 to %2").arg(notation.text(bin.from), notation.text(bin.to))
          << QStringLiteral("%1 of %2 values").arg(valuesText(bin.count), valuesText(shape.values));
  } else if (shape.bins.empty()) {
    parts << QStringLiteral("no value is finite");
  }
  if (shape.histogram->notFinite)
    parts << QStringLiteral("%1 not finite").arg(inspector::countText(shape.histogram->notFinite));
  return parts.join(QStringLiteral(" · "));
}

QString HistogramDrawing::summary() const {
  if (all_.empty()) return QStringLiteral("No histogram of this name yet.");
  const QString count = inspector::countText(all_.size());
  QStringList parts{all_.size() == 1 ? QStringLiteral("1 step")
                    : every_ == 1    ? QStringLiteral("%1 steps").arg(count)
                                     : QStringLiteral("%1 steps, one of %2 drawn").arg(count).arg(every_)};
  if (const quint64 gone = all_.back()->number + 1 - all_.size())
    parts << QStringLiteral("%1 others were dropped").arg(inspector::countText(gone));
  const auto damaged =
      std::ranges::count_if(all_, [](const auto& histogram) { return histogram->notFinite > 0; });
  if (damaged)
    parts << QStringLiteral("not all values finite at %1")
                 .arg(inspector::countText(static_cast<quint64>(damaged)));
  return parts.join(QStringLiteral(" · "));
}

int HistogramDrawing::stepAt(QPointF position) const {
  const auto count = static_cast<int>(shown_.size());
  if (form_ == HistogramForm::heat)
    return std::clamp(static_cast<int>((position.y() - area_.top()) / area_.height() * count), 0, count - 1);
  if (form_ == HistogramForm::overlay) {  // whose line is nearest
    int nearest = -1;
    double least = HUGE_VAL;
    for (int i = count; i-- > 0;)
      for (const Bin& bin : shown_[static_cast<std::size_t>(i)].bins) {
        const QRectF where = cell(static_cast<std::size_t>(i), bin);
        if (position.x() < where.left() || position.x() > where.right()) continue;
        if (const double away = std::abs(where.top() - position.y()); away < least) {
          least = away;
          nearest = i;
        }
      }
    return nearest;
  }
  // The front one whose ridge is under the position; else the one whose baseline is next below.
  for (int i = count; i-- > 0;)
    if (outline(static_cast<std::size_t>(i)).containsPoint(position, Qt::OddEvenFill)) return i;
  for (int i = 0; i < count; ++i)
    if (baseline(static_cast<std::size_t>(i)) >= position.y() - least_distance) return i;
  return -1;
}

HistogramPlace HistogramDrawing::placeAt(QPointF position) const {
  if (shown_.empty() || !area_.adjusted(-margin, 0, margin, margin).contains(position)) return {};
  const int step = stepAt(position);
  if (step < 0) return {};
  const std::vector<Bin>& bins = shown_[static_cast<std::size_t>(step)].bins;
  const double value = values_.from + values_.width() * (position.x() - area_.left()) / area_.width();
  const auto bin = std::ranges::find_if(bins, [&](const Bin& one) { return value < one.right; });
  const auto last = static_cast<int>(bins.size()) - 1;
  return {step, std::min(static_cast<int>(bin - bins.begin()), last)};
}

}  // namespace tapedeck::plots
