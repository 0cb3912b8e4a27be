// Fewer points for the same picture.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tapedeck::inspector {

/// Indices of the points to draw so that a curve over [from, to], `columns` pixels wide, looks the same: of
/// every pixel column the first, least, greatest and last finite value; every gap (a run of values that are
/// not finite) keeps one of its points. One point beyond either end is kept. `steps` ascends; so do the
/// indices. At most 5·columns + 2.
std::vector<std::size_t> decimate(std::span<const double> steps, std::span<const double> values, double from,
                                  double to, int columns);

}  // namespace tapedeck::inspector
