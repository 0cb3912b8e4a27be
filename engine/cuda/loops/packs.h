// Packs of contiguous elements for 128-bit loads and stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/cuda/launch.h"

namespace tapedeck::cuda {

template <class T>
constexpr int pack_width = sizeof(T) < 16 ? 16 / static_cast<int>(sizeof(T)) : 1;

template <class T, int width>
struct alignas(sizeof(T) * width < 16 ? sizeof(T) * width : 16) Pack {
  T values[width];
};

/// Whether the address is aligned for a pack of that type.
template <class P>
__host__ __device__ __forceinline__ bool takes_packs(const void* place) {
  return reinterpret_cast<std::uintptr_t>(place) % alignof(P) == 0;
}

/// A misaligned pack is a fatal error on a GPU.
template <class P>
__device__ __forceinline__ void must_take_packs([[maybe_unused]] const void* place) {
#ifdef TAPEDECK_EMULATED_CUDA
  if (!takes_packs<P>(place)) emulation::trap("a pack lies at no multiple of its size");
#endif
}

/// An aligned address of packs, all of whose elements exist.
template <int width, class T>
__device__ __forceinline__ Pack<T, width> load_pack(const T* from) {
  must_take_packs<Pack<T, width>>(from);
  return *reinterpret_cast<const Pack<T, width>*>(from);
}
template <class T, int width>
__device__ __forceinline__ void store_pack(T* to, const Pack<T, width>& values) {
  must_take_packs<Pack<T, width>>(to);
#ifndef TAPEDECK_EMULATED_CUDA
  // nvcc would store elements one by one if the address depends on an index in memory.
  if constexpr (sizeof values == sizeof(uint4)) {
    uint4 bits;
    std::memcpy(&bits, &values, sizeof bits);
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(__cvta_generic_to_global(to)), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w)
                 : "memory");
    return;
  }
#endif
  *reinterpret_cast<Pack<T, width>*>(to) = values;
}

/// The elements from `first` on, at any alignment; past `count` repeats the first of them.
template <int width, class T>
__device__ __forceinline__ Pack<T, width> load_pack(const T* from, std::int64_t first, std::int64_t count) {
  Pack<T, width> result;
  if (width > 1 && first + width <= count && takes_packs<Pack<T, width>>(from + first)) {
    result = load_pack<width>(from + first);
  } else {
#pragma unroll
    for (int k = 0; k < width; ++k) result.values[k] = from[first + k < count ? first + k : first];
  }
  return result;
}

template <class T, int width>
__device__ __forceinline__ void store_pack(T* to, std::int64_t first, std::int64_t count,
                                           const Pack<T, width>& values) {
  if (width > 1 && first + width <= count && takes_packs<Pack<T, width>>(to + first)) {
    store_pack(to + first, values);
  } else {
#pragma unroll
    for (int k = 0; k < width; ++k)
      if (first + k < count) to[first + k] = values.values[k];
  }
}

template <class T>
__global__ void fill_kernel(T* target, T value, std::int64_t count) {
  constexpr int width = pack_width<T>;
  Pack<T, width> values;
  for (T& each : values.values) each = value;
  for (std::int64_t i = thread_number() * width; i < count; i += thread_count() * width)
    store_pack(target, i, count, values);
}

}  // namespace tapedeck::cuda
