#include <algorithm>
#include <cmath>
#include <complex>
#include <list>
#include <mutex>
#include <numbers>

#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"

namespace tapedeck::cpu {
namespace {

/// e^(−2πik/n), by an angle of at most an eighth of a turn: to the last digits, and exact at quarters.
std::complex<double> root_of_unity(std::int64_t k, std::int64_t n) {
  k %= n;
  if (k > n - k) return std::conj(root_of_unity(n - k, n));
  if (4 * k > n) {  // beyond a quarter: −i times what is a quarter before
    const std::complex<double> before = root_of_unity(4 * k - n, 4 * n);
    return {before.imag(), -before.real()};
  }
  if (8 * k > n) {  // beyond an eighth: from the quarter back
    const double angle = 2 * std::numbers::pi * static_cast<double>(n - 4 * k) / (4 * static_cast<double>(n));
    return {std::sin(angle), -std::cos(angle)};
  }
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), -std::sin(angle)};
}

template <class T>
void push(std::vector<T>& numbers, std::complex<double> value) {
  numbers.push_back(static_cast<T>(value.real()));
  numbers.push_back(static_cast<T>(value.imag()));
}

template <class T>
FourierPlan<T> new_plan(std::int64_t count) {
  FourierPlan<T> plan{count, {}, {}, {}};
  std::int64_t left = count, stride = 1;
  const auto add_pass = [&](std::int64_t radix) {
    const std::int64_t rest = left / radix;
    FourierPass pass{radix, rest, stride, std::ssize(plan.numbers), 0};
    for (std::int64_t p = 0; p < rest; ++p)
      for (std::int64_t k = 1; k < radix; ++k) push(plan.numbers, root_of_unity(p * k, left));
    if (radix > 5) {
      pass.roots = std::ssize(plan.numbers);
      for (std::int64_t k = 0; k < radix; ++k) push(plan.numbers, root_of_unity(k, radix));
    }
    plan.passes.push_back(pass);
    left = rest;
    stride *= radix;
  };
  for (std::int64_t radix : {4, 2, 3, 5})
    while (left % radix == 0) add_pass(radix);
  for (std::int64_t radix = 7; radix * radix <= left; radix += 2)
    while (left % radix == 0) add_pass(radix);
  if (left > 1) add_pass(left);
  for (std::int64_t k = 0; k <= count; ++k) push(plan.half_turns, root_of_unity(k, 2 * count));
  return plan;
}

template <class T>
const FourierLoops<T>& loops_for() {
  if constexpr (std::is_same_v<T, float>)
    return loops().fourier_float;
  else
    return loops().fourier_double;
}

/// Whole groups of lanes, and about 20 µs, for each block.
template <class T>
std::int64_t lines_of_block(std::int64_t count) {
  const std::int64_t lanes = loops_for<T>().lanes;
  const double cost = static_cast<double>(count) * std::log2(static_cast<double>(count) + 1) * 0.3;
  return (grain_for(cost) + lanes - 1) / lanes * lanes;
}

template <class T>
void transform_all(bool inverse, T* values, std::int64_t outer, std::int64_t count, std::int64_t inner) {
  const auto plan = fourier_plan<T>(count);
  for_blocks(outer * inner, lines_of_block<T>(count), [&](std::int64_t begin, std::int64_t end) {
    loops_for<T>().transform(*plan, inverse, values, {begin, end - begin, inner});
  });
}

template <class T>
void transform_all_real(const T* values, std::int64_t lines, std::int64_t count, T* out) {
  const auto plan = fourier_plan<T>(count % 2 == 0 ? count / 2 : count);
  for_blocks(lines, lines_of_block<T>(count), [&](std::int64_t begin, std::int64_t end) {
    loops_for<T>().transform_real(*plan, count, values + begin * count, end - begin,
                                  out + 2 * begin * (count / 2 + 1));
  });
}

}  // namespace

template <class T>
std::shared_ptr<const FourierPlan<T>> fourier_plan(std::int64_t count) {
  constexpr std::size_t most_plans = 16;
  constexpr std::int64_t longest_kept = 1 << 20;
  static std::mutex mutex;
  static auto* const plans = new std::list<std::shared_ptr<const FourierPlan<T>>>;  // the latest first
  {
    const std::lock_guard lock(mutex);
    for (auto at = plans->begin(); at != plans->end(); ++at)
      if ((*at)->count == count) {
        plans->splice(plans->begin(), *plans, at);
        return plans->front();
      }
  }
  auto plan = std::make_shared<const FourierPlan<T>>(new_plan<T>(count));
  if (count > longest_kept) return plan;
  const std::lock_guard lock(mutex);
  plans->push_front(plan);
  if (plans->size() > most_plans) plans->pop_back();
  return plan;
}
template std::shared_ptr<const FourierPlan<float>> fourier_plan(std::int64_t);
template std::shared_ptr<const FourierPlan<double>> fourier_plan(std::int64_t);

void fourier(bool inverse, DType dtype, void* values, std::int64_t outer, std::int64_t count,
             std::int64_t inner) {
  if (count <= 1) return;
  if (dtype == DType::complex64)
    transform_all(inverse, static_cast<float*>(values), outer, count, inner);
  else
    transform_all(inverse, static_cast<double*>(values), outer, count, inner);
}

void real_fourier(DType dtype, const void* values, std::int64_t lines, std::int64_t count, void* out) {
  if (dtype == DType::float32)
    transform_all_real(static_cast<const float*>(values), lines, count, static_cast<float*>(out));
  else
    transform_all_real(static_cast<const double*>(values), lines, count, static_cast<double*>(out));
}

}  // namespace tapedeck::cpu
