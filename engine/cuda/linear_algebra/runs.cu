#include <algorithm>

#include "engine/cuda/linear_algebra/runs.h"

namespace tapedeck::cuda {
namespace {

std::int64_t distance(MatrixList list, std::int64_t from, std::int64_t to) {
  return static_cast<const std::byte*>(list[static_cast<std::size_t>(to)]) -
         static_cast<const std::byte*>(list[static_cast<std::size_t>(from)]);
}

/// Where the run that begins at `first` ends.
std::int64_t end_of_run(std::int64_t first, std::int64_t count, std::span<const MatrixList> lists) {
  std::int64_t end = count;
  for (const MatrixList list : lists) {
    if (first + 1 >= end) break;
    const std::int64_t step = distance(list, first, first + 1);
    std::int64_t own = first + 1;
    if (step >= 0)
      while (own < end && distance(list, own - 1, own) == step) ++own;
    end = own;
  }
  return end;
}

/// Whether the lists are rows of `length` matrices, equally long and equally far apart.
bool are_rows(std::int64_t length, std::int64_t count, std::span<const MatrixList> lists) {
  if (length == count || count % length != 0) return false;
  return std::all_of(lists.begin(), lists.end(), [&](MatrixList list) {
    const std::int64_t inner = length > 1 ? distance(list, 0, 1) : 0, outer = distance(list, 0, length);
    if (inner < 0 || outer < 0) return false;
    for (std::int64_t i = 0; i < count; ++i)
      if (distance(list, 0, i) != i / length * outer + i % length * inner) return false;
    return true;
  });
}

}  // namespace

std::vector<Run> runs_of(std::int64_t count, std::initializer_list<MatrixList> all) {
  std::vector<MatrixList> lists;
  std::copy_if(all.begin(), all.end(), std::back_inserter(lists),
               [](MatrixList list) { return !list.empty(); });
  std::vector<Run> runs;
  const std::int64_t length = end_of_run(0, count, lists);
  if (are_rows(length, count, lists)) {
    const std::int64_t rows = count / length;
    for (std::int64_t i = 0; i < std::min(rows, length); ++i)
      runs.push_back(length > rows ? Run{i * length, 1, length} : Run{i, length, rows});
    return runs;
  }
  for (std::int64_t first = 0; first < count;) {
    const std::int64_t end = end_of_run(first, count, lists);
    runs.push_back({first, 1, end - first});
    first = end;
  }
  return runs;
}

}  // namespace tapedeck::cuda
