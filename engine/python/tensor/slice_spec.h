// The items in the brackets of tensor[…].
#pragma once

#include <algorithm>
#include <vector>

#include "engine/tape/variable.h"

namespace tapedeck::python {

/// What strided_slice is given: one entry per item of the index, masks by position.
struct SliceSpec {
  std::vector<std::int64_t> begin, end, strides;
  std::int64_t begin_mask = 0, end_mask = 0, new_axis_mask = 0, shrink_axis_mask = 0;
  int axis = 0;           ///< the tensor's axis that the next item is about
  int output_axis = 0;    ///< axes that the result has so far
  Tensor gather_indices;  ///< integers; or bools, one for each element of `mask_rank` axes
  int gather_axis = -1;
  int mask_rank = 0;
  /// Of a graph that is being traced: (axis of the result, its index there, a scalar), each removes its axis.
  std::vector<std::pair<int, Tensor>> traced_indices;

  void push(std::int64_t first, std::int64_t last, std::int64_t step) {
    begin.push_back(first);
    end.push_back(last);
    strides.push_back(step);
  }
  /// Whether bounds are marks of GraphTracer::late_number.
  bool has_late_numbers() const {
    constexpr std::int64_t no_bound = -(std::int64_t{1} << 61);
    const auto is_late = [](std::int64_t bound) { return bound < no_bound; };
    return std::ranges::any_of(begin, is_late) || std::ranges::any_of(end, is_late) ||
           std::ranges::any_of(strides, is_late);
  }
  std::int64_t bit() const { return std::int64_t{1} << begin.size(); }

  void add_integer(std::int64_t index) {
    shrink_axis_mask |= bit();
    push(index, index + 1, 1);
    ++axis;
  }
  void add_whole_axis() {
    begin_mask |= bit();
    end_mask |= bit();
    push(0, 0, 1);
    ++axis;
    ++output_axis;
  }
  void add_new_axis() {
    new_axis_mask |= bit();
    push(0, 1, 1);
    ++output_axis;
  }
};

/// The part of the tensor that the index reads.
Tensor take(const SliceSpec& spec, const Tensor& tensor);
/// The tensor with that part replaced by `value`, which has the part's shape and dtype. Of several values of
/// one place the last one stays.
Tensor put(const SliceSpec& spec, const Tensor& tensor, const Tensor& value);

}  // namespace tapedeck::python
