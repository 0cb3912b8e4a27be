#include "inspector/model/runs/decimate.h"

#include <algorithm>
#include <cmath>

namespace tapedeck::inspector {

namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);

/// The points of one pixel column that can be seen.
struct Column {
  std::size_t first = none, least = none, greatest = none, last = none, gap = none;
  void add(std::size_t index, std::span<const double> values) {
    if (!std::isfinite(values[index])) {
      if (gap == none) gap = index;
      return;
    }
    if (first == none) first = least = greatest = index;
    if (values[index] < values[least]) least = index;
    if (values[index] > values[greatest]) greatest = index;
    last = index;
  }
  void flush(std::vector<std::size_t>& kept) {
    std::size_t all[] = {first, least, greatest, last, gap};
    std::sort(std::begin(all), std::end(all));
    for (std::size_t i = 0; i < std::size(all) && all[i] != none; ++i)
      if (i == 0 || all[i] != all[i - 1]) kept.push_back(all[i]);
    *this = {};
  }
};

}  // namespace

std::vector<std::size_t> decimate(std::span<const double> steps, std::span<const double> values, double from,
                                  double to, int columns) {
  std::vector<std::size_t> kept;
  if (steps.empty() || columns < 1 || !(from <= to)) return kept;
  auto begin = static_cast<std::size_t>(std::lower_bound(steps.begin(), steps.end(), from) - steps.begin());
  auto end = static_cast<std::size_t>(std::upper_bound(steps.begin(), steps.end(), to) - steps.begin());
  const std::size_t before = begin > 0 ? begin - 1 : none;
  const std::size_t after = end < steps.size() ? end : none;
  if (before != none) kept.push_back(before);
  if (end - begin <= static_cast<std::size_t>(columns) * 5) {
    for (std::size_t index = begin; index < end; ++index) kept.push_back(index);
  } else {
    const double width = (to - from) / columns;
    Column column;
    int current = 0;
    for (std::size_t index = begin; index < end; ++index) {
      const double position = width > 0 ? (steps[index] - from) / width : 0;
      const int at = std::clamp(static_cast<int>(position), 0, columns - 1);
      if (at != current) column.flush(kept);
      current = at;
      column.add(index, values);
    }
    column.flush(kept);
  }
  if (after != none) kept.push_back(after);
  return kept;
}

}  // namespace tapedeck::inspector
