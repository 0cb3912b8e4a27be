#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"

namespace tapedeck::cpu {
namespace {

/// Calls `finish(row, shift, sum, exponentials)` with the row's maximum, Σ exp(x − max), and a buffer of
/// exp(x − max), which it may overwrite.
template <class T, class Finish>
void for_rows(const T* values, std::int64_t rows, std::int64_t count, Finish finish) {
  constexpr DType dtype = dtype_of<T>();
  const ReduceLoop maximum = loops().reduce[static_cast<int>(Reduction::max)][static_cast<int>(dtype)];
  const ExpSumLoop exp_sum = loops().exp_sum[static_cast<int>(dtype)];
  const auto grain = std::max<std::int64_t>(1, grain_for(1.0) / std::max<std::int64_t>(8, count));
  for_blocks(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    const auto buffer = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
    for (std::int64_t row = begin; row < end; ++row) {
      T shift{};
      T sum{};
      maximum(values + row * count, count, &shift);
      exp_sum(values + row * count, &shift, buffer.get(), count, &sum);
      finish(row, shift, sum, buffer.get());
    }
  });
}

template <class F>
void visit_floating(DType dtype, F&& f) {
  if (dtype == DType::float32)
    f(TypeTag<float>{});
  else
    f(TypeTag<double>{});
}

}  // namespace

void softmax(DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out) {
  visit_floating(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out);
    const BinaryLoop divide = loops().binary[static_cast<int>(Binary::divide)][static_cast<int>(dtype)];
    for_rows(static_cast<const T*>(values), rows, count,
             [=](std::int64_t row, T, T sum, const T* exponentials) {
               divide(exponentials, 1, &sum, 0, to + row * count, count);
             });
  });
}

void log_softmax(DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out) {
  visit_floating(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(values);
    T* to = static_cast<T*>(out);
    const BinaryLoop subtract = loops().binary[static_cast<int>(Binary::subtract)][static_cast<int>(dtype)];
    for_rows(from, rows, count, [=](std::int64_t row, T shift, T sum, T* exponentials) {
      const T log_sum = std::log(sum);
      T* shifted = exponentials;  // which are no longer needed
      subtract(from + row * count, 1, &shift, 0, shifted, count);
      subtract(shifted, 1, &log_sum, 0, to + row * count, count);
    });
  });
}

void logsumexp(DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out) {
  visit_floating(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out);
    for_rows(static_cast<const T*>(values), rows, count, [=](std::int64_t row, T shift, T sum, const T*) {
      to[row] = std::isinf(shift) ? shift : shift + std::log(sum);
    });
  });
}

}  // namespace tapedeck::cpu
