// Windows of images, all channels of one output pixel at a time.
#include <type_traits>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/vector/wide.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

/// The number of channels in one vector; a power of two.
template <int count>
struct Channels {
  template <class T>
  struct Of {
    typedef T type __attribute__((vector_size(count * sizeof(T))));
  };
};
template <>
struct Channels<1> {
  template <class T>
  struct Of {
    using type = T;
  };
};
template <class Width, class T>
using Values = typename Width::template Of<T>::type;

/// Calls `f.template operator()<Channels<count>>(first channel)` until all are done: with as many as a vector
/// holds, and with fewer and fewer for the remainder.
template <int count, class F>
TAPEDECK_INLINE void for_channels(std::int64_t channels, F&& f, std::int64_t first = 0) {
  for (; first + count <= channels; first += count) f.template operator()<Channels<count>>(first);
  if constexpr (count > 1)
    if (first < channels) for_channels<count / 2>(channels, f, first);
}
template <class T>
constexpr int in_a_vector = register_bytes / static_cast<int>(sizeof(T));

template <class V>
TAPEDECK_INLINE auto is_nan(const V& value) {
  if constexpr (std::is_integral_v<V>)
    return false;
  else
    return value != value;
}

/// Calls `f(number, offset)` for the places of a window, row by row.
template <class F>
TAPEDECK_INLINE void for_places(const PoolWindow& window, F&& f) {
  int number = 0;
  for (std::int64_t y = 0; y < window.rows; ++y)
    for (std::int64_t x = 0; x < window.columns; ++x) f(number++, y * window.row_step + x * window.channels);
}

template <class T>
void largest(const void* source, const PoolWindow& window, void* target) {
  const T* __restrict from = static_cast<const T*>(source);
  T* __restrict to = static_cast<T*>(target);
  for_channels<in_a_vector<T>>(window.channels, [&]<class Width>(std::int64_t first) {
    Values<Width, T> best, value;
    load(best, from + first);
    for_places(window, [&](int, std::int64_t offset) {
      load(value, from + offset + first);
      const auto larger = value > best ? value : best;  // a NaN stays: nothing is larger
      best = is_nan(value) ? value : larger;
    });
    store(best, to + first);
  });
}

/// Integers are added as unsigned ones: overflow wraps around.
template <class T>
using Added = std::conditional_t<std::is_same_v<T, std::int32_t>, std::uint32_t,
                                 std::conditional_t<std::is_same_v<T, std::int64_t>, std::uint64_t, T>>;

template <class T>
void scatter_to_largest(const void* source, const PoolWindow& window, const void* gradient, void* target) {
  using Number = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  const T* __restrict from = static_cast<const T*>(source);
  const T* __restrict arrived = static_cast<const T*>(gradient);
  T* __restrict to = static_cast<T*>(target);
  for_channels<in_a_vector<T>>(window.channels, [&]<class Width>(std::int64_t first) {
    Values<Width, T> best, value;
    Values<Width, Number> place{};
    load(best, from + first);
    for_places(window, [&](int number, std::int64_t offset) {
      load(value, from + offset + first);
      const auto further = (value > best) | (is_nan(value) & (best == best));
      best = further ? value : best;
      place = further ? Values<Width, Number>{} + Number(number) : place;
    });
    Values<Width, Added<T>> sum, part;
    load(part, arrived + first);
    const Values<Width, Added<T>> nothing{};
    for_places(window, [&](int number, std::int64_t offset) {
      load(sum, to + offset + first);
      sum += place == Number(number) ? part : nothing;
      store(sum, to + offset + first);
    });
  });
}

template <class T>
void mean(const void* source, const PoolWindow& window, void* target) {
  const T* __restrict from = static_cast<const T*>(source);
  T* __restrict to = static_cast<T*>(target);
  const T size = static_cast<T>(window.rows * window.columns);
  for_channels<in_a_vector<T>>(window.channels, [&]<class Width>(std::int64_t first) {
    Values<Width, T> sum{}, value;
    for_places(window, [&](int, std::int64_t offset) {
      load(value, from + offset + first);
      sum += value;
    });
    sum = sum / size;
    store(sum, to + first);
  });
}

template <class T>
void scatter_evenly(const PoolWindow& window, const void* gradient, void* target) {
  const T* __restrict arrived = static_cast<const T*>(gradient);
  T* __restrict to = static_cast<T*>(target);
  const T size = static_cast<T>(window.rows * window.columns);
  for_channels<in_a_vector<T>>(window.channels, [&]<class Width>(std::int64_t first) {
    Values<Width, T> part, sum;
    load(part, arrived + first);
    part = part / size;
    for_places(window, [&](int, std::int64_t offset) {
      load(sum, to + offset + first);
      sum += part;
      store(sum, to + offset + first);
    });
  });
}

template <class T>
void add_largest(LoopTable& table) {
  table.pooling[static_cast<int>(dtype_of<T>())].largest = largest<T>;
  table.pooling[static_cast<int>(dtype_of<T>())].scatter_to_largest = scatter_to_largest<T>;
}
template <class T>
void add_all(LoopTable& table) {
  add_largest<T>(table);
  table.pooling[static_cast<int>(dtype_of<T>())].mean = mean<T>;
  table.pooling[static_cast<int>(dtype_of<T>())].scatter_evenly = scatter_evenly<T>;
}

}  // namespace

void add_pooling(LoopTable& table) {
  add_largest<std::int32_t>(table);
  add_largest<std::int64_t>(table);
  add_all<float>(table);
  add_all<double>(table);
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
