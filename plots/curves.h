// A series cut to what a plot of a given range and width shows: polylines with gaps, marks for values without
// a place.
#pragma once

#include <QPointF>
#include <optional>
#include <vector>

#include "inspector/model/runs/series_model.h"
#include "plots/ticks.h"

namespace tapedeck::plots {

enum class LostKind { nan, positiveInfinity, negativeInfinity };

struct LostPoint {
  double step = 0;
  LostKind kind = LostKind::nan;
};

struct Curve {
  /// Runs of neighbouring points in axis coordinates (y: the value, or its exponent of ten); a run may be one
  /// point. It ends at a gap, and where the steps begin again.
  std::vector<std::vector<QPointF>> runs;
  std::vector<LostPoint> lost;
  std::optional<Range> y;            ///< of the points within the range; none: there are none
  std::size_t withoutLogarithm = 0;  ///< finite values of the range that are ≤ 0, on a log axis
  std::size_t points = 0;            ///< of the range, before thinning
};

Curve makeCurve(const inspector::SeriesData& series, Range steps, int columns, bool logarithmic);

/// Steps of the whole series; none for an empty one, or one without a finite step.
std::optional<Range> stepRange(const inspector::SeriesData& series);
/// Index of the point whose step is nearest; -1: none.
int nearestPoint(const inspector::SeriesData& series, double step);

}  // namespace tapedeck::plots
