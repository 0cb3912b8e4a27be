// Calls of every differentiable op at which derivatives can be compared, for tests of gradients and of
// forward mode: at the test rows' own shapes and at random ones. An op that was not checked often enough
// fails.
#pragma once

#include <functional>
#include <limits>
#include <set>
#include <string>

#include "engine/ops/elementwise/complex.h"
#include "tests/campaign.h"
#include "tests/engine/ops/random_calls.h"
#include "tests/engine/ops/random_shapes.h"

namespace tapedeck::testing {

constexpr std::int64_t few = 40, many = 400;  // elements: differences take a run of the gradient for each
constexpr std::uint64_t most_tries = 1000;    // per valid call: few are if a list must fit two shapes
constexpr std::uint64_t fewest_calls = 5;     // of an op that accepts only real numbers

/// Points where an op need not be smooth, or rounding is larger than the differences.
inline bool any_edge(const Tensors& tensors) {
  for (const Tensor& tensor : tensors)
    if (is_floating(tensor.dtype()))
      for (const double value : tensor.to_vector())
        if (!std::isfinite(value) || (value != 0 && std::abs(value) < 1e-3) || std::abs(value) > 100)
          return true;
  return false;
}

inline std::int64_t elements_of(const Tensors& tensors) {
  std::int64_t count = 0;
  for (const Tensor& tensor : tensors) count += tensor.count();
  return count;
}

/// The call with complex numbers instead of real ones; for a dtype attribute, each combination. The op need
/// not accept them.
inline std::vector<Call> complex_calls(const Row& row, const Call& call, Random& random) {
  std::uniform_real_distribution<double> size(0.1, 0.5);
  std::vector<Call> calls(1, call);
  bool any = false;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& input = call.inputs[i];
    if (input.dtype() != DType::float64 || row.constants.contains(i)) continue;
    std::vector<double> parts(static_cast<std::size_t>(input.count()));
    for (double& part : parts) part = random() % 2 == 0 ? size(random) : -size(random);
    calls[0].inputs[i] = ops::complex(input, Tensor::from_values<double>(parts, input.shape()));
    any = true;
  }
  if (!any) return {};
  for (std::size_t k = 0; k < call.attributes.size(); ++k)
    if (const auto* dtype = std::get_if<DType>(&call.attributes[k]); dtype && *dtype == DType::float64) {
      for (const Call& with : {call, calls[0]}) {
        calls.push_back(with);
        calls.back().attributes[k] = DType::complex128;
      }
      break;
    }
  return calls;
}

/// Whether the op accepts the call, and returns something that has a gradient.
inline bool takes(const OpDef& op, const Call& call) {
  try {
    for (const Tensor& output : run_call(op, call))
      if (is_differentiable(output.dtype())) return true;
  } catch (const Error&) {
  }
  return false;
}

/// A complex tensor from pairs of real numbers along the last axis; differentiable.
inline Tensor complex_of_pairs(const Tensor& pairs) {
  const Tensors parts = ops::unstack(pairs, -1);
  return ops::complex(parts[0], parts[1]);
}

/// The op as a function of its float64 inputs, and of the parts of its complex128 ones, with only its results
/// of these dtypes: positions have no gradient.
struct RealFunction {
  Tensors variables;
  TensorsFunction f;

