// Random numbers, the CPU's bit for bit: a thread for each block of the stream. Compiled without contraction,
// as the CPU's loops.
#include <cmath>
#include <type_traits>

#include "engine/cpu/loops/draws.h"
#include "engine/cpu/vector/draws.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/loops/packs.h"
#include "engine/tensor/dtype.h"

namespace tapedeck::cuda {
namespace {

__device__ __forceinline__ std::uint64_t pair_of(const cpu::PhiloxBlock& words, int pair) {
  return words[2 * pair] | static_cast<std::uint64_t>(words[2 * pair + 1]) << 32;
}

template <class T>
struct Uniform {
  static constexpr int width = 16 / sizeof(T);
  T low, high;

  __device__ __forceinline__ void operator()(const cpu::PhiloxBlock& words, T* values) const {
#pragma unroll
    for (int i = 0; i < width; ++i) {
      if constexpr (sizeof(T) == 4)
        values[i] = cpu::scale_fraction(cpu::fraction(words[i]), low, high);
      else
        values[i] = cpu::scale_fraction(cpu::fraction(pair_of(words, i)), low, high);
    }
  }
};

template <class T>
struct Integers {
  static constexpr int width = 2;
  std::uint64_t low, range;

  __device__ __forceinline__ void operator()(const cpu::PhiloxBlock& words, T* values) const {
#pragma unroll
    for (int i = 0; i < width; ++i)
      values[i] = static_cast<T>(low + cpu::scale_word(pair_of(words, i), range));
  }
};

template <class T>
struct Normal {
  static constexpr int width = 16 / sizeof(T);
  T mean, deviation;

