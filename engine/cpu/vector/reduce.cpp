// Reductions of blocks in a fixed pattern of lanes, whatever the registers' width.
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/vector/wide.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

constexpr int vector_bytes = lane_vector_bytes;
constexpr int accumulators = lane_vectors;

template <class T>
constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));
template <class T>
using Lanes = Wide<T, lanes<T>>;

struct Sum {
  template <class T>
  static constexpr T neutral = T(0);
  template <class V>
  TAPEDECK_INLINE static void combine(V& a, const V& b) {
    a = a + b;
  }
};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvector-operation-performance"  // the last two lanes of whole numbers
struct Product {
  template <class T>
  static constexpr T neutral = T(1);
  template <class V>
  TAPEDECK_INLINE static void combine(V& a, const V& b) {
    a = a * b;
  }
};
#pragma GCC diagnostic pop
template <class T>
constexpr T highest = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                           : std::numeric_limits<T>::max();
template <class T>
constexpr T lowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                          : std::numeric_limits<T>::lowest();
struct Maximum {
  template <class T>
  static constexpr T neutral = lowest<T>;
  template <class V>
  TAPEDECK_INLINE static void combine(V& a, const V& b) {
    const V larger = pick(a > b, a, b);  // in two steps, or loops over it stay scalar
    a = pick(a != a, a, larger);
  }
};
struct Minimum {
  template <class T>
  static constexpr T neutral = highest<T>;
  template <class V>
  TAPEDECK_INLINE static void combine(V& a, const V& b) {
    const V smaller = pick(a < b, a, b);
    a = pick(a != a, a, smaller);
  }
};
struct Any {
  template <class T>
  static constexpr T neutral = T(0);
  template <class V>
  TAPEDECK_INLINE static void combine(V& a, const V& b) {
    a = static_cast<V>(a | b);
  }
};
struct All {
  template <class T>
  static constexpr T neutral = T(1);
  template <class V>
  TAPEDECK_INLINE static void combine(V& a, const V& b) {
    a = static_cast<V>(a & b);
  }
};

template <class T, int bytes>
struct Part {
  using type = Wide<T, bytes / static_cast<int>(sizeof(T))>;
};
template <class T>
struct Part<T, static_cast<int>(sizeof(T))> {
  using type = T;
};

/// Lane i with lane i + half, then with half of half, and so on; on the way down the `count` elements from i
/// on are added, fewer than the vector has lanes.
template <class T, class F, int bytes, class V, class Get>
TAPEDECK_INLINE T fold(const V& vector, std::int64_t i, std::int64_t count, Get get) {
  if constexpr (bytes == static_cast<int>(sizeof(T))) {
    return vector;
  } else {
    using Half = typename Part<T, bytes / 2>::type;
    constexpr std::int64_t part = bytes / 2 / static_cast<int>(sizeof(T));
    Half halves[2];
    if constexpr (in_halves<V>) {
      halves[0] = vector.low;
      halves[1] = vector.high;
    } else {
      std::memcpy(halves, &vector, bytes);
    }
    F::combine(halves[0], halves[1]);
    if ((count & part) != 0) {
      get(halves[1], i);
      F::combine(halves[0], halves[1]);
      i += part;
    }
    return fold<T, F, bytes / 2>(halves[0], i, count, get);
  }
}

/// Calls `get(vector, i)` to load the vector, of any length, at element i.
template <class T, class F, class Get>
TAPEDECK_INLINE T reduce_lanes(std::int64_t count, Get get) {
  constexpr int width = lanes<T>;
  Lanes<T> sums[accumulators], values[accumulators];
#pragma GCC unroll 4
  for (Lanes<T>& sum : sums) fill(sum, F::template neutral<T>);
  std::int64_t i = 0;
  for (; i + accumulators * width <= count; i += accumulators * width) {
    get(values[0], i);
    get(values[1], i + width);
    get(values[2], i + 2 * width);
    get(values[3], i + 3 * width);
    F::combine(sums[0], values[0]);
    F::combine(sums[1], values[1]);
    F::combine(sums[2], values[2]);
    F::combine(sums[3], values[3]);
  }
  for (; i + width <= count; i += width) {
    get(values[0], i);
    F::combine(sums[0], values[0]);
  }
  if (count >= accumulators * width) {
    F::combine(sums[0], sums[1]);
    F::combine(sums[2], sums[3]);
    F::combine(sums[0], sums[2]);
  }
  return fold<T, F, vector_bytes>(sums[0], i, count - i, get);
}

template <class T, class F>
void reduce_loop(const void* values, std::int64_t count, void* out) {
  const T* x = static_cast<const T*>(values);
  *static_cast<T*>(out) =
      reduce_lanes<T, F>(count, [x](auto& vector, std::int64_t i) { load(vector, x + i); });
}

