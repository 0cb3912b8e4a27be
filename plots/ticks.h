// Where an axis has its ticks, and what stands beside them.
#pragma once

#include <QString>
#include <vector>

namespace tapedeck::plots {

struct Range {
  double from = 0, to = 1;
  double width() const { return to - from; }
  bool operator==(const Range&) const = default;
};

struct Tick {
  double at = 0;  ///< in axis coordinates: on a log axis the exponent
  QString label;
  bool operator==(const Tick&) const = default;
};

/// At most `most` (and where it fits at least 2) round values of the range, ascending.
std::vector<Tick> linearTicks(Range range, int most);
/// `range` in powers of ten: whole decades, thinned to `most`; within less than two decades 1, 2, 5 of each;
/// within less than half a decade round values.
std::vector<Tick> logTicks(Range range, int most);
/// A little larger than the data, and never empty: for one value, a range around it.
Range padded(Range data);

}  // namespace tapedeck::plots
