#include "plots/curves.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "inspector/model/runs/decimate.h"

namespace tapedeck::plots {

using inspector::SeriesData;

namespace {

constexpr std::size_t max_lost = 400;  ///< marks beyond that would only be a band

/// Which points to draw. A series whose steps go back and forth is thinned by position instead of step.
std::vector<std::size_t> visible(const SeriesData& series, Range steps, int columns) {
  if (series.ascending)
    return inspector::decimate(series.steps, series.values, steps.from, steps.to, columns);
  std::vector<double> positions(series.size());
  std::iota(positions.begin(), positions.end(), 0.0);
  return inspector::decimate(positions, series.values, 0, static_cast<double>(series.size()), columns);
}

void countRange(const SeriesData& series, Range steps, bool logarithmic, Curve* curve) {
  if (series.ascending && !logarithmic) {
    const auto first = std::lower_bound(series.steps.begin(), series.steps.end(), steps.from);
    const auto last = std::upper_bound(series.steps.begin(), series.steps.end(), steps.to);
    curve->points = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, last - first));
    return;
  }
  for (std::size_t at = 0; at < series.size(); ++at) {
    if (!(series.steps[at] >= steps.from && series.steps[at] <= steps.to)) continue;
    ++curve->points;
    if (logarithmic && std::isfinite(series.values[at]) && series.values[at] <= 0) ++curve->withoutLogarithm;
  }
}

/// On a log axis what is ≤ 0 is a gap like NaN: it must be known before the points are thinned.
SeriesData withGaps(const SeriesData& series) {
  SeriesData result = series;
  for (double& value : result.values)
    if (value <= 0) value = std::isinf(value) ? value : std::nan("0");
  return result;
}

/// Whether x only counts on, so that a fall is a new beginning. Over other axes a curve may turn back.
bool counts(const SeriesData& series) {
  return series.x == QLatin1String("step") || series.x == QLatin1String("index") ||
         series.x == QLatin1String("hit");
}

Curve build(const SeriesData& original, const SeriesData& series, Range steps, int columns,
            bool logarithmic) {
  Curve curve;
  countRange(original, steps, logarithmic, &curve);
  bool open = false, rises = false;
  double last = 0;
  for (const std::size_t index : visible(series, steps, columns)) {
    const double step = series.steps[index], value = series.values[index];
    // A run that begins again is a line of its own. (A series that only falls is one line.)
    if (open && rises && step < last && counts(series)) open = false;
    rises = open && step > last;
    last = step;
    if (!std::isfinite(value) || !std::isfinite(step)) {
      open = false;
      const bool gone = !std::isfinite(original.values[index]) && std::isfinite(step);
      if (gone && curve.lost.size() < max_lost)
        curve.lost.push_back({step, std::isnan(value) ? LostKind::nan
                                    : value > 0       ? LostKind::positiveInfinity
                                                      : LostKind::negativeInfinity});
      continue;
    }
    const double y = logarithmic ? std::log10(value) : value;
    if (!open) curve.runs.emplace_back();
    open = true;
    curve.runs.back().emplace_back(step, y);
    if (step < steps.from || step > steps.to) continue;
    if (!curve.y) curve.y = Range{y, y};
    curve.y->from = std::min(curve.y->from, y);
    curve.y->to = std::max(curve.y->to, y);
  }
  return curve;
}

}  // namespace

Curve makeCurve(const SeriesData& series, Range steps, int columns, bool logarithmic) {
  const bool gaps = logarithmic && std::any_of(series.values.begin(), series.values.end(),
                                               [](double value) { return value <= 0; });
  return gaps ? build(series, withGaps(series), steps, columns, true)
              : build(series, series, steps, columns, logarithmic);
}

std::optional<Range> stepRange(const SeriesData& series) {
  std::optional<Range> range;
  const auto add = [&](double step) {
    if (!std::isfinite(step)) return;
    if (!range) range = Range{step, step};
    range->from = std::min(range->from, step);
    range->to = std::max(range->to, step);
  };
  if (series.ascending && series.size()) {
    add(series.steps.front());
    add(series.steps.back());
  } else {
    for (const double step : series.steps) add(step);
  }
  return range;
}

int nearestPoint(const SeriesData& series, double step) {
  if (series.steps.empty()) return -1;
  const auto distance = [&](std::size_t index) { return std::abs(series.steps[index] - step); };
  std::size_t best = 0;
  if (series.ascending) {
    const auto above = static_cast<std::size_t>(
        std::lower_bound(series.steps.begin(), series.steps.end(), step) - series.steps.begin());
    best = std::min(above, series.size() - 1);
    if (above > 0 && distance(above - 1) <= distance(best)) best = above - 1;
    return static_cast<int>(best);
  }
  for (std::size_t index = 1; index < series.size(); ++index)
    if (distance(index) < distance(best)) best = index;
  return static_cast<int>(best);
}

}  // namespace tapedeck::plots
