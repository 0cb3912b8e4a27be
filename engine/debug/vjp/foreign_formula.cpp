#include "engine/debug/vjp/foreign_formula.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/debug/vjp/bound_formula.h"
#include "engine/debug/vjp/foreign_rules.h"
#include "engine/ops/core/alias.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/tape/tape.h"

namespace tapedeck::debug {
namespace {

constexpr std::int64_t longest_run_again_ns = 500'000'000;

std::vector<std::string> counterpart_inputs(const ForeignOp& op) {
  const std::string& name = op.row->name;  // "aten.add.Tensor"
  const std::size_t start = name.find('.') + 1;
  const Counterpart* counterpart =
      counterpart_of(std::string_view(name).substr(start, name.find_first_of(".#", start) - start));
  std::vector<std::string> names;
  const std::string_view inputs = counterpart ? counterpart->inputs : "";
  for (std::size_t at = 0; at < inputs.size();) {
    const std::size_t end = std::min(inputs.find(' ', at), inputs.size());
    names.emplace_back(inputs.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

/// The counterpart itself, for an op that takes the same inputs: calls that set anything have a rule, because
/// each framework names and counts its attributes in its own way.
ForeignResult counterpart_result(const ForeignOp& op, const ForeignArguments& call,
                                 const Attributes& attributes) {
  const OpDef& row = *op.counterpart;
  for (std::size_t i = 0; i < op.row->attributes.size() && i < attributes.size(); ++i)
    if (!(attributes[i] == op.row->attributes[i].fallback))
      throw NoFormula{"the call sets " + op.row->attributes[i].name + " = " + to_string(attributes[i]) +
                      ", which the formula does not have"};
  std::vector<Attribute> values;
  for (const AttributeSpec& attribute : row.attributes) {
    if (attribute.required)
      throw NoFormula{"the formula is that of " + row.name + ", which needs " + attribute.name};
    values.push_back(attribute.fallback);
  }
  Tensors inputs;
  for (const std::string& name : counterpart_inputs(op)) inputs.push_back(call.operand(name));
  if (inputs.empty() || inputs.size() != row.inputs.size())
    throw NoFormula{"the formula is that of " + row.name + ", which has other inputs"};
  if (call.outputs() != 1) throw NoFormula{"it has several results"};
  return {run_op(row, inputs, values.empty() ? Attributes() : Attributes(std::move(values)))};
}

ForeignResult result_of(const ForeignOp& op, const ForeignArguments& call, const Attributes& attributes) {
  if (const ForeignRule rule = rule_of(op)) return rule(call);
  return counterpart_result(op, call, attributes);
}

/// The schema's names of inputs and attributes, with that formula.
std::shared_ptr<const OpDef> row_with(const ForeignOp& op, std::string formula) {
  auto row = std::make_shared<OpDef>(*op.row);
  row->vjp_formula = formula.empty() ? op.row->vjp_formula : std::move(formula);
  if (op.results.size() > 1)
    for (std::size_t i = 0; i < op.results.size(); ++i)
      row->results.fields.push_back(i == 0                       ? "z"
                                    : op.results[i].name.empty() ? "result" + std::to_string(i)
                                                                 : op.results[i].name);
  return row;
}

/// On a tape of its own, so that tapes around it see how the gradients come from the cotangents.
Tensors gradients_in_our_ops(const ForeignOp& op, const VjpCall& call, std::span<const Tensor> outputs) {
  Tensors inputs, watched;
  std::vector<std::size_t> places;
  Tape tape;
  tape.start();
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    inputs.push_back(call.inputs[i]);
    if (!call.inputs[i] || !call.wanted[i]) continue;
    inputs[i] = detail::alias(call.inputs[i]);  // it may be another input, too
    tape.watch(inputs[i]);
    watched.push_back(inputs[i]);
    places.push_back(i);
  }
  const Tensors made = result_of(op, {op, call.attributes, inputs, outputs}, call.attributes).outputs;
  tape.stop();
  Tensors targets, cotangents;
  for (std::size_t k = 0; k < made.size() && k < call.cotangents.size(); ++k)
    if (call.cotangents[k]) {
      if (made[k].shape() != call.cotangents[k].shape())
        throw NoFormula{"what the formula is of gives another shape than PyTorch's op"};
      targets.push_back(made[k]);
      cotangents.push_back(call.cotangents[k]);
    }
  Tensors gradients(call.inputs.size());
  if (targets.empty() || watched.empty()) return gradients;
  const Tensors found = tape.gradient(targets, watched, cotangents, Unconnected::zero);
  for (std::size_t i = 0; i < places.size(); ++i) gradients[places[i]] = found[i];
  return gradients;
}

struct Apart {
  double most = 0;     ///< the largest difference; infinite where only one of them is finite
  double largest = 0;  ///< the recorded one's largest element
};

Apart apart(const Tensor& recorded, const Tensor& computed) {
  const std::vector<double> a = recorded.to_vector(), b = computed.to_vector();
  Apart found;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::isfinite(a[i])) found.largest = std::max(found.largest, std::abs(a[i]));
    if (a[i] == b[i]) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return {HUGE_VAL, found.largest};
    found.most = std::max(found.most, std::abs(a[i] - b[i]));
  }
  return found;
}

bool is_alike(const Apart& difference, DType dtype) {
  const std::size_t bytes = item_size(dtype);
  const double allowed = bytes >= 8 ? 1e-8 : bytes >= 4 ? 1e-4 : 2e-2;
  return difference.most <= allowed * difference.largest;
}

void check_shape(const Tensor& recorded, const Tensor& computed, const char* whose) {
  if (!computed || recorded.shape() != computed.shape())
    throw NoFormula{std::string("what Tapedeck's formula gives has another shape than PyTorch's ") + whose};
}

[[noreturn]] void has_other_numbers(const char* whose) {
  throw NoFormula{std::string("what Tapedeck's formula gives has other numbers than PyTorch's ") + whose};
}

/// Each element rounded up or down, in no order: what a sum of them makes of it is how exact the sum can be.
/// Undefined where the dtype is none of the usual ones.
Tensor shaken(const Tensor& tensor) {
  const DType dtype = tensor ? tensor.dtype() : DType::string;
  const double step = dtype == DType::float64    ? std::ldexp(1, -52)
                      : dtype == DType::float32  ? std::ldexp(1, -23)
                      : dtype == DType::float16  ? std::ldexp(1, -10)
                      : dtype == DType::bfloat16 ? std::ldexp(1, -7)
                                                 : 0;
  if (step == 0) return {};
  std::vector<double> factors(static_cast<std::size_t>(tensor.count()));
  std::minstd_rand signs(1);
  for (double& factor : factors) factor = signs() % 2 == 0 ? 1 + step : 1 - step;
  const Tensor of_each = Tensor::from_values<double>(factors, tensor.shape());
  return ops::cast(ops::cast(tensor, DType::float64) * of_each, dtype);
}

/// Whether the gradients are apart by no more than rounding explains: sums that cancel, as those of the bias
/// in front of a batch normalisation, have no exact digits.
bool is_rounding(const VjpCall& call, std::size_t place, const Tensor& computed, const Apart& difference) {
  constexpr double sums_in_another_order = 64;
  VjpCall again = call;
  for (Tensor& cotangent : again.cotangents)
    if (Tensor other = shaken(cotangent)) cotangent = other;
  return difference.most <= sums_in_another_order * apart(computed, again.run()[place]).most;
}

class FormulaFinder {
 public:
  FormulaFinder(const Recorder& recorder, const RecordView& vjp, const RecordView& forward,
                const FindTensor& find, const ForeignOp& op)
      : recorder_(recorder), vjp_(vjp), forward_(forward), find_(find), op_(op) {}

