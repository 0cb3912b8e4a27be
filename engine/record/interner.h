// Numbers for things that many records share: names, scopes, shapes. Nothing is ever forgotten; a program has
// few.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

namespace tapedeck {

/// Gives equal values the same number, from 1. Safe from several threads.
template <class Value, class Hash = std::hash<Value>>
class Interner {
 public:
  std::uint32_t intern(const Value& value) {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = numbers_.try_emplace(value, static_cast<std::uint32_t>(values_.size() + 1));
    if (is_new) values_.push_back(value);
    return found->second;
  }
  /// The value of a number that intern returned; a default one for 0.
  Value at(std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    return number == 0 ? Value{} : values_.at(number - 1);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Value, std::uint32_t, Hash> numbers_;
  std::deque<Value> values_;
};

}  // namespace tapedeck
