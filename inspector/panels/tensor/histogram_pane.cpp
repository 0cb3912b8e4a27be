#include "inspector/panels/tensor/histogram_pane.h"

#include <algorithm>
#include <cmath>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

QRectF HistogramPane::plot() const {
  return QRectF(64, 20, std::max(40.0, area_.width() - 64 - 20), std::max(30.0, area_.height() - 20 - 34));
}

double HistogramPane::heightOf(std::uint64_t count) const {
  const protocol::Statistics* statistics = model_->statistics();
  if (!statistics || statistics->histogram.empty() || count == 0) return 0;
  const auto most =
      static_cast<double>(*std::max_element(statistics->histogram.begin(), statistics->histogram.end()));
  const auto here = static_cast<double>(count);
  return plot().height() * (logarithmic_ ? std::log1p(here) / std::log1p(most) : here / most);
}

double HistogramPane::edge(int bin) const {
  const protocol::Statistics& statistics = *model_->statistics();
  const double part = static_cast<double>(bin) / static_cast<double>(statistics.histogram.size());
  const double low = statistics.minimum.value_or(0), high = statistics.maximum.value_or(0);
  const double at = low * (1 - part) + high * part;
  // The edge at zero is not the last digits of the two ends.
  const double most = std::max(std::abs(low), std::abs(high));
  return std::abs(at) < most * 1e-9 ? 0 : at;
}

/// For all edges: the digits that tell neighbouring ones apart, and one more.
Notation HistogramPane::notation() const {
  const protocol::Statistics& statistics = *model_->statistics();
  const double low = statistics.minimum.value_or(0), high = statistics.maximum.value_or(0);
  const double most = std::max(std::abs(low), std::abs(high));
  const double width = (high / 2 - low / 2) / static_cast<double>(statistics.histogram.size()) * 2;
  if (!(width > 0)) return Notation::of(std::span(&low, 1), 6);
  return Notation::ofSteps(most, std::pow(10.0, std::floor(std::log10(width)) - 1));
}

QRectF HistogramPane::barRect(int bin) const {
  const protocol::Statistics* statistics = model_->statistics();
  if (!statistics || bin < 0 || bin >= static_cast<int>(statistics->histogram.size())) return {};
  const QRectF view = plot();
  const double width = view.width() / static_cast<double>(statistics->histogram.size());
  const double height = heightOf(statistics->histogram[static_cast<std::size_t>(bin)]);
  return {view.left() + bin * width, view.bottom() - height, width, height};
}

void HistogramPane::paint(CanvasPainter& painter, QSizeF area) {
  area_ = area;
  const Theme& theme = painter.theme();
  const protocol::Statistics* statistics = model_->statistics();
  const QRectF view = plot();
  if (!statistics || statistics->finite == 0) {
    const QString text =
        !statistics ? QStringLiteral("Counting …")
                    : QStringLiteral("None of the %1 values is finite.").arg(countText(statistics->count));
    return painter.textIn(QRectF(QPointF(), area), text, 13, theme.faintText);
  }
  drawAxes(painter);
  for (int bin = 0; bin < static_cast<int>(statistics->histogram.size()); ++bin) {
    QRectF bar = barRect(bin);
    if (statistics->histogram[static_cast<std::size_t>(bin)] == 0) continue;
    if (bar.height() < 1.5) bar.setTop(bar.bottom() - 1.5);  // few is not none
    painter.fill(bar.adjusted(0.5, 0, bar.width() > 4 ? -0.5 : 0, 0),
                 bin == hovered_ ? theme.accent : mix(theme.background, theme.forward.stroke, 0.7));
  }
  const double low = statistics->minimum.value_or(0), high = statistics->maximum.value_or(0);
  if (low < 0 && high > 0) {
    const double x = view.left() - view.width() * low / (high - low);
    const QPointF zero[] = {{x, view.top()}, {x, view.bottom()}};
    painter.dashed(zero, theme.faintText, 1, 3, 3);
  }
  painter.line(view.bottomLeft(), view.bottomRight(), theme.border);
}

