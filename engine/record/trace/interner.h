// Numbers for things that many records share: names, scopes, shapes. A program has few of them; if one
// creates ever more, the table fills up, and further values share one number.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace tapedeck {

/// Approximate bytes held by all interners of the process.
inline std::atomic<std::uint64_t> interned_bytes{0};

/// Bytes that a value owns outside itself.
template <class Value>
std::uint64_t bytes_owned_by(const Value&) {
  return 0;
}
inline std::uint64_t bytes_owned_by(const std::string& text) {
  return text.size();
}

/// Gives equal values the same number, from 1. Thread-safe.
template <class Value, class Hash = std::hash<Value>>
class Interner {
 public:
  /// Beyond `most_bytes` every new value gets the number of `instead`, or 0 without that.
  explicit Interner(std::uint64_t most_bytes, std::optional<Value> instead = std::nullopt)
      : most_bytes_(most_bytes), instead_(std::move(instead)) {}

  std::uint32_t intern(const Value& value) {
    const std::lock_guard lock(mutex_);
    if (const auto found = numbers_.find(value); found != numbers_.end()) return found->second;
    const std::uint64_t bytes = 2 * (sizeof(Value) + bytes_owned_by(value)) + node_bytes;
    if (bytes_ + bytes <= most_bytes_) return add(value, bytes);
    if (full_ == 0 && instead_) full_ = add(*instead_, 0);
    return full_;
  }
  /// The value of a number that intern returned; a default one for 0.
  Value at(std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    return number == 0 ? Value{} : values_.at(number - 1);
  }

 private:
  static constexpr std::uint64_t node_bytes = 40;  ///< of the table beside the value: pointers, number, hash

  std::uint32_t add(const Value& value, std::uint64_t bytes) {
    values_.push_back(value);
    bytes_ += bytes;
    interned_bytes.fetch_add(bytes, std::memory_order_relaxed);
    return numbers_[value] = static_cast<std::uint32_t>(values_.size());
  }

  const std::uint64_t most_bytes_;
  const std::optional<Value> instead_;
  mutable std::mutex mutex_;
  std::uint64_t bytes_ = 0;
  std::uint32_t full_ = 0;  ///< number of `instead`; 0 while there is room
  std::unordered_map<Value, std::uint32_t, Hash> numbers_;
  std::deque<Value> values_;
};

}  // namespace tapedeck
