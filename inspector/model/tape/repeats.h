// Repeated blocks in a sequence of numbers.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <vector>

namespace tapedeck::inspector {

/// `times` equal blocks of `length` numbers, one after the other, from `first` on.
struct Repeat {
  int first = 0, length = 0, times = 0;
  int end() const { return first + length * times; }
  bool operator==(const Repeat&) const = default;
};

/// Those that cover most, none over another, in order. Of the places where a block could begin, the one that
/// `cost` says is cheapest to cut the row at; of equal ones the last. Blocks are at most 512 long.
/// `least(length)`: how often a block has to come to count.
std::vector<Repeat> findRepeats(std::span<const int> row,
                                const std::function<int(int first, int length)>& least,
                                const std::function<int(int at)>& cost,
                                const std::atomic<bool>* cancelled = nullptr);

}  // namespace tapedeck::inspector
