// Sorting of long rows, byte by byte of keys, on several threads; between blocks a user's interrupt takes
// effect.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/cpu/blocks.h"

namespace tapedeck::cpu {

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Keys are in the order of the values: equal values have equal keys, −0 has that of 0, and every NaN has the
/// largest.
template <class T>
KeyOf<T> key_of(T value) {
  using Key = KeyOf<T>;
  constexpr Key sign = Key{1} << (8 * sizeof(T) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return ~Key{0};
    const Key bits = std::bit_cast<Key>(value + T(0));  // −0 + 0 is 0
    return bits & sign ? ~bits : bits | sign;
  } else {
    return static_cast<Key>(value) ^ sign;
  }
}

/// The value of a key; −0 and NaN are not restored.
template <class T>
T value_of(KeyOf<T> key) {
  using Key = KeyOf<T>;
  constexpr Key sign = Key{1} << (8 * sizeof(T) - 1);
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>(key & sign ? key ^ sign : ~key);
  else
    return static_cast<T>(key ^ sign);
}

/// Sorts `items` by the unsigned number that `key` makes of each; items of one key keep their order.
/// `scratch` has the same size. Returns the one of the two that holds the result.
template <class Item, class GetKey>
Item* radix_sort(Item* items, Item* scratch, std::int64_t count, GetKey key) {
  using Counts = std::array<std::int64_t, 256>;
  constexpr std::int64_t block = 1 << 16;
  constexpr int bytes = sizeof(key(*items));
  std::vector<Counts> places(static_cast<std::size_t>((count + block - 1) / block));
  for (int byte = 0; byte < bytes; ++byte) {
    const auto digit_of = [=](const Item& item) {
      return static_cast<std::size_t>(key(item) >> (8 * byte) & 255);
    };
    for_blocks(count, block, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; at += block) {
        Counts& counts = places[static_cast<std::size_t>(at / block)];
        counts.fill(0);
        for (std::int64_t i = at; i < std::min(end, at + block); ++i) ++counts[digit_of(items[i])];
      }
    });
    std::int64_t before = 0;
    bool differs = true;
    for (std::size_t digit = 0; digit < 256; ++digit) {
      const std::int64_t start = before;
      for (Counts& counts : places) before += std::exchange(counts[digit], before);
      differs = differs && before - start != count;
    }
    if (!differs) continue;  // all items have the same digit here
    for_blocks(count, block, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; at += block) {
        Counts next = places[static_cast<std::size_t>(at / block)];
        for (std::int64_t i = at; i < std::min(end, at + block); ++i)
          scratch[next[digit_of(items[i])]++] = items[i];
      }
    });
    std::swap(items, scratch);
  }
  return items;
}

}  // namespace tapedeck::cpu
