// Cooperation of the 32 threads of a warp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/cuda/launch.h"

namespace tapedeck::cuda {

constexpr unsigned whole_warp = 0xffffffffU;
constexpr int warp_lanes = 32;

__device__ __forceinline__ int lane_number() {
  return static_cast<int>(threadIdx.x % warp_lanes);
}
/// The number of the warp in the grid, and how many there are.
__device__ __forceinline__ std::int64_t warp_number() {
  return thread_number() / warp_lanes;
}
__device__ __forceinline__ std::int64_t warp_count() {
  return thread_count() / warp_lanes;
}

/// Enough warps for `count` tasks, but no more than keep a GPU busy: for kernels whose warps continue in
/// steps of the whole grid.
inline Grid grid_of_warps(std::int64_t count, int threads = 256) {
  const std::int64_t warps = threads / warp_lanes;
  return {.blocks = std::min<std::int64_t>((count + warps - 1) / warps, 1 << 16),
          .threads = threads,
          .cooperation = Cooperation::block};
}

template <class T>
__device__ __forceinline__ T shuffle(T value, int from) {
  if constexpr (sizeof(T) < 4)
    return static_cast<T>(__shfl_sync(whole_warp, static_cast<unsigned>(value), from));
  else
    return __shfl_sync(whole_warp, value, from);
}
template <class T>
__device__ __forceinline__ T shuffle_down(T value, int by) {
  if constexpr (sizeof(T) < 4)
    return static_cast<T>(__shfl_down_sync(whole_warp, static_cast<unsigned>(value), by));
  else
    return __shfl_down_sync(whole_warp, value, by);
}
template <class T>
__device__ __forceinline__ T shuffle_up(T value, int by) {
  return __shfl_up_sync(whole_warp, value, by);
}
template <class T>
__device__ __forceinline__ T shuffle_xor(T value, int bits) {
  if constexpr (sizeof(T) < 4)
    return static_cast<T>(__shfl_xor_sync(whole_warp, static_cast<unsigned>(value), bits));
  else
    return __shfl_xor_sync(whole_warp, value, bits);
}

}  // namespace tapedeck::cuda
