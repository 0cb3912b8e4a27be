#include "engine/cpu/sort.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/cpu/blocks.h"

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

}  // namespace

void sort_rows(bool descending, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
               void* out) {
  visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(values);
    T* to = static_cast<T*>(out);
    for_rows(rows, count, [=](std::int64_t row) {
      T* begin = to + row * count;
      std::copy_n(from + row * count, count, begin);
      std::stable_sort(begin, begin + count, [=](T a, T b) { return comes_before(descending, a, b); });
    });
  });
}

void argsort_rows(bool descending, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                  std::int32_t* out) {
  visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(values);
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
  visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(values);
    T* to = static_cast<T*>(out);
    for_rows(rows, count, [=](std::int64_t row) {
      const T* x = from + row * count;
      std::vector<std::int32_t> order(static_cast<std::size_t>(count));
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [=](std::int32_t a, std::int32_t b) {
        return is_less(x[b], x[a]) || (!is_less(x[a], x[b]) && a < b);
      });
      for (std::int64_t i = 0; i < k; ++i) {
        const std::int32_t position = order[static_cast<std::size_t>(i)];
        positions[row * k + i] = position;
        to[row * k + i] = x[position];
      }
    });
  });
}

}  // namespace tapedeck::cpu