  void find(ForeignFormula& formula) {
    if (!rule_of(op_)) {
      if (!op_.counterpart) throw NoFormula{"Tapedeck has no op like it"};
      if (!op_.counterpart->vjp) throw NoFormula{"Tapedeck's " + op_.counterpart->name + " has no gradient"};
    }
    if (vjp_.state != RecordState::done && forward_.duration_ns > longest_run_again_ns)
      throw NoFormula{"the op took long, so it is not run again before its VJP has run"};
    VjpCall& call = formula.call;
    call.attributes = forward_.head.attributes;
    read_inputs(call);
    for (const std::uint64_t id : forward_.outputs) outputs_.push_back(value(id, outputs_.empty()));
    for (const std::uint64_t id : vjp_.inputs) call.cotangents.push_back(id ? find_(id) : Tensor());
    call.wanted = wanted_gradients(recorder_, vjp_, forward_);
    const ForeignResult result = result_or_lost(call);
    take_outputs(result, call);
    call.own_row = row_with(op_, result.formula);
    call.op = call.own_row.get();
    check_text(result.formula, call);
    call.in_our_ops = [&op = op_, outputs = outputs_](const VjpCall& again) {
      return gradients_in_our_ops(op, again, outputs);
    };
    if (vjp_.state == RecordState::done)
      compare_gradients(call);
    else
      compare_results(result, formula);
  }

