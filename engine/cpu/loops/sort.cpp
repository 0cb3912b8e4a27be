#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/in_order.h"
#include "engine/cpu/loops/radix_sort.h"
#include "engine/tensor/storage.h"

namespace tapedeck::cpu {
namespace {

/// NaN is the largest value, and all NaN are equal.
template <class T>
bool is_less(T a, T b) {
  return a < b || (b != b && a == a);
}

template <class T>
bool comes_before(bool descending, T a, T b) {
  return descending ? is_less(b, a) : is_less(a, b);
}

template <class F>
void visit_numeric(DType dtype, F&& f) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) f(tag);
  });
}

/// Blocks of rows; sorting takes about 5 ns an element and doubling.
template <class Body>
void for_rows(std::int64_t rows, std::int64_t count, Body&& body) {
  const double cost = 5.0 * static_cast<double>(count + 1) * std::log2(static_cast<double>(count + 2));
  for_blocks(rows, grain_for(cost), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row);
  });
}

constexpr std::int64_t long_row =
    1 << 16;  ///< worth all threads, and too long to sort without checking for interrupts

/// Uninitialised memory for values that need no destructor.
template <class Value>
class Room {
 public:
  explicit Room(std::int64_t count)
      : storage_(StoragePointer::allocate(static_cast<std::size_t>(count) * sizeof(Value))) {}
  Value* values() const { return reinterpret_cast<Value*>(storage_->data()); }

 private:
  StoragePointer storage_;
};

template <class T>
struct Placed {
  T value;
  std::int32_t place;
};
template <class T, class Load>
struct Keyed {
  KeyOf<T> key;
  Load load;
};

/// Calls `write(i, load(place))` for each i, where `place` is that of the value that is number i in order.
template <class Load, class T, class Get, class Write>
void for_loads_in_order(bool descending, const T* x, std::int64_t count, Get load, Write write) {
  using Item = Keyed<T, Load>;
  const Room<Item> items(count), scratch(count);
  Item* keyed = items.values();
  const KeyOf<T> turned = descending ? ~KeyOf<T>{0} : KeyOf<T>{0};
  for_blocks(count, 1 << 16, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      keyed[i] = {static_cast<KeyOf<T>>(key_of(x[i]) ^ turned), load(i)};
  });
  const Item* sorted = radix_sort(keyed, scratch.values(), count, [](const Item& item) { return item.key; });
  for_blocks(count, 1 << 16, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) write(i, sorted[i].load);
  });
}

/// The same with the places themselves.
template <class T, class Write>
void for_places_in_order(bool descending, const T* x, std::int64_t count, Write write) {
  const auto place = [](std::int64_t i) { return static_cast<std::int32_t>(i); };
  for_loads_in_order<std::int32_t>(descending, x, count, place, write);
}

/// Whether a key determines its value: −0 and NaN would come back changed.
template <class T>
bool keys_suffice(const T* x, std::int64_t count) {
  if constexpr (!std::is_floating_point_v<T>) return true;
  std::atomic<bool> suffice = true;
  for_blocks(count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    bool odd = false;
    for (std::int64_t i = begin; i < end; ++i) odd |= x[i] != x[i] || (x[i] == T(0) && std::signbit(x[i]));
    if (odd) suffice.store(false, std::memory_order_relaxed);
  });
  return suffice;
}

template <class T>
void sort_long(bool descending, const T* x, std::int64_t count, T* to) {
  if (!keys_suffice(x, count))
    return for_loads_in_order<T>(
        descending, x, count, [=](std::int64_t i) { return x[i]; },
        [=](std::int64_t i, T value) { to[i] = value; });
  const Room<KeyOf<T>> items(count), scratch(count);
  KeyOf<T>* keys = items.values();
  const KeyOf<T> turned = descending ? ~KeyOf<T>{0} : KeyOf<T>{0};
  for_blocks(count, 1 << 16, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) keys[i] = key_of(x[i]) ^ turned;
  });
  const KeyOf<T>* sorted = radix_sort(keys, scratch.values(), count, [](KeyOf<T> key) { return key; });
  for_blocks(count, 1 << 16, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = value_of<T>(sorted[i] ^ turned);
  });
}

template <class T>
bool is_ahead(const Placed<T>& a, const Placed<T>& b) {
  return is_less(b.value, a.value) || (!is_less(a.value, b.value) && a.place < b.place);
}

constexpr std::int64_t compared_at_once = 16;

