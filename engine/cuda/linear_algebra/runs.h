// Groups the matrices of a batch, given one by one, into runs of equally spaced matrices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace tapedeck::cuda {

/// First elements of matrices; empty where there are none.
using MatrixList = std::span<const void* const>;

/// Matrices `first`, `first + step`, … of the lists, `count` of them.
struct Run {
  std::int64_t first, step, count;

  template <class T>
  T* of(MatrixList list) const {
    return list.empty() ? nullptr : static_cast<T*>(const_cast<void*>(list[static_cast<std::size_t>(first)]));
  }
  /// The distance in elements of T between the starts of the run's matrices; 0 for a single one.
  template <class T>
  std::int64_t step_of(MatrixList list) const {
    if (list.empty() || count < 2) return 0;
    const auto* before = static_cast<const std::byte*>(list[static_cast<std::size_t>(first)]);
    const auto* after = static_cast<const std::byte*>(list[static_cast<std::size_t>(first + step)]);
    return (after - before) / static_cast<std::int64_t>(sizeof(T));
  }
};

/// Each of the `count` matrices is in one run; in a run the matrices of each list are equally spaced in
/// ascending order. Two axes of a tensor give as many runs as the shorter axis is long.
std::vector<Run> runs_of(std::int64_t count, std::initializer_list<MatrixList> lists);

}  // namespace tapedeck::cuda
