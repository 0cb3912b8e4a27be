#include "engine/debug/compare/value_difference.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "engine/backend/backend.h"
#include "engine/ops/core/narrow_values.h"
#include "engine/record/values/device_values.h"
#include "engine/tensor/foreign_devices.h"
#include "engine/tensor/strings.h"

namespace tapedeck::debug {
namespace {

constexpr double infinitely_far = std::numeric_limits<double>::infinity();

template <class T>
constexpr bool is_complex_number = false;
template <class T>
constexpr bool is_complex_number<std::complex<T>> = true;

template <class T>
auto widened_number(T value) {
  if constexpr (is_complex_number<T>)
    return std::complex<double>(value);
  else
    return static_cast<double>(value);
}

bool not_a_number(double value) {
  return std::isnan(value);
}
bool not_a_number(const std::complex<double>& value) {
  return std::isnan(value.real()) || std::isnan(value.imag());
}

struct Distance {
  double absolute = 0, largest = 0;
};

/// Of two numbers that are not the same; what is not finite is infinitely far from everything else.
template <class A, class B>
Distance distance_between(A left, B right) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    // Differences of 64 bits: to the last digit, also where both round to one double.
    const auto l = static_cast<long double>(left), r = static_cast<long double>(right);
    return {static_cast<double>(std::fabs(l - r)), static_cast<double>(std::max(std::fabs(l), std::fabs(r)))};
  } else {
    const auto l = widened_number(left);
    const auto r = widened_number(right);
    const double absolute = std::abs(l - r);
    return {std::isfinite(absolute) ? absolute : infinitely_far, std::max(std::abs(l), std::abs(r))};
  }
}

template <class A, class B>
bool same_number(A left, B right) {
  if constexpr (std::is_same_v<A, B>) {
    if (left == right) return true;
  } else if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    if (static_cast<long double>(left) == static_cast<long double>(right)) return true;
  } else {
    if (widened_number(left) == widened_number(right)) return true;
  }
  if constexpr (std::is_integral_v<A> || std::is_integral_v<B>)
    return false;
  else
    return not_a_number(widened_number(left)) && not_a_number(widened_number(right));
}

template <class A, class B>
void compare_elements(const A* left, const B* right, std::int64_t count, const Tolerance& tolerance,
                      const CancelFlag* cancel, ValueDifference& found) {
  for (std::int64_t i = 0; i < count; ++i) {
    if ((i & 0xfffff) == 0) check_cancelled(cancel);
    if (same_number(left[i], right[i])) continue;
    const Distance far = distance_between(left[i], right[i]);
    if (std::isfinite(far.absolute) && far.absolute <= tolerance.absolute + tolerance.relative * far.largest)
      continue;
    ++found.differing;
    const double relative =
        std::isfinite(far.absolute) && far.largest > 0 ? far.absolute / far.largest : infinitely_far;
    found.max_relative = std::max(found.max_relative, relative);
    if (found.place < 0 || far.absolute > found.max_absolute) {
      found.max_absolute = far.absolute;
      found.place = i;
    }
  }
}

/// Calls `f` with the elements as a type that C++ computes with; they are contiguous.
template <class F>
void visit_numbers(const Tensor& tensor, F&& f) {
  switch (tensor.dtype()) {
    case DType::uint64:
      return f(tensor.data<std::uint64_t>());
    case DType::complex64:
      return f(tensor.data<std::complex<float>>());
    case DType::complex128:
      return f(tensor.data<std::complex<double>>());
    default:
      return visit_dtype(tensor.dtype(), [&](auto tag) { f(tensor.data<typename decltype(tag)::type>()); });
  }
}

Tensor plain_numbers(const Tensor& tensor) {
  return (is_narrow(tensor.dtype()) ? ops::widen(tensor) : tensor).on_host().make_contiguous();
}

/// By the GPU that has both: a few numbers come here. False where it does not know them.
bool compare_there(const Tensor& left, const Tensor& right, const Tolerance& tolerance,
                   ValueDifference& found) {
  if (!is_inspected_there(left) || is_foreign(left.device()) || left.device() != right.device() ||
      left.dtype() != right.dtype())
    return false;
  const Tensor l = in_kernel_dtype_there(left), r = in_kernel_dtype_there(right);
  std::vector<kernels::BlockDifference> blocks(
      static_cast<std::size_t>(kernels::inspected_blocks(l.count())));
  backend(l.device())
      .differences(l.device().index, l.dtype(), l.raw(), r.raw(), l.count(),
                   {tolerance.absolute, tolerance.relative}, blocks.data());
  for (const kernels::BlockDifference& block : blocks) {
    found.differing += static_cast<std::uint64_t>(block.differing);
    found.max_relative = std::max(found.max_relative, block.relative);
    if (block.place < 0 || (found.place >= 0 && block.absolute <= found.max_absolute)) continue;
    found.max_absolute = block.absolute;
    found.place = block.place;
  }
  return true;
}

void compare_strings(const Tensor& left, const Tensor& right, ValueDifference& found) {
  const auto l = strings_of(left), r = strings_of(right);
  for (std::size_t i = 0; i < l.size(); ++i) {
    if (l[i] == r[i]) continue;
    if (found.differing++ == 0) found.place = static_cast<std::int64_t>(i);
    found.max_absolute = infinitely_far;
  }
}

}  // namespace

ValueDifference compare_values(const Tensor& left, const Tensor& right, const Tolerance& tolerance,
                               const CancelFlag* cancel) {
  ValueDifference found;
  const bool texts = left.dtype() == DType::string;
  if (left.shape() != right.shape() || texts != (right.dtype() == DType::string)) {
    found.comparable = false;
    return found;
  }
  found.count = static_cast<std::uint64_t>(left.count());
  if (left.same_body(right)) return found;
  if (texts) {
    compare_strings(left, right, found);
    return found;
  }
  if (compare_there(left, right, tolerance, found)) return found;
  const Tensor l = plain_numbers(left), r = plain_numbers(right);
  visit_numbers(l, [&](const auto* a) {
    visit_numbers(r, [&](const auto* b) { compare_elements(a, b, l.count(), tolerance, cancel, found); });
  });
  return found;
}

}  // namespace tapedeck::debug
