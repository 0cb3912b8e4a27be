// Casts among all dtypes of numbers and truth values, narrow ones included: what the CPU does in two steps
// (ops/elementwise/cast.cpp, tensor/narrow.h) is one here, with the same results.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/cuda/kernels.h"
#include "engine/cuda/loops/elementwise.h"
#include "engine/tensor/narrow_formats.h"

namespace tapedeck::cuda {
namespace {

/// How a dtype is stored, and as what its values are computed with.
template <class T>
struct Plain {
  using Stored = T;
  TAPEDECK_INLINE static T load(T x) { return x; }
};
template <>
struct Plain<bool> {
  using Stored = std::uint8_t;
  TAPEDECK_INLINE static bool load(std::uint8_t x) { return x != 0; }
};
template <class T, class Wide>
struct Narrow {
  using Stored = T;
  TAPEDECK_INLINE static Wide load(T x) { return x; }
};
template <class Format>
struct Half {
  using Stored = std::uint16_t;
  TAPEDECK_INLINE static float load(std::uint16_t x) { return Format::to_float(x); }
};

/// Calls `f(Type{})` for a dtype that GPUs can store.
template <class F>
void with_stored(DType dtype, F&& f) {
  switch (dtype) {
    case DType::bool_:
      return f(Plain<bool>{});
    case DType::int32:
      return f(Plain<std::int32_t>{});
    case DType::int64:
      return f(Plain<std::int64_t>{});
    case DType::float32:
      return f(Plain<float>{});
    case DType::float64:
      return f(Plain<double>{});
    case DType::int8:
      return f(Narrow<std::int8_t, std::int32_t>{});
    case DType::int16:
      return f(Narrow<std::int16_t, std::int32_t>{});
    case DType::uint8:
      return f(Narrow<std::uint8_t, std::int32_t>{});
    case DType::uint16:
      return f(Narrow<std::uint16_t, std::int32_t>{});
    case DType::uint32:
      return f(Narrow<std::uint32_t, std::int64_t>{});
    case DType::float16:
      return f(Half<Float16>{});
    case DType::bfloat16:
      return f(Half<BFloat16>{});
    default:
      throw NoKernel("cast");
  }
}

/// As x86-64 converts, where C++ leaves it open: what does not fit becomes the lowest number.
template <class Integer, class From>
TAPEDECK_INLINE Integer to_integer(From x) {
  if constexpr (std::is_floating_point_v<From>) {
    constexpr From limit = -static_cast<From>(std::numeric_limits<Integer>::min());  // a power of two
    return x >= -limit && x < limit ? static_cast<Integer>(x) : std::numeric_limits<Integer>::min();
  } else {
    return static_cast<Integer>(x);
  }
}

/// Rounds to odd, so that rounding again to fewer bits gives what rounding once would.
TAPEDECK_INLINE float to_float_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (!(static_cast<double>(nearest) != value) || value != value) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1U);
}
TAPEDECK_INLINE float to_float_odd(float value) {
  return value;
}

template <class T, class From>
TAPEDECK_INLINE auto convert(From x, Plain<T>) {
  if constexpr (std::is_same_v<T, bool>)
    return static_cast<std::uint8_t>(x != From(0) ? 1 : 0);
  else if constexpr (std::is_integral_v<T>)
    return to_integer<T>(x);
  else
    return static_cast<T>(x);
}
template <class T, class Wide, class From>
TAPEDECK_INLINE T convert(From x, Narrow<T, Wide>) {
  return static_cast<T>(to_integer<std::int64_t>(x));
}
template <class Format, class From>
TAPEDECK_INLINE std::uint16_t convert(From x, Half<Format>) {
  if constexpr (std::is_floating_point_v<From>)
    return Format::from_float(to_float_odd(x));
  else
    return Format::from_float(to_float_odd(static_cast<double>(x)));
}

/// A single value passed by value, else values in memory.
struct CastSource {
  const void* data;
  bool given;
  std::uint64_t bits;
};

/// As many elements as 128 bits have of the larger type.
template <class From, class To>
constexpr int cast_width = std::min(pack_width<typename From::Stored>, pack_width<typename To::Stored>);

template <class From, class To>
__global__ void cast_kernel(CastSource source, void* to, Walk<1> walk) {
  using Stored = typename From::Stored;
  constexpr int width = cast_width<From, To>;
  Source<Stored> x;
  x.data = static_cast<const Stored*>(source.data);
  x.given = source.given;
  std::memcpy(&x.value, &source.bits, sizeof x.value);
  auto* out = static_cast<typename To::Stored*>(to);
  for (std::int64_t i = thread_number(); i < walk.steps; i += thread_count()) {
    std::int64_t place[1];
    walk.offsets(static_cast<std::uint32_t>(i), place);
    if (walk.width == 1) {
      out[i] = convert(From::load(x.at(place[0])), To{});
      continue;
    }
    const std::int64_t first = i * width;
    const Pack<Stored, width> in = x.template step_of<width>(walk, 0, place[0], walk.count - first);
    Pack<typename To::Stored, width> result;
    for (int k = 0; k < width; ++k) result.values[k] = convert(From::load(in.values[k]), To{});
    store_pack(out, first, walk.count, result);
  }
}

}  // namespace

void cast(DType from, DType to, const Operand& a, void* out, const Shape& shape) {
  void (*kernel)(CastSource, void*, Walk<1>) = nullptr;
  int width = 1;
  with_stored(from, [&]<class From>(From) {
    with_stored(to, [&]<class To>(To) {
      kernel = cast_kernel<From, To>;
      width = cast_width<From, To>;
    });
  });
  const auto size = static_cast<std::int64_t>(item_size(from)),
             out_size = static_cast<std::int64_t>(item_size(to));
  const Strides strides = strides_of(a);
  for_walks<1>(shape, {&strides},
               [&](Walk<1> walk, const std::array<std::int64_t, 1>& at, std::int64_t first) {
                 CastSource source{static_cast<const char*>(a.data) + at[0] * size, a.immediate, 0};
                 if (a.immediate) std::memcpy(&source.bits, a.data, item_size(from));
                 walk.widen(width);
                 launch("cast", grid_for(walk.steps), kernel, source,
                        static_cast<char*>(out) + first * out_size, walk);
               });
}

}  // namespace tapedeck::cuda
