// Reductions in the CPU's lane pattern (cpu/vector/reduce.cpp), so that results are bit-identical: a warp
// holds its four vectors.
#pragma once

#include <cstdint>
#include <limits>

#include "engine/backend/kernels.h"
#include "engine/cuda/loops/packs.h"
#include "engine/cuda/warp.h"

namespace tapedeck::cuda {

/// Integers are reduced as unsigned ones, so that overflow wraps around.
struct Sum {
  template <class T>
  static constexpr T neutral = T(0);
  template <class T>
  __device__ __forceinline__ static T combine(T a, T b) {
    return a + b;
  }
};
struct Product {
  template <class T>
  static constexpr T neutral = T(1);
  template <class T>
  __device__ __forceinline__ static T combine(T a, T b) {
    return a * b;
  }
};
template <class T>
constexpr T highest = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                           : std::numeric_limits<T>::max();
template <class T>
constexpr T lowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                          : std::numeric_limits<T>::lowest();
struct Maximum {
  template <class T>
  static constexpr T neutral = lowest<T>;
  template <class T>
  __device__ __forceinline__ static T combine(T a, T b) {
    return a != a || a > b ? a : b;
  }
};
struct Minimum {
  template <class T>
  static constexpr T neutral = highest<T>;
  template <class T>
  __device__ __forceinline__ static T combine(T a, T b) {
    return a != a || a < b ? a : b;
  }
};
struct Any {
  template <class T>
  static constexpr T neutral = T(0);
  template <class T>
  __device__ __forceinline__ static T combine(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct All {
  template <class T>
  static constexpr T neutral = static_cast<T>(0x0101010101010101ULL);  // of all truth values in a word
  template <class T>
  __device__ __forceinline__ static T combine(T a, T b) {
    return static_cast<T>(a & b);
  }
};

/// One thread's part of a warp's lanes. All threads of the warp call its functions together; get(i) is
/// element i of the row.
template <class T, class F>
struct Lanes {
  static constexpr int vector = kernels::lane_vector_bytes / (sizeof(T) == 8 ? 8 : 4);  ///< elements
  static constexpr int step = kernels::lane_vectors * vector;
  static constexpr int own = step / warp_lanes;
  T sums[own];

  __device__ Lanes() {
    for (T& sum : sums) sum = F::template neutral<T>;
  }

  /// Elements from `begin` to `end`, whole steps.
  template <class Get>
  __device__ __forceinline__ void add(std::int64_t begin, std::int64_t end, Get get) {
    const int lane = lane_number();
#pragma unroll 8
    for (std::int64_t i = begin; i < end; i += step)
#pragma unroll
      for (int j = 0; j < own; ++j) sums[j] = F::combine(sums[j], get(i + lane + j * warp_lanes));
  }

  /// The rest of the `count` elements, from `i` on, fewer than a step. Lane 0 returns the result.
  template <class Get>
  __device__ __forceinline__ T finish(std::int64_t i, std::int64_t count, Get get) {
    const int lane = lane_number();
    for (; i + vector <= count; i += vector)
      if (lane < vector) sums[0] = F::combine(sums[0], get(i + lane));
    if (count >= step) {
      for (T& sum : sums) sum = F::combine(sum, shuffle_down(sum, vector));
      if constexpr (own == 2)
        sums[0] = F::combine(sums[0], sums[1]);
      else
        sums[0] = F::combine(sums[0], shuffle_down(sums[0], 2 * vector));
    }
    return fold(sums[0], lane, vector / 2, i, count, get);
  }

  /// Combines lanes from `half` on with those before them, and so on down; adds the elements from i on in
  /// between.
  template <class Get>
  __device__ __forceinline__ static T fold(T sum, int lane, int half, std::int64_t i, std::int64_t count,
                                           Get get) {
    const auto rest = static_cast<int>(count - i);
    for (; half > 0; half /= 2) {
      sum = F::combine(sum, shuffle_down(sum, half));
      if ((rest & half) == 0) continue;
      if (lane < half) sum = F::combine(sum, get(i + lane));
      i += half;
    }
    return sum;
  }
};

/// The same lanes in half a warp, whose threads hold adjacent ones and so can load packs: a warp processes
/// two rows at a time.
template <class T, class F>
struct PackedLanes {
  static constexpr int step = Lanes<T, F>::step;
  static constexpr int threads = warp_lanes / 2;
  static constexpr int own = step / threads;
  Pack<T, own> sums;

  __device__ PackedLanes() {
    for (T& sum : sums.values) sum = F::template neutral<T>;
  }

  /// The thread's half of the warp, and its first lane.
  __device__ __forceinline__ static int half() { return lane_number() / threads; }
  __device__ __forceinline__ static int first() { return lane_number() % threads * own; }

  /// Elements from 0 to `end`, whole steps; get(i) gives a pack of the half's row, from element i on.
  template <class Get>
  __device__ __forceinline__ void add(std::int64_t end, Get get) {
#pragma unroll 4
    for (std::int64_t i = first(); i < end; i += step) add_pack(get(i));
  }
  /// The next elements of the thread's lanes.
  __device__ __forceinline__ void add_pack(const Pack<T, own>& next) {
#pragma unroll
    for (int k = 0; k < own; ++k) sums.values[k] = F::combine(sums.values[k], next.values[k]);
  }

  /// The lanes of one half, for the whole warp to finish.
  __device__ __forceinline__ Lanes<T, F> of_half(int which) const {
    Lanes<T, F> lanes;
    const int lane = lane_number();
#pragma unroll
    for (int j = 0; j < Lanes<T, F>::own; ++j)
#pragma unroll
      for (int k = 0; k < own; ++k) {
        const T sum = shuffle(sums.values[k], which * threads + (lane + j * warp_lanes) / own);
        if (lane % own == k) lanes.sums[j] = sum;
      }
    return lanes;
  }
};

/// Lane 0 of the warp returns the result.
template <class T, class F, class Get>
__device__ __forceinline__ T reduce_in_lanes(std::int64_t count, Get get) {
  Lanes<T, F> lanes;
  const std::int64_t whole = count / Lanes<T, F>::step * Lanes<T, F>::step;
  lanes.add(0, whole, get);
  return lanes.finish(whole, count, get);
}

/// The same with `group` threads per row, a power of two below a warp: as many as a vector has (for a row
/// shorter than a step), or else more than half as many as there are elements but not more.
template <class T, class F, class Get>
__device__ __forceinline__ T reduce_in_group(int group, std::int64_t count, Get get) {
  const int lane = lane_number() % group;
  T sum = F::template neutral<T>;
  std::int64_t i = 0;
  for (; i + group <= count; i += group) sum = F::combine(sum, get(i + lane));
  return Lanes<T, F>::fold(sum, lane, group / 2, i, count, get);
}

}  // namespace tapedeck::cuda
