// Reductions of blocks in a fixed pattern of lanes: 4 vectors of 64 bytes, whatever the registers' width.
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/vector/math.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

constexpr int vector_bytes = 64;
constexpr int accumulators = 4;

template <class T>
struct Wide {
  typedef T type __attribute__((vector_size(vector_bytes)));
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));
};
template <class T>
using wide_t = typename Wide<T>::type;

template <class T>
TAPEDECK_INLINE void load(wide_t<T>& vector, const T* from) {
  std::memcpy(&vector, from, vector_bytes);
}

struct Sum {
  template <class T>
  static constexpr T neutral = T(0);
  template <class V>
  TAPEDECK_INLINE static void combine(V& a, const V& b) {
    a = a + b;
  }
};
struct Product {
  template <class T>
  static constexpr T neutral = T(1);
  template <class V>
  TAPEDECK_INLINE static void combine(V& a, const V& b) {
    a = a * b;
  }
};
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
    const V larger = a > b ? a : b;  // in two steps, or loops over it stay scalar
    a = a != a ? a : larger;
  }
};
struct Minimum {
  template <class T>
  static constexpr T neutral = highest<T>;
  template <class V>
  TAPEDECK_INLINE static void combine(V& a, const V& b) {
    const V smaller = a < b ? a : b;
    a = a != a ? a : smaller;
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

template <class T>
TAPEDECK_INLINE wide_t<T> spread(T value) {
  wide_t<T> vector;
  for (int lane = 0; lane < Wide<T>::lanes; ++lane) vector[lane] = value;
  return vector;
}

/// Lane i with lane i + half, then with half of half, and so on.
template <class T, class F>
TAPEDECK_INLINE T fold(const wide_t<T>& vector) {
  T lanes[Wide<T>::lanes];
  std::memcpy(lanes, &vector, vector_bytes);
  for (int half = Wide<T>::lanes / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) F::combine(lanes[lane], lanes[lane + half]);
  return lanes[0];
}

/// Calls `get(vector, i)` to load the vector at element i, and `tail(i)` for the element i.
template <class T, class F, class Get, class Tail>
TAPEDECK_INLINE T reduce_lanes(std::int64_t count, Get get, Tail tail) {
  constexpr int lanes = Wide<T>::lanes;
  const wide_t<T> neutral = spread<T>(F::template neutral<T>);
  wide_t<T> sums[accumulators] = {neutral, neutral, neutral, neutral};
  wide_t<T> values[accumulators];
  std::int64_t i = 0;
  for (; i + accumulators * lanes <= count; i += accumulators * lanes) {
    get(values[0], i);
    get(values[1], i + lanes);
    get(values[2], i + 2 * lanes);
    get(values[3], i + 3 * lanes);
    F::combine(sums[0], values[0]);
    F::combine(sums[1], values[1]);
    F::combine(sums[2], values[2]);
    F::combine(sums[3], values[3]);
  }
  for (; i + lanes <= count; i += lanes) {
    get(values[0], i);
    F::combine(sums[0], values[0]);
  }
  F::combine(sums[0], sums[1]);
  F::combine(sums[2], sums[3]);
  F::combine(sums[0], sums[2]);
  T result = count >= lanes ? fold<T, F>(sums[0]) : F::template neutral<T>;
  for (; i < count; ++i) {
    const T value = tail(i);
    F::combine(result, value);
  }
  return result;
}

template <class T, class F>
void reduce_loop(const void* values, std::int64_t count, void* out) {
  const T* x = static_cast<const T*>(values);
  *static_cast<T*>(out) = reduce_lanes<T, F>(
      count, [x](wide_t<T>& vector, std::int64_t i) { load(vector, x + i); },
      [x](std::int64_t i) { return x[i]; });
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

struct PairProduct {
  template <class V>
  TAPEDECK_INLINE static V of(V x, V y) {
    return static_cast<V>(x * y);
  }
};
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
  *static_cast<T*>(out) = reduce_lanes<T, Sum>(
      count,
      [x, y](wide_t<T>& vector, std::int64_t i) {
        wide_t<T> other;
        load(vector, x + i);
        load(other, y + i);
        vector = F::of(vector, other);
      },
      [x, y](std::int64_t i) { return F::of(x[i], y[i]); });
}

template <class T>
void exp_sum_loop(const void* a, const void* shift, void* out, std::int64_t count, void* sum) {
  const T* __restrict x = static_cast<const T*>(a);
  T* __restrict y = static_cast<T*>(out);
  const T s = *static_cast<const T*>(shift);
  for (std::int64_t i = 0; i < count; ++i) y[i] = exp_of_negative(x[i] - s);
  reduce_loop<T, Sum>(out, count, sum);
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