  __device__ __forceinline__ static void standard(const cpu::PhiloxBlock& words, T* values) {
    if constexpr (sizeof(T) == 4) {
      cpu::TAPEDECK_ISA::box_muller(words[0], words[1], values[0], values[1]);
      cpu::TAPEDECK_ISA::box_muller(words[2], words[3], values[2], values[3]);
    } else {
      cpu::TAPEDECK_ISA::box_muller(pair_of(words, 0), pair_of(words, 1), values[0], values[1]);
    }
  }
  __device__ __forceinline__ void operator()(const cpu::PhiloxBlock& words, T* values) const {
    standard(words, values);
#pragma unroll
    for (int i = 0; i < width; ++i) values[i] = mean + deviation * values[i];
  }
};

/// As many blocks at a time as give 128 bits of values.
template <class T, class Draw>
__global__ void draw_kernel(StreamPlace place, Draw draw, T* out, std::int64_t count) {
  constexpr int width = pack_width<T>;
  constexpr int blocks = width / Draw::width;
  for (std::int64_t i = thread_number(); i * width < count; i += thread_count()) {
    Pack<T, width> values;
#pragma unroll
    for (int k = 0; k < blocks; ++k)
      draw(cpu::stream_block(place.key, place.counter + static_cast<std::uint64_t>(i * blocks + k)),
           values.values + k * Draw::width);
    store_pack(out, i * width, count, values);
  }
}

/// Redraws a block's numbers until all are within two deviations: those that are keep their order.
template <class T>
__global__ void truncated_normal_kernel(StreamPlace place, T mean, T deviation, T* out, std::int64_t count) {
  constexpr int width = Normal<T>::width;
  for (std::int64_t block = thread_number(); block * width < count; block += thread_count()) {
    const std::uint64_t index = place.counter + static_cast<std::uint64_t>(block);
    Pack<T, width> kept;
    int next = 0;
    for (std::uint32_t attempt = 0; next < width; ++attempt) {
      T drawn[width];
      Normal<T>::standard(cpu::stream_block(place.key, index, attempt), drawn);
#pragma unroll
      for (int i = 0; i < width; ++i) {
        if (!(std::fabs(drawn[i]) < T(2))) continue;
#pragma unroll
        for (int k = 0; k < width; ++k)  // an index known at compile time, so that values stay in registers
          if (k == next) kept.values[k] = mean + deviation * drawn[i];
        ++next;
      }
    }
    store_pack(out, block * width, count, kept);
  }
}

template <class T>
__global__ void dropout_kernel(StreamPlace place, float least, T factor, const T* x, T* out,
                               std::int64_t count) {
  for (std::int64_t block = thread_number(); 4 * block < count; block += thread_count()) {
    const cpu::PhiloxBlock words =
        cpu::stream_block(place.key, place.counter + static_cast<std::uint64_t>(block));
    Pack<T, 4> values = load_pack<4>(x, 4 * block, count);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      values.values[i] = cpu::fraction(words[i]) >= least ? values.values[i] * factor : T(0);
    store_pack(out, 4 * block, count, values);
  }
}

template <class T, class Draw>
void draw_values(const char* name, const StreamPlace& place, const Draw& draw, void* out,
                 std::int64_t count) {
  launch(name, grid_for(count, pack_width<T>), draw_kernel<T, Draw>, place, draw, static_cast<T*>(out),
         count);
}

template <class T>
void fill_normal(const StreamPlace& place, double mean, double deviation, bool truncated, void* out,
                 std::int64_t count) {
  const Normal<T> normal{static_cast<T>(mean), static_cast<T>(deviation)};
  if (!truncated) return draw_values<T>("random_normal", place, normal, out, count);
  launch("random_truncated_normal", grid_for(count, Normal<T>::width), truncated_normal_kernel<T>, place,
         normal.mean, normal.deviation, static_cast<T*>(out), count);
}

template <class T>
void drop(const StreamPlace& place, double rate, const void* x, void* out, std::int64_t count) {
  launch("random_dropout", grid_for(count, 4), dropout_kernel<T>, place, cpu::least_kept(rate),
         static_cast<T>(1.0 / (1.0 - rate)), static_cast<const T*>(x), static_cast<T*>(out), count);
}

/// Calls `f` with the tag of the floating dtype.
template <class F>
void visit_floating(const char* kernel, DType dtype, F f) {
  if (dtype == DType::float32) return f(TypeTag<float>{});
  if (dtype == DType::float64) return f(TypeTag<double>{});
  throw NoKernel(std::string(kernel) + " of " + std::string(dtype_name(dtype)));
}

}  // namespace

void random_uniform(DType dtype, const StreamPlace& place, double low, double high, void* out,
                    std::int64_t count) {
  visit_floating("random_uniform", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    draw_values<T>("random_uniform", place, Uniform<T>{static_cast<T>(low), static_cast<T>(high)}, out,
                   count);
  });
}

void random_integers(DType dtype, const StreamPlace& place, std::int64_t low, std::int64_t high, void* out,
                     std::int64_t count) {
  const auto first = static_cast<std::uint64_t>(low);
  const std::uint64_t range = static_cast<std::uint64_t>(high) - first;
  if (dtype == DType::int32)
    draw_values<std::int32_t>("random_integers", place, Integers<std::int32_t>{first, range}, out, count);
  else if (dtype == DType::int64)
    draw_values<std::int64_t>("random_integers", place, Integers<std::int64_t>{first, range}, out, count);
  else
    throw NoKernel("random_integers of " + std::string(dtype_name(dtype)));
}

void random_normal(DType dtype, const StreamPlace& place, double mean, double deviation, bool truncated,
                   void* out, std::int64_t count) {
  visit_floating("random_normal", dtype, [&](auto tag) {
    fill_normal<typename decltype(tag)::type>(place, mean, deviation, truncated, out, count);
  });
}

void random_dropout(DType dtype, const StreamPlace& place, double rate, const void* x, void* out,
                    std::int64_t count) {
  visit_floating("random_dropout", dtype,
                 [&](auto tag) { drop<typename decltype(tag)::type>(place, rate, x, out, count); });
}

}  // namespace tapedeck::cuda
