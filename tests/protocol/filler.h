// Messages with a value in every field.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

namespace tapedeck::protocol {

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

/// Fills every field of a message with values that differ from the defaults and from each other.
struct Filler {
  std::uint64_t next = 1;

  template <class T>
  void fill(T& value) {
    if constexpr (is_optional<T>) {
      fill(value.emplace());
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(names(T{}).size() - 1);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = !value;
    } else if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
      value = std::numeric_limits<T>::min() + static_cast<T>(next++);
    } else if constexpr (std::is_integral_v<T>) {
      value = std::numeric_limits<T>::max() - static_cast<T>(next++);
    } else if constexpr (std::is_same_v<T, double>) {
      value = 0.1 * static_cast<double>(next++);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = "text " + std::to_string(next++) + " äé\n\x01";
    } else if constexpr (requires { value.push_back({}); }) {
      for (int i = 0; i < 3; ++i) {
        typename T::value_type element{};
        fill(element);
        value.push_back(std::move(element));
      }
    } else {
      T::fields([&](const auto&... field) { (fill(value.*field.member), ...); });
    }
  }
};

}  // namespace tapedeck::protocol
