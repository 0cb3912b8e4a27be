// Copies between layouts with different innermost axes, such as a matrix and its transpose.
#pragma once

#include <optional>

#include "engine/cuda/loops/walk.h"

namespace tapedeck::cuda {

/// Rows and columns of a tile: the lanes of a warp read one column of it, which is contiguous in the source.
constexpr int plane_tile = 32;
constexpr int plane_width = 2 * plane_tile;
constexpr int plane_rows = 8;  ///< moved by a block's threads at a time

/// Matrices whose rows are contiguous in the target, and whose columns are contiguous in the source. The
/// other axes enumerate the matrices.
struct Planes {
  Walk<2> matrices;             ///< offsets of their first elements, in source and target
  std::uint32_t rows, columns;  ///< of the target
  std::int64_t source_step;     ///< between the columns
  std::int64_t target_step;     ///< between the rows
  std::uint32_t down, across;   ///< tiles
};

/// A copy as planes if both extents are at least half a tile; else nullopt.
inline std::optional<Planes> planes_of(const Walk<2>& walk) {
  if (walk.stride[0][1] != 1 || walk.stride[0][0] == 1 || walk.extent[0].value < plane_tile / 2) return {};
  int down = 1;
  while (down < walk.rank && (walk.stride[down][0] != 1 || walk.extent[down].value < plane_tile / 2)) ++down;
  if (down >= walk.rank) return {};
  Planes planes{.matrices = {},
                .rows = walk.extent[down].value,
                .columns = walk.extent[0].value,
                .source_step = walk.stride[0][0],
                .target_step = walk.stride[down][1],
                .down = (walk.extent[down].value + plane_tile - 1) / plane_tile,
                .across = (walk.extent[0].value + plane_width - 1) / plane_width};
  Walk<2>& others = planes.matrices;
  others.rank = 0;
  others.count = walk.count / planes.rows / planes.columns;
  for (int axis = 1; axis < walk.rank; ++axis) {
    if (axis == down) continue;
    others.extent[others.rank] = walk.extent[axis];
    for (int k = 0; k < 2; ++k) others.stride[others.rank][k] = walk.stride[axis][k];
    ++others.rank;
  }
  return planes;
}

/// A block loads a tile into shared memory in the source's order and stores it in the target's order; a
/// thread issues all of its loads before its stores. The tile's rows are padded by one element, so that a
/// column has no bank conflicts.
template <class T>
__global__ void transpose_kernel(const T* source, T* target, Planes planes) {
  __shared__ T tile[plane_width][plane_tile + 1];
  constexpr int parts = plane_width / plane_rows, halves = plane_width / plane_tile;
  const auto lane = static_cast<int>(threadIdx.x) % plane_tile,
             first = static_cast<int>(threadIdx.x) / plane_tile;
  const std::int64_t tiles = std::int64_t{planes.down} * planes.across;
  for (std::int64_t block = blockIdx.x; block < planes.matrices.count * tiles; block += gridDim.x) {
    const std::int64_t matrix = block / tiles, place = block - matrix * tiles;
    const std::int64_t top = place / planes.across * plane_tile, left = place % planes.across * plane_width;
    std::int64_t start[2];
    planes.matrices.offsets(static_cast<std::uint32_t>(matrix), start);
    const T* from = source + start[0] + (left + first) * planes.source_step + top + lane;
    T own[parts] = {};
#pragma unroll
    for (int i = 0; i < parts; ++i)
      if (top + lane < planes.rows && left + first + i * plane_rows < planes.columns)
        own[i] = from[i * plane_rows * planes.source_step];
#pragma unroll
    for (int i = 0; i < parts; ++i) tile[first + i * plane_rows][lane] = own[i];
    __syncthreads();
    T* to = target + start[1] + (top + first) * planes.target_step + left + lane;
#pragma unroll
    for (int i = 0; i < parts / halves; ++i)
#pragma unroll
      for (int half = 0; half < halves; ++half)
        if (top + first + i * plane_rows < planes.rows && left + lane + half * plane_tile < planes.columns)
          to[i * plane_rows * planes.target_step + half * plane_tile] =
              tile[lane + half * plane_tile][first + i * plane_rows];
    __syncthreads();
  }
}

}  // namespace tapedeck::cuda
