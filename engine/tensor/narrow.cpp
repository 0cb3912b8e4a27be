#include "engine/tensor/narrow.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "engine/tensor/error.h"
#include "engine/tensor/narrow_formats.h"

namespace tapedeck {
namespace {

/// Rounds to odd, so that rounding again to fewer bits gives what rounding once would.
float to_float_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (!(static_cast<double>(nearest) != value) || value != value) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1U);
}
float to_float_odd(float value) {
  return value;
}

/// Calls `f` with a value of the stored type: std::int8_t …, or Float16 or BFloat16.
template <class F>
void visit_narrow(DType dtype, F&& f) {
  switch (dtype) {
    case DType::int8:
      return f(std::int8_t{});
    case DType::int16:
      return f(std::int16_t{});
    case DType::uint8:
      return f(std::uint8_t{});
    case DType::uint16:
      return f(std::uint16_t{});
    case DType::uint32:
      return f(std::uint32_t{});
    case DType::float16:
      return f(Float16{});
    case DType::bfloat16:
      return f(BFloat16{});
    default:
      fail<UnimplementedError>(dtype_name(dtype), " is not a narrow dtype");
  }
}

template <class From, class To>
void round_all(const Tensor& source, const Tensor& target, bool saturate) {
  const From* from = source.data<From>();
  const std::int64_t count = source.count();
  if constexpr (std::is_arithmetic_v<To>) {
    To* to = target.writable_data<To>();
    constexpr auto low = static_cast<std::int64_t>(std::numeric_limits<To>::min());
    constexpr auto high = static_cast<std::int64_t>(std::numeric_limits<To>::max());
    if (saturate)
      for (std::int64_t i = 0; i < count; ++i)
        to[i] = static_cast<To>(std::clamp(static_cast<std::int64_t>(from[i]), low, high));
    else
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
  } else {
    auto* to = target.writable_data<std::uint16_t>();
    for (std::int64_t i = 0; i < count; ++i) {
      const float value = to_float_odd(from[i]);
      to[i] = To::from_float(saturate && std::isfinite(value) ? std::clamp(value, -To::largest, To::largest)
                                                              : value);
    }
  }
}

}  // namespace

Tensor widened(const Tensor& tensor) {
  if (!is_narrow(tensor.dtype())) return tensor;
  const Tensor source = tensor.make_contiguous();
  Tensor wide = Tensor::allocate(compute_dtype(tensor.dtype()), tensor.shape(), Device{});
  const std::int64_t count = source.count();
  visit_narrow(source.dtype(), [&](auto stored) {
    using Stored = decltype(stored);
    if constexpr (!std::is_arithmetic_v<Stored>) {
      const auto* from = source.data<std::uint16_t>();
      float* to = wide.writable_data<float>();
      for (std::int64_t i = 0; i < count; ++i) to[i] = Stored::to_float(from[i]);
    } else if constexpr (std::is_same_v<Stored, std::uint32_t>) {
      std::copy_n(source.data<Stored>(), count, wide.writable_data<std::int64_t>());
    } else {
      std::copy_n(source.data<Stored>(), count, wide.writable_data<std::int32_t>());
    }
  });
  return wide;
}

Tensor narrowed(const Tensor& tensor, DType dtype, bool saturate) {
  if (tensor.dtype() == dtype) return tensor;
  const Tensor source = tensor.make_contiguous();
  Tensor target = Tensor::allocate(dtype, tensor.shape(), Device{});
  visit_narrow(dtype, [&](auto stored) {
    using Stored = decltype(stored);
    if constexpr (std::is_arithmetic_v<Stored>) {
      if (source.dtype() == DType::int32) return round_all<std::int32_t, Stored>(source, target, saturate);
      if (source.dtype() == DType::int64) return round_all<std::int64_t, Stored>(source, target, saturate);
    } else {
      if (source.dtype() == DType::float32) return round_all<float, Stored>(source, target, saturate);
      if (source.dtype() == DType::float64) return round_all<double, Stored>(source, target, saturate);
    }
    fail<UnimplementedError>("no conversion from ", dtype_name(source.dtype()), " to ", dtype_name(dtype));
  });
  return target;
}

Tensor printable(const Tensor& wide, DType dtype) {
  const Tensor source = wide.make_contiguous();
  Tensor result = Tensor::allocate(DType::float32, wide.shape(), Device{});
  const float* from = source.data<float>();
  float* to = result.writable_data<float>();
  visit_narrow(dtype, [&](auto stored) {
    using Stored = decltype(stored);
    if constexpr (!std::is_arithmetic_v<Stored>)
      for (std::int64_t i = 0; i < source.count(); ++i) {
        to[i] = from[i];
        if (!std::isfinite(from[i])) continue;
        for (int digits = 0; digits < 6; ++digits) {
          char text[32];
          std::snprintf(text, sizeof text, "%.*e", digits, static_cast<double>(from[i]));
          const float shorter = std::strtof(text, nullptr);
          if (Stored::from_float(shorter) != Stored::from_float(from[i])) continue;
          to[i] = shorter;
          break;
        }
      }
  });
  return result;
}

}  // namespace tapedeck