  RealFunction(const OpDef& op, const Row& row, const Call& call) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
      if (call.inputs[i].dtype() == DType::float64 && !row.constants.contains(i)) {
        variables.push_back(call.inputs[i]);
        places.push_back(i);
      } else if (call.inputs[i].dtype() == DType::complex128) {
        variables.push_back(ops::pairs_view(call.inputs[i].make_contiguous()));
        places.push_back(i);
      }
    f = [&op, &row, call, places](std::span<const Tensor> values) {
      Tensors inputs = call.inputs, given;
      for (std::size_t i = 0; i < places.size(); ++i)
        given.push_back(is_complex(call.inputs[places[i]].dtype()) ? complex_of_pairs(values[i]) : values[i]);
      const Tensors prepared = row.prepare        ? row.prepare(span_of(given))
                               : row.prepare_call ? row.prepare_call(span_of(given), call)
                                                  : given;
      for (std::size_t i = 0; i < places.size(); ++i) inputs[places[i]] = prepared[i];
      Tensors real;
      for (const Tensor& output : run_op(op, span_of(inputs), Attributes(call.attributes))) {
        if (output.dtype() == DType::float64) real.push_back(output);
        if (output.dtype() != DType::complex128) continue;
        real.push_back(ops::real(output));
        real.push_back(ops::imag(output));
      }
      return real;
    };
  }
};

/// False at a kink or a jump, such as two equal elements of a maximum: one-sided differences disagree there.
inline bool is_smooth(const RealFunction& function, Random& random) {
  constexpr double step = 1e-6;
  const Tensors outputs = function.f(span_of(function.variables));
  Tensors weights;
  for (const Tensor& output : outputs) weights.push_back(random_tensor(random, output.shape()));
  const double here = weighted_sum(outputs, weights);
  for (std::size_t k = 0; k < function.variables.size(); ++k)
    for (std::int64_t i = 0; i < function.variables[k].count(); ++i) {
      const auto to_side = [&](double change) {
        Tensors point = function.variables;
        point[k] = nudged(point[k], static_cast<std::size_t>(i), change);
        return (weighted_sum(function.f(span_of(point)), weights) - here) / change;
      };
      const double right = to_side(step), left = to_side(-step);
      if (!(std::abs(right - left) <= 1e-3 * (1 + std::abs(right)))) return false;
    }
  return true;
}

/// Whether there are derivatives to compare at the call: the op accepts it, it is small, and smooth there.
/// Random draws with gradients of their distribution need not be smooth.
inline bool has_derivatives(const RealFunction& function, const Row& row, const Call& call,
                            std::int64_t most_elements, Random& random) {
  try {
    if (elements_of(call.inputs) > most_elements || any_edge(call.inputs)) return false;
    const Tensors outputs = function.f(span_of(function.variables));
    const std::int64_t count = elements_of(outputs);
    if (count == 0 || count > most_elements || elements_of(function.variables) == 0) return false;
    for (const Tensor& output : outputs)
      for (const double value : output.to_vector())
        if (!(std::abs(value) < 100)) return false;
    return !row.gradients_tested_in.empty() || is_smooth(function, random);
  } catch (const Error&) {
    return false;
  }
}

/// What is wrong with the derivatives of the row's op, as a function of float64 tensors, at the inputs; or
/// empty.
using DerivativeCheck =
    std::function<std::string(const Row& row, const TensorsFunction& f, const Tensors& inputs, Random&)>;

/// Checks calls of one op, and remembers which.
class Checker {
 public:
  Checker(const OpDef& op, const Row& row, const DerivativeCheck& check)
      : op_(op), row_(row), check_(check) {}

  /// What is wrong with the derivatives at the call, or at the same call with complex numbers; or empty.
  std::string check(const Call& call, Random& random, std::int64_t most_elements) {
    std::string wrong = check_one(call, random, most_elements, calls_);
    if (!wrong.empty() || !may_be_complex_) return wrong;
    bool taken = false;
    for (const Call& other : complex_calls(row_, call, random)) {
      if (!takes(op_, other)) continue;
      takes_complex_ = taken = true;
      wrong = check_one(other, random, most_elements, complex_calls_);
      if (!wrong.empty()) return wrong;
    }
    // Most ops accept none: the first calls show that.
    may_be_complex_ = takes_complex_ || taken || ++refused_ < enough_refusals;
    return {};
  }
  /// The number of different calls that had derivatives to compare.
  std::size_t checked() const { return calls_.size(); }
  /// For an op that accepts complex numbers, the number of such calls with them; for others, the maximum.
  std::size_t checked_with_complex() const {
    return takes_complex_ ? complex_calls_.size() : std::numeric_limits<std::size_t>::max();
  }

