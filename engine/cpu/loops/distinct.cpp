#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/in_order.h"

namespace tapedeck::cpu {
namespace {

/// The number of each value, in a hash table with open addressing: values with equal hashes are adjacent.
template <class T>
class Numbers {
 public:
  /// The number of a value; `next` if it is new.
  std::int64_t number_of(T value, std::int64_t next) {
    if (2 * (next + 1) > std::ssize(entries_)) grow();
    std::size_t at = home_of(value);
    while (entries_[at].number != free_entry && entries_[at].value != value) at = (at + 1) & mask_;
    if (entries_[at].number == free_entry) entries_[at] = {value, next};
    return entries_[at].number;
  }

 private:
  static constexpr std::int64_t free_entry = -1;
  struct Entry {
    T value;
    std::int64_t number = free_entry;
  };

  /// −0 and 0 have the same number.
  std::size_t home_of(T value) const {
    std::uint64_t bits = 0;
    if (value != T(0)) std::memcpy(&bits, &value, sizeof value);
    return static_cast<std::size_t>((bits ^ bits >> 29) * 0x9e3779b97f4a7c15u >> shift_) & mask_;
  }
  void grow() {
    std::vector<Entry> before(entries_.empty() ? 1024 : 2 * entries_.size());
    before.swap(entries_);
    mask_ = entries_.size() - 1;
    shift_ = 64 - static_cast<int>(std::bit_width(mask_));
    for (const Entry& entry : before) {
      if (entry.number == free_entry) continue;
      std::size_t at = home_of(entry.value);
      while (entries_[at].number != free_entry) at = (at + 1) & mask_;
      entries_[at] = entry;
    }
  }

  std::vector<Entry> entries_;
  std::size_t mask_ = 0;
  int shift_ = 0;
};

/// Value by value; false, without a result, if there are more distinct values than fit in a cache.
template <class T>
bool number_by_table(const T* values, std::int64_t count, Distinct& distinct) {
  const bool ordered_instead = count <= std::numeric_limits<std::int32_t>::max();  // argsort's positions
  const std::int64_t most = ordered_instead ? 1 << 18 : count;
  distinct.place.reserve(static_cast<std::size_t>(count));
  Numbers<T> numbers;
  in_order(count, [&](std::int64_t begin, std::int64_t end) {
    if (std::ssize(distinct.first) > most) return;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto next = static_cast<std::int64_t>(distinct.first.size());
      const bool is_nan = values[i] != values[i];  // it is not found again
      const std::int64_t place = is_nan ? next : numbers.number_of(values[i], next);
      if (place == next) {
        distinct.first.push_back(i);
        distinct.counts.push_back(0);
      }
      distinct.place.push_back(place);
      ++distinct.counts[static_cast<std::size_t>(place)];
    }
  });
  if (std::ssize(distinct.first) <= most) return true;
  distinct = {};
  return false;
}

/// Integers in a small range, by a table of the range; false, without a result, if the range is large.
template <class T>
bool number_by_range(const T* values, std::int64_t count, Distinct& distinct) {
  using Unsigned = std::make_unsigned_t<T>;
  if (count == 0) return false;
  T low = values[0], high = values[0];
  in_order(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      low = std::min(low, values[i]);
      high = std::max(high, values[i]);
    }
  });
  const auto place_of = [low](T value) {
    return static_cast<std::uint64_t>(
        static_cast<Unsigned>(static_cast<Unsigned>(value) - static_cast<Unsigned>(low)));
  };
  const std::uint64_t most = std::max<std::uint64_t>(static_cast<std::uint64_t>(count), 1024);
  if (place_of(high) >= most) return false;
  std::vector<std::int64_t> numbers(place_of(high) + 1, -1);
  distinct.place.resize(static_cast<std::size_t>(count));
  in_order(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t& number = numbers[place_of(values[i])];
      if (number < 0) {
        number = std::ssize(distinct.first);
        distinct.first.push_back(i);
        distinct.counts.push_back(0);
      }
      distinct.place[static_cast<std::size_t>(i)] = number;
      ++distinct.counts[static_cast<std::size_t>(number)];
    }
  });
  return true;
}

/// After sorting, equal values are adjacent, the first of them first.
template <class T>
Distinct number_by_order(const T* values, std::int64_t count) {
  Distinct distinct;
  const auto places = std::make_unique_for_overwrite<std::int32_t[]>(static_cast<std::size_t>(count));
  argsort_rows(false, dtype_of<T>(), values, 1, count, places.get());
  distinct.place.resize(static_cast<std::size_t>(count));
  std::int64_t first = 0;
  in_order(count, [&](std::int64_t begin, std::int64_t end) {  // place: of the first value that is equal
    for (std::int64_t i = begin; i < end; ++i) {
      if (i == 0 || !(values[places[i]] == values[first])) first = places[i];
      distinct.place[static_cast<std::size_t>(places[i])] = first;
    }
  });
  in_order(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t& place = distinct.place[static_cast<std::size_t>(i)];
      if (place == i) {
        place = std::ssize(distinct.first);
        distinct.first.push_back(i);
        distinct.counts.push_back(0);
      } else {
        place = distinct.place[static_cast<std::size_t>(place)];  // which comes earlier, and is numbered
      }
      ++distinct.counts[static_cast<std::size_t>(place)];
    }
  });
  return distinct;
}

}  // namespace

Distinct distinct_values(DType dtype, const void* values, std::int64_t count) {
  Distinct distinct;
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const typed = static_cast<const T*>(values);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      if (number_by_range(typed, count, distinct)) return;
    if (number_by_table(typed, count, distinct)) return;
    if constexpr (!std::is_same_v<T, bool>) distinct = number_by_order(typed, count);
  });
  return distinct;
}

}  // namespace tapedeck::cpu