void HistogramPane::drawAxes(CanvasPainter& painter) {
  const Theme& theme = painter.theme();
  const protocol::Statistics& statistics = *model_->statistics();
  const QRectF view = plot();
  const std::uint64_t most = *std::max_element(statistics.histogram.begin(), statistics.histogram.end());
  for (const std::uint64_t count : {most, most / 2}) {
    if (count == 0) continue;
    const double y = view.bottom() - heightOf(count);
    painter.line({view.left(), y}, {view.right(), y}, theme.grid);
    painter.textIn(QRectF(0, y - 8, view.left() - 8, 16), countText(count), 11, theme.faintText,
                   Qt::AlignRight);
  }
  const double label = 96;
  const Notation numbers = notation();
  const auto bins = static_cast<int>(statistics.histogram.size());
  painter.textIn(QRectF(view.left(), view.bottom() + 4, label, 16), numbers.text(edge(0)), 11, theme.text,
                 Qt::AlignLeft);
  painter.textIn(QRectF(view.right() - label, view.bottom() + 4, label, 16), numbers.text(edge(bins)), 11,
                 theme.text, Qt::AlignRight);
  if (view.width() > 3 * label)
    painter.textIn(QRectF(view.center().x() - label / 2, view.bottom() + 4, label, 16),
                   numbers.text(edge(bins / 2)), 11, theme.text);
  painter.textIn(QRectF(view.left(), 2, view.width(), 16),
                 logarithmic_ ? QStringLiteral("count, logarithmic") : QStringLiteral("count"), 10.5,
                 theme.faintText, Qt::AlignLeft);
}

void HistogramPane::setLogarithmic(bool on) {
  logarithmic_ = on;
  changed_();
}

int HistogramPane::binAt(QPointF at) const {
  const protocol::Statistics* statistics = model_->statistics();
  const QRectF view = plot();
  if (!statistics || statistics->histogram.empty() || !view.contains(at)) return -1;
  const auto bins = static_cast<int>(statistics->histogram.size());
  return std::min(bins - 1, static_cast<int>((at.x() - view.left()) / view.width() * bins));
}

QString HistogramPane::rangeOf(int bin) const {
  const Notation numbers = notation();
  return QStringLiteral("%1 to %2").arg(numbers.text(edge(bin)), numbers.text(edge(bin + 1)));
}

QString HistogramPane::countIn(int bin) const {
  const protocol::Statistics& statistics = *model_->statistics();
  const std::uint64_t count = statistics.histogram[static_cast<std::size_t>(bin)];
  const double share =
      100.0 * static_cast<double>(count) / static_cast<double>(std::max<std::uint64_t>(statistics.finite, 1));
  return QStringLiteral("%1 values, %2 %").arg(countText(count)).arg(share, 0, 'f', 1);
}

QString HistogramPane::readout() const {
  const protocol::Statistics* statistics = model_->statistics();
  if (!statistics || hovered_ < 0 || hovered_ >= static_cast<int>(statistics->histogram.size())) return {};
  return rangeOf(hovered_) + QStringLiteral(": ") + countIn(hovered_);
}

int HistogramPane::partCount() const {
  const protocol::Statistics* statistics = model_->statistics();
  return statistics && statistics->finite > 0 ? static_cast<int>(statistics->histogram.size()) : 0;
}

AccessiblePart HistogramPane::part(int index) const {
  return {rangeOf(index), countIn(index), barRect(index), QAccessible::ListItem};
}

bool HistogramPane::mouseMove(QMouseEvent* event) {
  hovered_ = binAt(event->position());
  changed_();
  return true;
}

bool HistogramPane::key(QKeyEvent* event) {
  const protocol::Statistics* statistics = model_->statistics();
  const int bins = statistics ? static_cast<int>(statistics->histogram.size()) : 0;
  switch (event->key()) {
    case Qt::Key_Left:
      hovered_ = std::max(0, hovered_ - 1);
      break;
    case Qt::Key_Right:
      hovered_ = std::min(bins - 1, hovered_ + 1);
      break;
    default:
      return false;
  }
  changed_();
  return true;
}

void HistogramPane::leave() {
  hovered_ = -1;
  changed_();
}

}  // namespace tapedeck::inspector
