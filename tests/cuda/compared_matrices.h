// Matrices for the CPU and a GPU: calls the same kernel on both and compares the results.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "tests/cuda/gpu_values.h"

namespace tapedeck::cuda {

inline const Backend& cpu_table() {
  return backend(Device{});
}

constexpr std::int64_t batches[] = {1, 4};

template <class T>
std::vector<T> normal(std::int64_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = std::normal_distribution<T>()(random);
  return values;
}

/// Diagonally dominant matrices.
template <class T>
std::vector<T> regular(std::int64_t count, std::int64_t n, unsigned seed) {
  std::vector<T> values = normal<T>(count * n * n, seed);
  for (std::int64_t i = 0; i < count * n; ++i)
    values[static_cast<std::size_t>(i * n + i % n)] += static_cast<T>(3 * n) / 2 + T(1);
  return values;
}

/// op(a)·op(b) of one matrix each.
template <class T>
std::vector<T> product(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, bool a_turned, const T* b,
                       bool b_turned) {
  std::vector<T> out(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p)
        sum += static_cast<double>(a_turned ? a[p * m + i] : a[i * k + p]) *
               static_cast<double>(b_turned ? b[j * k + p] : b[p * n + j]);
      out[static_cast<std::size_t>(i * n + j)] = static_cast<T>(sum);
    }
  return out;
}

/// Symmetric positive definite ones, with NaN above the diagonal, which must not be read.
template <class T>
std::vector<T> lower_of_positive(std::int64_t count, std::int64_t n, unsigned seed) {
  std::vector<T> values = regular<T>(count, n, seed);
  for (std::int64_t matrix = 0; matrix < count; ++matrix)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = i + 1; j < n; ++j)
        values[static_cast<std::size_t>((matrix * n + i) * n + j)] = std::numeric_limits<T>::quiet_NaN();
  return values;
}

/// Up to `bound` last places of the largest; non-finite values must be equal.
template <class T>
QString difference_in_places(double bound, const std::vector<T>& gpu, const std::vector<T>& cpu) {
  double largest = 0;
  for (const T value : cpu)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return difference_above(bound * static_cast<double>(std::numeric_limits<T>::epsilon()) * largest, gpu, cpu);
}

/// Fails the test with what is wrong and where.
#define NEAR(gpu, cpu, bound, where)                                      \
  do {                                                                    \
    const QString wrong = difference_in_places(bound, gpu, cpu);          \
    QVERIFY2(wrong.isEmpty(), qPrintable(QString(where) + ": " + wrong)); \
  } while (false)

template <class T>
QString where(const char* kernel, std::int64_t count, std::int64_t m, std::int64_t n) {
  return QString("%1 of %2 × %3 × %4 %5")
      .arg(kernel)
      .arg(count)
      .arg(m)
      .arg(n)
      .arg(QString::fromLatin1(dtype_name(dtype_of<T>())));
}

inline const kernels::FailureText text{"{o}: {i}{m} has pivot {p}, {v}", "op", "input", {}};

using From = std::vector<const void*>;
using To = std::vector<void*>;

template <class T>
struct Results {
  std::vector<std::vector<T>> cpu, gpu;
  std::optional<kernels::MatrixFailure> failure;
  QString late_error;
};
/// Calls `f(table, inputs…, outputs…)` on both: the GPU's inputs and outputs are in its memory.
template <class T, class F>
Results<T> on_both(const std::vector<std::vector<T>>& inputs, const std::vector<std::int64_t>& outputs, F f) {
  Results<T> results;
  From from;
  To to;
  for (const auto& input : inputs) from.push_back(input.data());
  for (const std::int64_t size : outputs) {
    results.cpu.emplace_back(static_cast<std::size_t>(size));
    to.push_back(results.cpu.back().data());
  }
  results.failure = f(cpu_table(), from, to);
  std::vector<std::unique_ptr<GpuValues<T>>> there;
  from.clear();
  for (const auto& input : inputs) from.push_back(there.emplace_back(new GpuValues<T>(input))->data());
  to.clear();
  for (const std::int64_t size : outputs) to.push_back(there.emplace_back(new GpuValues<T>(size))->data());
  const OnGpu gpu;
  if (f(*gpu.operator->(), from, to)) results.late_error = "told at once";
  try {
    GpuValues<T>(1).read();
  } catch (const InvalidArgumentError& error) {
    results.late_error = error.what();
  }
  for (std::size_t i = inputs.size(); i < there.size(); ++i) results.gpu.push_back(there[i]->read());
  return results;
}

/// The result of kernels without a failure.
inline std::optional<kernels::MatrixFailure> sound() {
  return {};
}

/// Calls `f.template operator()<T>(count, n)` for all sizes.
template <class F>
void for_sizes(F f) {
  // 300 rows are not batched, 33 are not decomposed by rotations.
  constexpr std::int64_t sizes[] = {0, 1, 2, 3, 17, 33, 64, 300};
  for (const std::int64_t count : batches)
    for (const std::int64_t n : sizes) {
      if (n == 300 && count > 1) continue;
      f.template operator()<float>(count, n);
      f.template operator()<double>(count, n);
      if (QTest::currentTestFailed()) return;
    }
}

}  // namespace tapedeck::cuda