template <class T, class F>
void reduce_rows_loop(const void* values, std::int64_t rows, std::int64_t row_step, std::int64_t width,
                      void* out) {
  const T* __restrict x = static_cast<const T*>(values);
  T* __restrict y = static_cast<T*>(out);
  for (std::int64_t j = 0; j < width; ++j) y[j] = F::template neutral<T>;
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const T* __restrict r0 = x + row * row_step;
    const T* __restrict r1 = r0 + row_step;
    const T* __restrict r2 = r1 + row_step;
    const T* __restrict r3 = r2 + row_step;
    for (std::int64_t j = 0; j < width; ++j) {
      T first = r0[j];
      T second = r2[j];
      F::combine(first, r1[j]);
      F::combine(second, r3[j]);
      F::combine(first, second);
      T sum = y[j];
      F::combine(sum, first);
      y[j] = sum;
    }
  }
  for (; row < rows; ++row)
    for (std::int64_t j = 0; j < width; ++j) {
      T sum = y[j];
      F::combine(sum, x[row * row_step + j]);
      y[j] = sum;
    }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvector-operation-performance"  // likewise
struct PairProduct {
  template <class V>
  TAPEDECK_INLINE static V of(V x, V y) {
    return static_cast<V>(x * y);
  }
};
#pragma GCC diagnostic pop
struct PairSquaredDistance {
  template <class V>
  TAPEDECK_INLINE static V of(V x, V y) {
    const V difference = static_cast<V>(x - y);
    return static_cast<V>(difference * difference);
  }
};

/// The sum of F over pairs of elements.
template <class T, class F>
void pairs_loop(const void* a, const void* b, std::int64_t count, void* out) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  *static_cast<T*>(out) = reduce_lanes<T, Sum>(count, [x, y](auto& vector, std::int64_t i) {
    auto other = vector;
    load(vector, x + i);
    load(other, y + i);
    vector = F::of(vector, other);
  });
}

template <class T>
void exp_sum_loop(const void* a, const void* shift, void* out, std::int64_t count, void* sum) {
  const T* __restrict x = static_cast<const T*>(a);
  T* __restrict y = static_cast<T*>(out);
  const T s = *static_cast<const T*>(shift);
  for (std::int64_t i = 0; i < count; ++i) y[i] = exp_of_negative(x[i] - s);
  reduce_loop<T, Sum>(out, count, sum);
}

template <class T>
void arg_rows_loop(bool largest, const void* values, std::int64_t rows, std::int64_t row_step,
                   std::int64_t width, std::int64_t* out) {
  constexpr std::int64_t together = 64;
  using Position = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  const T* __restrict x = static_cast<const T*>(values);
  for (std::int64_t column = 0; column < width; column += together) {
    const std::int64_t n = width - column < together ? width - column : together;
    T best[together];
    Position at[together] = {};
    for (std::int64_t j = 0; j < n; ++j) best[j] = x[column + j];
    for (std::int64_t row = 1; row < rows; ++row) {
      const T* __restrict from = x + row * row_step + column;
      for (std::int64_t j = 0; j < n; ++j) {
        const T value = from[j];
        const bool further = largest ? value > best[j] : value < best[j];
        const bool first_nan = (value != value) & (best[j] == best[j]);
        best[j] = further | first_nan ? value : best[j];
        at[j] = further | first_nan ? static_cast<Position>(row) : at[j];
      }
    }
    for (std::int64_t j = 0; j < n; ++j) out[column + j] = at[j];
  }
}

template <class T, class Stored, class F>
void set(LoopTable& table, Reduction op) {
  table.reduce[static_cast<int>(op)][static_cast<int>(dtype_of<T>())] = reduce_loop<Stored, F>;
  table.reduce_rows[static_cast<int>(op)][static_cast<int>(dtype_of<T>())] = reduce_rows_loop<Stored, F>;
}

/// `Stored` is unsigned for integers, so that overflow wraps around.
template <class T, class Stored>
void add_numeric(LoopTable& table) {
  set<T, Stored, Sum>(table, Reduction::sum);
  set<T, Stored, Product>(table, Reduction::prod);
  set<T, T, Maximum>(table, Reduction::max);
  set<T, T, Minimum>(table, Reduction::min);
  table.arg_rows[static_cast<int>(dtype_of<T>())] = arg_rows_loop<T>;
  table.dot[static_cast<int>(dtype_of<T>())] = pairs_loop<Stored, PairProduct>;
}

}  // namespace

void add_reduce(LoopTable& table) {
  add_numeric<std::int32_t, std::uint32_t>(table);
  add_numeric<std::int64_t, std::uint64_t>(table);
  add_numeric<float, float>(table);
  add_numeric<double, double>(table);
  set<bool, std::uint8_t, Any>(table, Reduction::any);
  set<bool, std::uint8_t, All>(table, Reduction::all);
  table.squared_distance[static_cast<int>(DType::float32)] = pairs_loop<float, PairSquaredDistance>;
  table.squared_distance[static_cast<int>(DType::float64)] = pairs_loop<double, PairSquaredDistance>;
  table.exp_sum[static_cast<int>(DType::float32)] = exp_sum_loop<float>;
  table.exp_sum[static_cast<int>(DType::float64)] = exp_sum_loop<double>;
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
