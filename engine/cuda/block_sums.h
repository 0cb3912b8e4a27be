// Sums over the threads of a block, in an order that depends only on the block's size.
#pragma once

#include "engine/cuda/launch.h"

namespace tapedeck::cuda {

constexpr unsigned whole_warp = 0xffffffffU;
constexpr int most_warps = 32;

/// Every thread of the block calls this and gets the result. `shared` has room for `most_warps` values.
template <class T, class Join>
__device__ T join_block(T value, T* shared, Join join) {
  for (int bits = warpSize / 2; bits > 0; bits /= 2)
    value = join(value, __shfl_xor_sync(whole_warp, value, bits));
  const unsigned warps = blockDim.x / warpSize;
  if (warps == 1) return value;
  if (threadIdx.x % warpSize == 0) shared[threadIdx.x / warpSize] = value;
  __syncthreads();
  value = shared[0];
  for (unsigned warp = 1; warp < warps; ++warp) value = join(value, shared[warp]);
  __syncthreads();
  return value;
}

struct Plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
/// NaN if either operand is.
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

template <class T>
__device__ T block_sum(T value, T* shared) {
  return join_block(value, shared, Plus());
}
template <class T>
__device__ T block_maximum(T value, T* shared) {
  return join_block(value, shared, Larger());
}

/// The number of threads of a block that processes a row of `count` values.
inline int threads_for_row(std::int64_t count) {
  return count <= 128 ? 32 : count <= 1024 ? 128 : 256;
}

/// A block for each row; if there are too many rows, blocks continue in steps of the grid.
inline Grid grid_of_rows(std::int64_t rows, std::int64_t count) {
  return {.blocks = rows, .threads = threads_for_row(count), .cooperation = Cooperation::block};
}

}  // namespace tapedeck::cuda
