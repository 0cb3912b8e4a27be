// The engine's own structs say "not there" with 0, an empty text or list, or a tensor of id 0, as records do
// (record.h); messages with an absent value. This is where the one becomes the other.
#pragma once

#include <concepts>
#include <optional>
#include <utility>

namespace tapedeck::protocol {

template <class T>
concept Countable = requires(const T& value) {
  { value.empty() } -> std::convertible_to<bool>;
};
template <class T>
concept Identified = requires(const T& value) {
  value.id == 0u;
};

/// Absent where `value` is 0, is empty, or has the id 0.
template <class T>
std::optional<T> if_there(T value) {
  if constexpr (Countable<T>) {
    return value.empty() ? std::nullopt : std::optional<T>(std::move(value));
  } else if constexpr (Identified<T>) {
    return value.id == 0 ? std::nullopt : std::optional<T>(std::move(value));
  } else {
    return value == T{} ? std::nullopt : std::optional<T>(value);
  }
}

}  // namespace tapedeck::protocol
