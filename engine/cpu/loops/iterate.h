// Iteration over strided operands: adjacent axes are merged where possible, then rows are distributed over
// threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/cpu/blocks.h"
#include "engine/tensor/shape.h"

namespace tapedeck::cpu {

/// Shape and N operands' strides with axes of extent 1 dropped and mergeable axes merged. Rank is at least 1.
template <std::size_t N>
struct Loops {
  int rank = 0;
  std::array<std::int64_t, max_rank> extent;  // these two hold something at the first `rank` places only
  std::array<std::array<std::int64_t, max_rank>, N> stride;

  Loops(const Shape& shape, const std::array<const Strides*, N>& strides) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 1) continue;
      bool merges = rank > 0;
      for (std::size_t k = 0; merges && k < N; ++k)
        merges = stride[k][rank - 1] == (*strides[k])[axis] * shape[axis];
      if (!merges) ++rank;
      extent[rank - 1] = merges ? extent[rank - 1] * shape[axis] : shape[axis];
      for (std::size_t k = 0; k < N; ++k) stride[k][rank - 1] = (*strides[k])[axis];
    }
    if (rank == 0) {
      rank = 1;
      extent[0] = 1;
      for (std::size_t k = 0; k < N; ++k) stride[k][0] = 1;
    }
  }

  std::int64_t inner() const { return extent[rank - 1]; }
  std::int64_t inner_stride(std::size_t k) const { return stride[k][rank - 1]; }
  std::int64_t rows() const {
    std::int64_t product = 1;
    for (int axis = 0; axis + 1 < rank; ++axis) product *= extent[axis];
    return product;
  }

  /// Offsets (in elements) of row `row`.
  std::array<std::int64_t, N> offsets(std::int64_t row) const {
    std::array<std::int64_t, N> sums{};
    for (int axis = rank - 2; axis >= 0; --axis) {
      const std::int64_t index = row % extent[axis];
      row /= extent[axis];
      for (std::size_t k = 0; k < N; ++k) sums[k] += index * stride[k][axis];
    }
    return sums;
  }

  /// Calls `body(first, count, offsets)` for pieces of the innermost axis: elements [first, first + count) of
  /// the row whose offsets are given. `grain` elements make a block for a thread.
  template <class Body>
  void for_pieces(std::int64_t grain, Body&& body) const {
    const std::int64_t length = inner();
    const std::int64_t row_count = rows();
    if (length <= 0 || row_count <= 0) return;
    const std::int64_t piece = std::min(length, std::max<std::int64_t>(grain, 1));
    const std::int64_t pieces = (length + piece - 1) / piece;
    for_blocks(row_count * pieces, std::max<std::int64_t>(1, grain / piece),
               [&](std::int64_t begin, std::int64_t end) {
                 std::int64_t row = begin / pieces;
                 std::int64_t part = begin % pieces;
                 std::array<std::int64_t, N> start = offsets(row);
                 for (std::int64_t task = begin; task < end; ++task) {
                   body(part * piece, std::min(piece, length - part * piece), start);
                   if (++part == pieces) {
                     part = 0;
                     start = next(start, ++row);
                   }
                 }
               });
  }

 private:
  /// Offsets of row `row` from those of the row before it.
  std::array<std::int64_t, N> next(std::array<std::int64_t, N> start, std::int64_t row) const {
    for (int axis = rank - 2; axis >= 0; --axis) {
      for (std::size_t k = 0; k < N; ++k) start[k] += stride[k][axis];
      if (row % extent[axis] != 0) break;
      for (std::size_t k = 0; k < N; ++k) start[k] -= stride[k][axis] * extent[axis];
      row /= extent[axis];
    }
    return start;
  }
};

}  // namespace tapedeck::cpu