/// Whether one of `compared_at_once` values is larger than `least`, or NaN, which itself is none.
template <class T>
bool any_above(const T* x, T least) {
  int above = 0;
  for (std::int64_t i = 0; i < compared_at_once; ++i) above |= x[i] <= least ? 0 : 1;
  return above != 0;
}

/// The first `k` values of a row in descending order, gathered in `best`. Skips values that are not above the
/// k-th so far, many at once: in a long row that is nearly all.
template <class T>
void find_largest(const T* x, std::int64_t count, std::int64_t k, std::vector<Placed<T>>& best) {
  constexpr std::int64_t between_checks = 1 << 16, few = 32;
  const std::int64_t room = k <= few ? k : 2 * k;
  best.clear();
  std::optional<T> least;  // the k-th
  const auto keep_first = [&] {
    if (std::ssize(best) < k) return;
    if (k > few && std::ssize(best) > k) {
      std::nth_element(best.begin(), best.begin() + (k - 1), best.end(), is_ahead<T>);
      best.resize(static_cast<std::size_t>(k));
    } else if (k > few) {
      std::nth_element(best.begin(), best.end() - 1, best.end(), is_ahead<T>);
    }
    least = best.back().value;
  };
  const auto take = [&](std::int64_t i) {
    if (least && !is_less(*least, x[i])) return;
    const Placed<T> taken{x[i], static_cast<std::int32_t>(i)};
    if (std::ssize(best) < room)
      best.push_back(taken);
    else
      best.back() = taken;  // of few, which stay in order
    if (k <= few)
      for (auto at = best.end() - 1; at != best.begin() && is_ahead(*at, *(at - 1)); --at)
        std::iter_swap(at, at - 1);
    if (std::ssize(best) >= room) keep_first();
  };
  for (std::int64_t i = 0; k > 0 && i < count; i += compared_at_once) {
    if (i % between_checks == 0) check_stop();
    const std::int64_t width = std::min(compared_at_once, count - i);
    if (least && *least == *least && width == compared_at_once && !any_above(x + i, *least)) continue;
    for (std::int64_t j = i; j < i + width; ++j) take(j);
  }
  if (k <= few) return;
  keep_first();
  std::sort(best.begin(), best.end(), is_ahead<T>);
}

}  // namespace

void sort_rows(bool descending, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
               void* out) {
  visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(values);
    T* to = static_cast<T*>(out);
    const auto before = [=](T a, T b) { return comes_before(descending, a, b); };
    if (count >= long_row) {
      for (std::int64_t row = 0; row < rows; ++row)
        sort_long(descending, from + row * count, count, to + row * count);
      return;
    }
    for_rows(rows, count, [=](std::int64_t row) {
      T* begin = to + row * count;
      std::copy_n(from + row * count, count, begin);
      std::stable_sort(begin, begin + count, before);
    });
  });
}

void argsort_rows(bool descending, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                  std::int32_t* out) {
  visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(values);
    if (count >= long_row) {
      for (std::int64_t row = 0; row < rows; ++row)
        for_places_in_order(descending, from + row * count, count,
                            [=](std::int64_t i, std::int32_t place) { out[row * count + i] = place; });
      return;
    }
    for_rows(rows, count, [=](std::int64_t row) {
      const T* x = from + row * count;
      std::int32_t* order = out + row * count;
      std::iota(order, order + count, 0);
      std::stable_sort(order, order + count,
                       [=](std::int32_t a, std::int32_t b) { return comes_before(descending, x[a], x[b]); });
    });
  });
}

void top_k_rows(DType dtype, const void* values, std::int64_t rows, std::int64_t count, std::int64_t k,
                void* out, std::int32_t* positions) {
  const LongWork work(rows * count);
  visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(values);
    T* to = static_cast<T*>(out);
    const auto write = [=](std::int64_t row, std::int64_t i, std::int32_t place) {
      to[row * k + i] = from[row * count + place];
      positions[row * k + i] = place;
    };
    if (count >= long_row && k > long_row) {
      for (std::int64_t row = 0; row < rows; ++row)
        for_places_in_order(true, from + row * count, count, [=](std::int64_t i, std::int32_t place) {
          if (i < k) write(row, i, place);
        });
      return;
    }
    for_blocks(rows, grain_for(static_cast<double>(count + 8 * k)),
               [&](std::int64_t begin, std::int64_t end) {
                 std::vector<Placed<T>> best;
                 for (std::int64_t row = begin; row < end; ++row) {
                   find_largest(from + row * count, count, k, best);
                   std::int64_t i = 0;
                   for (const Placed<T>& each : best) write(row, i++, each.place);
                 }
               });
  });
}

}  // namespace tapedeck::cpu
