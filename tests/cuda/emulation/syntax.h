// CUDA's syntax for the host's compiler, so that it compiles kernels unchanged. A kernel that uses anything
// else does not compile; atomics exist only for the types for which GPUs have them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ [[gnu::always_inline]] inline
/// One block runs at a time.
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

#define TAPEDECK_VECTOR_TYPES(type, name)                                 \
  struct alignas(2 * sizeof(type)) name##2 {                              \
    type x, y;                                                            \
  };                                                                      \
  struct name##3 {                                                        \
    type x, y, z;                                                         \
  };                                                                      \
  struct alignas(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)) name##4 { \
    type x, y, z, w;                                                      \
  };                                                                      \
  inline name##2 make_##name##2(type x, type y) {                         \
    return {x, y};                                                        \
  }                                                                       \
  inline name##3 make_##name##3(type x, type y, type z) {                 \
    return {x, y, z};                                                     \
  }                                                                       \
  inline name##4 make_##name##4(type x, type y, type z, type w) {         \
    return {x, y, z, w};                                                  \
  }
TAPEDECK_VECTOR_TYPES(float, float)
TAPEDECK_VECTOR_TYPES(double, double)
TAPEDECK_VECTOR_TYPES(int, int)
TAPEDECK_VECTOR_TYPES(short, short)
TAPEDECK_VECTOR_TYPES(unsigned short, ushort)
TAPEDECK_VECTOR_TYPES(signed char, char)
TAPEDECK_VECTOR_TYPES(unsigned char, uchar)
TAPEDECK_VECTOR_TYPES(long long, longlong)
TAPEDECK_VECTOR_TYPES(unsigned long long, ulonglong)
#undef TAPEDECK_VECTOR_TYPES
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}

// Of the one thread of the one block that runs.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace emulation {

/// The memory of shared_memory(): as much as the launch requested.
extern std::byte* dynamic_shared_memory;

/// The result of a barrier for a block.
struct Agreement {
  int count;  ///< of threads whose word was not 0
  int threads;
};
Agreement block_barrier(bool word);
/// The lanes of `mask` meet; returns their 32 words.
const std::uint64_t* warp_exchange(unsigned mask, std::uint64_t word);
int lane();
[[noreturn]] void trap(const char* why);

template <class T>
std::uint64_t word_of(const T& value) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
template <class T>
T value_of(std::uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}
/// As the hardware: a lane whose source is outside its part of the warp gets its own value.
template <class T>
T shuffle(unsigned mask, T value, int from, bool inside) {
  const std::uint64_t* words = warp_exchange(mask, word_of(value));
  if (!inside) return value;
  if ((mask >> (from & 31) & 1U) == 0) trap("a lane asks for the value of one that takes no part");
  return value_of<T>(words[from & 31]);
}

template <class T, class... Types>
concept one_of = (std::same_as<T, Types> || ...);

}  // namespace emulation

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = warpSize) {
  return emulation::shuffle(mask, value, (emulation::lane() & ~(width - 1)) + (from & (width - 1)), true);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
  const int lane = emulation::lane(), from = lane - static_cast<int>(by);
  return emulation::shuffle(mask, value, from, from >= (lane & ~(width - 1)));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
  const int lane = emulation::lane(), from = lane + static_cast<int>(by);
  return emulation::shuffle(mask, value, from, from <= (lane | (width - 1)));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize) {
  const int lane = emulation::lane(), from = lane ^ bits;
  return emulation::shuffle(mask, value, from, from <= (lane | (width - 1)));
}
inline void __syncthreads() {
  emulation::block_barrier(false);
}
inline int __syncthreads_or(int word) {
  return emulation::block_barrier(word != 0).count > 0 ? 1 : 0;
}
inline int __syncthreads_and(int word) {
  const emulation::Agreement all = emulation::block_barrier(word != 0);
  return all.count == all.threads ? 1 : 0;
}
inline int __syncthreads_count(int word) {
  return emulation::block_barrier(word != 0).count;
}
inline void __syncwarp(unsigned mask = 0xffffffffU) {
  emulation::warp_exchange(mask, 0);
}
inline unsigned __ballot_sync(unsigned mask, int word) {
  const std::uint64_t* words = emulation::warp_exchange(mask, word != 0 ? 1 : 0);
  unsigned bits = 0;
  for (int lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1U) != 0 && words[lane] != 0) bits |= 1U << lane;
  return bits;
}
inline int __any_sync(unsigned mask, int word) {
  return __ballot_sync(mask, word) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned mask, int word) {
  return __ballot_sync(mask, word) == mask ? 1 : 0;
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
  const std::uint64_t own = emulation::word_of(value);
  const std::uint64_t* words = emulation::warp_exchange(mask, own);
  unsigned bits = 0;
  for (int lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1U) != 0 && words[lane] == own) bits |= 1U << lane;
  return bits;
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
[[noreturn]] inline void __trap() {
  emulation::trap("trap");
}

#define TAPEDECK_ATOMIC(name, result, ...)                                                     \
  template <class T>                                                                           \
  requires emulation::one_of<T, __VA_ARGS__> T name(T* place, std::type_identity_t<T> value) { \
    const T before = *place;                                                                   \
    *place = result;                                                                           \
    return before;                                                                             \
  }
TAPEDECK_ATOMIC(atomicAdd, before + value, int, unsigned, unsigned long long, float, double)
TAPEDECK_ATOMIC(atomicSub, before - value, int, unsigned)
TAPEDECK_ATOMIC(atomicMax, value > before ? value : before, int, unsigned, long long, unsigned long long)
TAPEDECK_ATOMIC(atomicMin, value < before ? value : before, int, unsigned, long long, unsigned long long)
TAPEDECK_ATOMIC(atomicAnd, before& value, int, unsigned, unsigned long long)
TAPEDECK_ATOMIC(atomicOr, before | value, int, unsigned, unsigned long long)
TAPEDECK_ATOMIC(atomicXor, before ^ value, int, unsigned, unsigned long long)
TAPEDECK_ATOMIC(atomicExch, value, int, unsigned, unsigned long long, float)
#undef TAPEDECK_ATOMIC
template <class T>
requires emulation::one_of<T, int, unsigned, unsigned long long, unsigned short> T
atomicCAS(T* place, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  const T before = *place;
  if (before == expected) *place = value;
  return before;
}

template <class T>
T __ldg(const T* place) {
  return *place;
}
inline int __popc(unsigned bits) {
  return std::popcount(bits);
}
inline int __popcll(unsigned long long bits) {
  return std::popcount(bits);
}
inline int __clz(int bits) {
  return std::countl_zero(static_cast<unsigned>(bits));
}
inline int __clzll(long long bits) {
  return std::countl_zero(static_cast<unsigned long long>(bits));
}
inline int __ffs(int bits) {
  return __builtin_ffs(bits);
}
inline int __ffsll(long long bits) {
  return __builtin_ffsll(bits);
}
inline unsigned __brev(unsigned bits) {
  unsigned turned = 0;
  for (int i = 0; i < 32; ++i) turned |= (bits >> i & 1U) << (31 - i);
  return turned;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>(static_cast<Wide>(a) * b >> 64);
}
inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}
inline double __longlong_as_double(long long x) {
  return std::bit_cast<double>(x);
}
inline float __fmaf_rn(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
inline double __fma_rn(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
// Not contracted, as the others may be.
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline double __dadd_rn(double a, double b) {
  return a + b;
}
inline float rsqrtf(float x) {
  return 1.0F / std::sqrt(x);
}
inline double rsqrt(double x) {
  return 1.0 / std::sqrt(x);
}
