// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/tensor/error.h"

namespace tapedeck {

/// The first five have kernels. The others are narrow: stored, while ops compute in a wider type
/// (compute_dtype) and round back, see narrow.h.
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
  bfloat16
};

constexpr std::size_t dtype_count = 12;

constexpr std::size_t item_size(DType dtype) {
  constexpr std::size_t sizes[] = {1, 4, 8, 4, 8, 1, 2, 1, 2, 4, 2, 2};
  return sizes[static_cast<std::size_t>(dtype)];
}

constexpr bool is_floating(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype >= DType::float16;
}
constexpr bool is_integer(DType dtype) {
  return dtype == DType::int32 || dtype == DType::int64 || (dtype >= DType::int8 && dtype <= DType::uint32);
}
constexpr bool is_unsigned(DType dtype) {
  return dtype >= DType::uint8 && dtype <= DType::uint32;
}

constexpr bool is_narrow(DType dtype) {
  return dtype >= DType::int8;
}
/// The dtype whose kernels compute for this one; itself where it has its own.
constexpr DType compute_dtype(DType dtype) {
  if (!is_narrow(dtype)) return dtype;
  return dtype == DType::uint32 ? DType::int64 : is_floating(dtype) ? DType::float32 : DType::int32;
}

/// The lowest and the highest number of a whole-number dtype.
constexpr std::pair<std::int64_t, std::int64_t> integer_limits(DType dtype) {
  const auto bits = static_cast<int>(8 * item_size(dtype));
  if (is_unsigned(dtype)) return {0, (std::int64_t{1} << bits) - 1};
  const std::int64_t highest = INT64_MAX >> (64 - bits);
  return {-highest - 1, highest};
}

/// TensorFlow's name: "bool", "int32", "float32" …
constexpr std::string_view dtype_name(DType dtype) {
  constexpr std::string_view names[] = {"bool",  "int32", "int64",  "float32", "float64", "int8",
                                        "int16", "uint8", "uint16", "uint32",  "float16", "bfloat16"};
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

template <class T>
struct TypeTag {
  using type = T;
};

/// Calls `f(TypeTag<T>{})` with the C++ type of `dtype`. Throws UnimplementedError for a narrow one, which
/// ops and readers widen first.
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
