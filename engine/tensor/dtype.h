// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace tapedeck {

enum class DType : std::uint8_t { bool_, int32, int64, float32, float64 };

constexpr std::size_t dtype_count = 5;

constexpr std::size_t item_size(DType dtype) {
  constexpr std::size_t sizes[] = {1, 4, 8, 4, 8};
  return sizes[static_cast<std::size_t>(dtype)];
}

constexpr bool is_floating(DType dtype) {
  return dtype >= DType::float32;
}
constexpr bool is_integer(DType dtype) {
  return dtype == DType::int32 || dtype == DType::int64;
}

/// TensorFlow's name: "bool", "int32", "int64", "float32", "float64".
constexpr std::string_view dtype_name(DType dtype) {
  constexpr std::string_view names[] = {"bool", "int32", "int64", "float32", "float64"};
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

/// Calls `f(TypeTag<T>{})` with the C++ type of `dtype`.
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
  }
  return f(TypeTag<double>{});
}

}  // namespace tapedeck