 private:
  static constexpr int enough_refusals = 20;

  std::string check_one(const Call& call, Random& random, std::int64_t most_elements,
                        std::set<std::string>& calls) const {
    const RealFunction function(op_, row_, call);
    if (!has_derivatives(function, row_, call, most_elements, random)) return {};
    try {
      const std::string wrong = check_(row_, function.f, function.variables, random);
      calls.insert(description(op_, call));
      return wrong.empty() ? wrong : description(op_, call) + ": " + wrong;
    } catch (const UnimplementedError&) {  // factors that are not unique have no gradient, and say so
      return {};
    }
  }

  const OpDef& op_;
  const Row& row_;
  const DerivativeCheck& check_;
  std::set<std::string> calls_, complex_calls_;
  bool may_be_complex_ = true, takes_complex_ = false;
  int refused_ = 0;
};

/// One check of the derivatives of all ops.
struct DerivativeTest {
  DerivativeCheck check;
  Campaign random_calls;

  /// What is wrong with the registry's differentiable ops, or empty; `check_op(op, row)` checks one.
  template <class Check>
  std::string failures_of_ops(Check check_op) const {
    std::string failures;
    for (std::size_t i = 0; i < Registry::instance().size(); ++i) {
      const OpDef& op = Registry::instance().at(static_cast<int>(i));
      if (!op.vjp) continue;
      const Row* row = row_of(op.name);
      std::string wrong = "no test row";
      try {
        if (row) wrong = check_op(op, *row);
      } catch (const std::exception& error) {
        wrong = std::string("threw ") + error.what();
      }
      if (!wrong.empty()) failures += op.name + ": " + wrong + "\n";
    }
    return failures;
  }

  std::string at_the_rows_shapes(const OpDef& op, const Row& row) const {
    Checker checker(op, row, check);
    // Once each; and again if by chance none had derivatives to compare.
    const auto checked = [&] { return std::min(checker.checked(), checker.checked_with_complex()); };
    for (std::size_t k = 0; k < row.calls.size() || (k < 10 * row.calls.size() && checked() == 0); ++k) {
      auto random = random_calls.random<Random>(static_cast<std::uint32_t>(k));
      const std::string wrong = checker.check(row.calls[k % row.calls.size()](random), random, many);
      if (!wrong.empty()) return "call " + std::to_string(k) + ", " + wrong;
    }
    if (checker.checked() == 0) return "not checked: no call of its row has derivatives to compare";
    return checked() > 0 ? "" : "takes complex numbers, and was not checked with them";
  }

  std::string at_random_shapes(const OpDef& op, const Row& row) const {
    Checker checker(op, row, check);
    const std::uint64_t calls = random_calls.count();
    const std::uint64_t first = random_calls.random<Random>()() % row.calls.size();
    for (std::uint64_t k = 0; k < most_tries * calls && checker.checked() < calls; ++k) {
      auto random = random_calls.random<Random>(static_cast<std::uint32_t>(k));
      const Call pattern = row.calls[(first + k) % row.calls.size()](random);
      if (any_edge(pattern.inputs)) continue;
      const std::string wrong = checker.check(ShapeChanger(row, random).change(pattern), random, few);
      if (!wrong.empty()) return "call " + std::to_string(k) + ", " + wrong;
    }
    if (checker.checked() >= std::min(calls, fewest_calls) && checker.checked_with_complex() > 0) return {};
    if (checker.checked() >= std::min(calls, fewest_calls))
      return "takes complex numbers, and no random call was checked with them";
    return "only " + std::to_string(checker.checked()) + " random calls had derivatives to compare";
  }
};

}  // namespace tapedeck::testing
