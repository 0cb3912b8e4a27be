// The ticks of an axis, and their labels.
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

/// Round values of the range, ascending: at least 3, where `most` allows as many; at most `most`, or 4.
std::vector<Tick> linearTicks(Range range, int most);
/// The same for a `range` of exponents of ten: whole decades; within less than two decades 1, 2, 5 of each;
/// within less than half a decade round values.
std::vector<Tick> logTicks(Range range, int most);
/// A little larger than the data, and never empty: for one value, a range around it.
Range padded(Range data);

}  // namespace tapedeck::plots
