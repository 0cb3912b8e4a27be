// Element types of tensors.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/tensor/error.h"

namespace tapedeck {

/// Every op has kernels for the first five. int8 to bfloat16 are narrow: stored, while ops compute in a wider
/// type (compute_dtype) and round back, see narrow.h. The last four are accepted by the ops whose rows say
/// so, see OpDef::takes_others; an element of `string` is a std::string_view of bytes that the storage owns,
/// see strings.h.
enum class DType : std::uint8_t {
  bool_,
  int32,
  int64,
  float32,
  float64,
  int8,
  int16,
  uint8,
  uint16,
  uint32,
  float16,
  bfloat16,
  string,
  uint64,
  complex64,
  complex128
};

constexpr std::size_t dtype_count = 16;

constexpr std::size_t item_size(DType dtype) {
  constexpr std::size_t sizes[] = {1, 4, 8, 4, 8, 1, 2, 1, 2, 4, 2, 2, sizeof(std::string_view), 8, 8, 16};
  return sizes[static_cast<std::size_t>(dtype)];
}

constexpr bool is_floating(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::float16 ||
         dtype == DType::bfloat16;
}
constexpr bool is_integer(DType dtype) {
  return dtype == DType::int32 || dtype == DType::int64 || (dtype >= DType::int8 && dtype <= DType::uint32) ||
         dtype == DType::uint64;
}
constexpr bool is_unsigned(DType dtype) {
  return (dtype >= DType::uint8 && dtype <= DType::uint32) || dtype == DType::uint64;
}
constexpr bool is_complex(DType dtype) {
  return dtype >= DType::complex64;
}
/// Floating-point and complex dtypes: gradients flow through their tensors.
constexpr bool is_differentiable(DType dtype) {
  return is_floating(dtype) || is_complex(dtype);
}
/// The dtype of a complex number's parts; any other dtype itself.
constexpr DType real_dtype(DType dtype) {
  return dtype == DType::complex64 ? DType::float32 : dtype == DType::complex128 ? DType::float64 : dtype;
}
/// The complex dtype whose parts are of this one, float32 or float64.
constexpr DType complex_dtype(DType real) {
  return real == DType::float64 ? DType::complex128 : DType::complex64;
}

constexpr bool is_narrow(DType dtype) {
  return dtype >= DType::int8 && dtype <= DType::bfloat16;
}
/// string, uint64, complex64 and complex128, which only some ops accept (OpDef::takes_others).
constexpr bool has_partial_support(DType dtype) {
  return dtype >= DType::string;
}
/// The dtype whose kernels compute for this one; itself if it has kernels.
constexpr DType compute_dtype(DType dtype) {
  if (!is_narrow(dtype)) return dtype;
  return dtype == DType::uint32 ? DType::int64 : is_floating(dtype) ? DType::float32 : DType::int32;
}

/// The lowest and highest number of an integer dtype; for uint64 the highest of int64.
constexpr std::pair<std::int64_t, std::int64_t> integer_limits(DType dtype) {
  const auto bits = static_cast<int>(8 * item_size(dtype));
  if (dtype == DType::uint64) return {0, INT64_MAX};
  if (is_unsigned(dtype)) return {0, (std::int64_t{1} << bits) - 1};
  const std::int64_t highest = INT64_MAX >> (64 - bits);
  return {-highest - 1, highest};
}

/// TensorFlow's name: "bool", "int32", "float32" …
constexpr std::string_view dtype_name(DType dtype) {
  constexpr std::string_view names[] = {"bool",   "int32",  "int64",     "float32",   "float64", "int8",
                                        "int16",  "uint8",  "uint16",    "uint32",    "float16", "bfloat16",
                                        "string", "uint64", "complex64", "complex128"};
  return names[static_cast<std::size_t>(dtype)];
}

constexpr std::optional<DType> dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < dtype_count; ++i)
    if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  return std::nullopt;
}

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<bool>() {
  return DType::bool_;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::int32;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::int64;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::float32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::float64;
}
template <>
constexpr DType dtype_of<std::string_view>() {
  return DType::string;
}
template <>
constexpr DType dtype_of<std::uint64_t>() {
  return DType::uint64;
}
template <>
constexpr DType dtype_of<std::complex<float>>() {
  return DType::complex64;
}
template <>
constexpr DType dtype_of<std::complex<double>>() {
  return DType::complex128;
}

template <class T>
struct TypeTag {
  using type = T;
};

/// Calls `f(TypeTag<T>{})` with the C++ type of `dtype`. Throws UnimplementedError for dtypes beyond the
/// first five: ops and readers widen the narrow ones first.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::bool_:
      return f(TypeTag<bool>{});
    case DType::int32:
      return f(TypeTag<std::int32_t>{});
    case DType::int64:
      return f(TypeTag<std::int64_t>{});
    case DType::float32:
      return f(TypeTag<float>{});
    case DType::float64:
      break;
    default:
      fail<UnimplementedError>("no kernel for ", dtype_name(dtype));
  }
  return f(TypeTag<double>{});
}

}  // namespace tapedeck
