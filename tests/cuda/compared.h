// Values on a device, compared with the CPU's, which are the reference.
#pragma once

#include <QtTest>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/cuda/gpu_values.h"

namespace tapedeck::cuda {

/// The kernels of the first GPU. The calling thread's ops also run there from now on.
inline const Backend& gpu() {
  thread_local const tapedeck::OnGpu there;
  return *there.operator->();
}

/// Normal numbers, the same for the same seed.
template <class T>
std::vector<T> normal_numbers(std::int64_t count, unsigned seed, double deviation = 1.0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> numbers(0.0, deviation);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(numbers(random));
  return values;
}
/// 1 where a mask is true, mostly.
inline std::vector<std::uint8_t> mask_of(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> values(static_cast<std::size_t>(count));
  for (std::uint8_t& value : values) value = random() % 4 != 0;
  return values;
}

/// Empty if all are bit-identical; else the first that is not. All NaN are equal.
template <class T>
std::string unequal(const std::vector<T>& cpu, const std::vector<T>& gpu) {
  if (cpu.size() != gpu.size()) return "sizes differ";
  for (std::size_t i = 0; i < cpu.size(); ++i)
    if (!same_bits(cpu[i], gpu[i]))
      return "value " + std::to_string(i) + " of " + std::to_string(cpu.size()) + " is " +
             std::to_string(gpu[i]) + ", not " + std::to_string(cpu[i]);
  return {};
}

/// The same with a tolerance of `bound` times their size and the size of all (the root of the mean square),
/// because sums have the error of their terms.
template <class T>
std::string far(const std::vector<T>& cpu, const std::vector<T>& gpu, double bound) {
  if (cpu.size() != gpu.size()) return "sizes differ";
  double squares = 0;
  std::size_t finite = 0;
  for (const T value : cpu)
    if (std::isfinite(value)) squares += static_cast<double>(value) * static_cast<double>(value), ++finite;
  const double size = finite == 0 ? 0 : std::sqrt(squares / static_cast<double>(finite));
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    if (same_bits(cpu[i], gpu[i])) continue;
    const double distance = std::fabs(static_cast<double>(cpu[i]) - static_cast<double>(gpu[i]));
    if (!(distance <= bound * (std::fabs(static_cast<double>(cpu[i])) + size)))
      return "value " + std::to_string(i) + " of " + std::to_string(cpu.size()) + " is " +
             std::to_string(gpu[i]) + ", not " + std::to_string(cpu[i]) + ": " +
             std::to_string(distance / size) + " of the size of all";
  }
  return {};
}
/// The accuracy of sums of products: about a hundred times the dtype's precision.
template <class T>
constexpr double sum_bound = sizeof(T) == 4 ? 2e-5 : 1e-13;

/// Fails the test with what is wrong and where.
#define SAME(text, where)                                                 \
  do {                                                                    \
    const std::string wrong = (text);                                     \
    QVERIFY2(wrong.empty(), (std::string(where) + ": " + wrong).c_str()); \
  } while (false)

/// Calls `on_cpu(pointers)` and, twice, `on_gpu(pointers)` with results of these sizes; the second run must
/// be bit-identical.
template <class T, class OnCpu, class Kernel>
void compare_results(const std::string& where, double bound, const std::vector<std::int64_t>& sizes,
                     OnCpu&& on_cpu, Kernel&& on_gpu) {
  std::vector<std::vector<T>> expected;
  std::vector<std::unique_ptr<GpuValues<T>>> first, again;
  std::vector<T*> to, first_to, again_to;
  for (const std::int64_t size : sizes) {
    expected.emplace_back(static_cast<std::size_t>(size));
    for (auto* of : {&first, &again}) of->push_back(std::make_unique<GpuValues<T>>(size));
    first_to.push_back(first.back()->data());
    again_to.push_back(again.back()->data());
  }
  for (auto& of : expected) to.push_back(of.data());
  on_cpu(to);
  on_gpu(first_to);
  on_gpu(again_to);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string which = where + ", result " + std::to_string(i);
    SAME(unequal(first[i]->read(), again[i]->read()), "again, " + which);
    SAME(far(expected[i], first[i]->read(), bound), which);
  }
}

}  // namespace tapedeck::cuda
