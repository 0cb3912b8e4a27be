#include "engine/debug/why/zero_vjp.h"

#include <cmath>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/zero_causes.h"
#include "engine/ops/core/foreign.h"

namespace tapedeck::debug {
namespace {

/// The smallest number that has all its digits.
double smallest_of(DType dtype) {
  return dtype == DType::float64 ? 2.3e-308 : dtype == DType::float16 ? 6.2e-5 : 1.2e-38;
}

}  // namespace

std::uint64_t count_zeros(const Tensor& tensor) {
  std::uint64_t zeros = 0;
  visit_elements(tensor, [&](const auto* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) zeros += values[i] == 0;
  });
  return zeros;
}

bool VjpZeros::look() {
  const bool is_known = asked_.slot < asked_.vjp.outputs.size();
  const bool is_node = asked_.vjp.head.op && is_foreign(*asked_.vjp.head.op) && is_known;
  return is_node || asked_.call ? compare(in_wider_numbers()) : look_at_custom();
}

Tensor VjpZeros::with(Change change) {
  if (!is_foreign(*asked_.vjp.head.op)) {
    PastVjp other = *asked_.call;
    for (Tensor& cotangent : other.cotangents) cotangent = change(cotangent);
    return gradients_of(other)[asked_.slot];
  }
  Tensors cotangents;  // of a node of PyTorch's graph: what it ran, runs again
  for (const std::uint64_t id : asked_.vjp.inputs)
    cotangents.push_back(id ? change(past_.value(id)) : Tensor());
  return foreign_vjp_again(past_, memory_, asked_.vjp, cotangents, {&asked_.tensor, 1})[0];
}

bool VjpZeros::compare(const std::vector<double>& exact) {
  const Tensor gradient = past_.value(asked_.tensor);
  const std::vector<double> given = gradient.to_vector(), possible = with(&nowhere_zero).to_vector();
  const double smallest = smallest_of(gradient.dtype());
  FoundZeros swallowed{.record = &asked_.vjp,
                       .tensor = asked_.tensor,
                       .slot = asked_.slot,
                       .count = asked_.place ? 1 : given.size()};
  FoundZeros cancelled = swallowed;
  cancelled.kind = ZeroKind::cancelled;
  std::vector<double> otherwise;  // of a cotangent in other proportions
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] != 0 || (asked_.place && static_cast<std::int64_t>(i) != *asked_.place)) continue;
    ++swallowed.zeros;
    if (!exact.empty() && exact[i] != 0 && std::abs(exact[i]) < smallest) {
      ++swallowed.too_small;
      swallowed.add(i);
    } else if (possible[i] == 0) {  // also where its slope was rounded to zero
      if (otherwise.empty()) otherwise = with(&in_other_proportions).to_vector();
      FoundZeros& of = otherwise[i] != 0 && !std::isnan(otherwise[i]) ? cancelled : swallowed;
      ++of.swallowed;
      of.add(i);
    }
  }
  cancelled.zeros = swallowed.zeros;
  const bool all = swallowed.zeros == swallowed.swallowed + swallowed.too_small + cancelled.swallowed;
  for (FoundZeros* one : {&swallowed, &cancelled})
    if (one->swallowed + one->too_small > 0) found.push_back(std::move(*one));
  return all;
}

/// Empty where they cannot be had.
std::vector<double> VjpZeros::in_wider_numbers() const {
  if (!asked_.call || asked_.call->inputs.empty() || asked_.call->cotangents.empty() ||
      !asked_.call->cotangents[0] || asked_.call->cotangents[0].dtype() == DType::float64)
    return {};
  try {
    const Tensor exact = gradients_of(in_float64(*asked_.call))[asked_.slot];
    return exact ? exact.to_vector() : std::vector<double>();
  } catch (const Error&) {  // it has no kernel for these dtypes together
    return {};
  }
}

/// The user's gradient, whose ops say nothing about what it could have been: it counts where all came out
/// zero of something that was not.
bool VjpZeros::look_at_custom() {
  const Tensor gradient = past_.value(asked_.tensor);
  const std::uint64_t zeros = count_zeros(gradient);
  bool any = false;
  for (const std::uint64_t id : asked_.vjp.inputs)
    if (id) {
      const Tensor cotangent = past_.value(id);
      any = any || count_zeros(cotangent) < static_cast<std::uint64_t>(cotangent.count());
    }
  if (zeros < static_cast<std::uint64_t>(gradient.count()) || !any) return false;
  found.push_back({.record = &asked_.vjp,
                   .tensor = asked_.tensor,
                   .count = static_cast<std::size_t>(zeros),
                   .zeros = zeros,
                   .swallowed = zeros,
                   .places = {0}});
  return true;
}

}  // namespace tapedeck::debug