 private:
  /// Undefined where it is lost.
  Tensor value(std::uint64_t id, bool shape_is_enough) {
    if (id == 0) return {};
    try {
      return find_(id);
    } catch (const ValueError& gone) {
      if (lost_.empty()) lost_ = gone.what();
      const TensorOrigin origin = recorder_.trace().tensors().get(id);
      if (!shape_is_enough || !origin.known()) return {};
      return placeholder(recorder_, spec_of(origin.spec()));
    }
  }

  void read_inputs(VjpCall& call) {
    const bool shapes = op_.counterpart && op_.counterpart->vjp_reads == VjpReads::shapes;
    for (const std::uint64_t id : forward_.inputs) call.inputs.push_back(value(id, shapes));
  }

  ForeignResult result_or_lost(const VjpCall& call) const {
    try {
      return result_of(op_, {op_, call.attributes, call.inputs, outputs_}, call.attributes);
    } catch (const NoFormula&) {
      if (forward_.state == RecordState::pending || forward_.state == RecordState::running)
        throw NoFormula{"the op has not run yet, and its formula needs its result"};
      if (lost_.empty()) throw;
      throw ValueError("gone", lost_);
    }
  }

  /// Those that a gradient can come to are the first ones.
  void take_outputs(const ForeignResult& result, VjpCall& call) const {
    const std::size_t count = std::min(result.outputs.size(), outputs_.size());
    for (std::size_t k = count; k < call.cotangents.size(); ++k)
      if (call.cotangents[k]) throw NoFormula{"a gradient came to its result " + std::to_string(k)};
    if (call.cotangents.size() > count) call.cotangents.resize(count);
    for (std::size_t k = 0; k < count; ++k) call.outputs.push_back(outputs_[k]);
  }

  static void check_text(const std::string& formula, const VjpCall& call) {
    if (formula.empty()) return;
    const BoundFormula bound = bind_formula(*call.op, call.inputs.size(), call.outputs.size());
    if (!bound.problems.empty()) throw NoFormula{"its text has an error: " + bound.problems.front()};
  }

  void compare_gradients(const VjpCall& call) const {
    if (std::ranges::find(call.wanted, true) == call.wanted.end())
      throw NoFormula{"PyTorch's VJP gave no gradient with which it could be compared"};
    const Tensors gradients = call.run();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!call.wanted[i]) continue;
      const Tensor recorded = find_(vjp_.outputs[i]);
      check_shape(recorded, gradients[i], "VJP");
      const Apart difference = apart(recorded, gradients[i]);
      if (!is_alike(difference, recorded.dtype()) && !is_rounding(call, i, gradients[i], difference))
        has_other_numbers("VJP");
    }
  }

  void compare_results(const ForeignResult& result, ForeignFormula& formula) const {
    for (std::size_t k = 0; k < result.outputs.size() && k < forward_.outputs.size(); ++k) {
      if (!forward_.outputs[k]) continue;
      const Tensor recorded = find_(forward_.outputs[k]);
      check_shape(recorded, result.outputs[k], "op");
      if (!is_alike(apart(recorded, result.outputs[k]), recorded.dtype())) has_other_numbers("op");
    }
    if (vjp_.number)
      formula.remark =
          "PyTorch has not run this VJP. What is foreseen is Tapedeck's formula, whose op gives PyTorch's "
          "result.";
  }

  const Recorder& recorder_;
  const RecordView &vjp_, &forward_;
  const FindTensor& find_;
  const ForeignOp& op_;
  Tensors outputs_;
  std::string lost_;
};

}  // namespace

ForeignFormula foreign_formula(const Recorder& recorder, const RecordView& vjp, const RecordView& forward,
                               const FindTensor& find) {
  ForeignFormula formula;
  const ForeignOp* op = forward.head.op ? foreign_of(*forward.head.op) : nullptr;
  const std::string start = "No formula for " + forward.name() + ": ";
  try {
    if (vjp.number && vjp.name() == "autograd.CopySlices")
      formula.problem = "No formula: the op wrote through a view, and this VJP is that of the whole tensor.";
    else if (!op || (vjp.number && vjp.head.op != forward.head.op))
      formula.problem = "The VJP is the program's own code.";
    else {
      const UnobservedScope aside;
      FormulaFinder(recorder, vjp, forward, find, *op).find(formula);
    }
  } catch (const NoFormula& none) {
    formula.problem = start + none.reason + ".";
  } catch (const ValueError& gone) {  // a value is lost
    formula.problem = start + "it cannot be compared with PyTorch. " + gone.what();
  } catch (const Error& refused) {
    formula.problem = start + "it cannot be compared with PyTorch: " + refused.what();
  }
  if (!formula.problem.empty() && op) {
    formula.call.own_row = row_with(*op, "none");
    formula.call.op = formula.call.own_row.get();
  }
  return formula;
}

}  // namespace tapedeck::debug
