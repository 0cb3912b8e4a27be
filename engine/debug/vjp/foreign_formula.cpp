#include "engine/debug/vjp/foreign_formula.h"

#include <algorithm>
#include <cmath>

#include "engine/ops/core/foreign.h"
#include "engine/ops/core/ops.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

/// Why there is no formula, as far as that is an answer.
struct NoFormula {
  std::string reason;
};

std::vector<std::string> input_names(const ForeignOp& op) {
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

/// The counterpart's own: calls that set anything are not compared, because each framework names and counts
/// its attributes in its own way.
Attributes default_attributes(const ForeignOp& op, const RecordView& forward) {
  for (std::size_t i = 0; i < op.row->attributes.size() && i < forward.head.attributes.size(); ++i)
    if (!(forward.head.attributes[i] == op.row->attributes[i].fallback))
      throw NoFormula{"the call sets " + op.row->attributes[i].name + " = " +
                      to_string(forward.head.attributes[i]) + ", which the formula does not have"};
  std::vector<Attribute> values;
  for (const AttributeSpec& attribute : op.counterpart->attributes) {
    if (attribute.required)
      throw NoFormula{"the formula is that of " + op.counterpart->name + ", which needs " + attribute.name};
    values.push_back(attribute.fallback);
  }
  return values.empty() ? Attributes() : Attributes(std::move(values));
}

struct CounterpartCall {
  VjpCall call;
  std::vector<std::size_t> places;  ///< of the call's inputs among the record's
};

CounterpartCall counterpart_call(const ForeignOp& op, const RecordView& vjp, const RecordView& forward,
                                 const FindTensor& find) {
  CounterpartCall made;
  made.call.op = op.counterpart;
  made.call.attributes = default_attributes(op, forward);
  for (const std::string& name : input_names(op)) {
    const auto argument = std::ranges::find(op.arguments, name, &ForeignValue::name);
    const bool lists = std::ranges::any_of(op.arguments, &ForeignValue::is_list);
    if (argument == op.arguments.end() || !argument->is_tensor || lists)
      throw NoFormula{"the formula is that of " + op.counterpart->name + ", whose arguments are others"};
    if (argument->place >= forward.inputs.size() || !forward.inputs[argument->place])
      throw NoFormula{"it ran without " + name};
    made.places.push_back(argument->place);
    made.call.inputs.push_back(find(forward.inputs[argument->place]));
  }
  if (made.call.inputs.empty() || made.call.inputs.size() != op.counterpart->inputs.size())
    throw NoFormula{"the formula is that of " + op.counterpart->name + ", which has other inputs"};
  const Tensor out = forward.outputs.empty() || !forward.outputs[0] ? Tensor() : find(forward.outputs[0]);
  if (!out || vjp.inputs.size() != 1 || !vjp.inputs[0] || forward.outputs.size() != 1)
    throw NoFormula{"it has several results"};
  made.call.cotangents.push_back(find(vjp.inputs[0]));
  made.call.outputs.push_back(out);
  for (Tensor& input : made.call.inputs) {
    const bool number = input.rank() == 0 && input.dtype() != out.dtype();  // Python's numbers are float64
    if (number && is_floating(out.dtype())) input = ops::cast(input, out.dtype());
  }
  for (const std::size_t place : made.places)
    made.call.wanted.push_back(place < vjp.outputs.size() && vjp.outputs[place] != 0);
  return made;
}

/// The largest difference, in shares of the recorded one's largest element.
double difference(const Tensor& recorded, const Tensor& computed) {
  const std::vector<double> a = recorded.to_vector(), b = computed.to_vector();
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) {
      if (std::isfinite(a[i])) largest = std::max(largest, std::abs(a[i]));
      continue;
    }
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return HUGE_VAL;
    largest = std::max(largest, std::abs(a[i]));
    apart = std::max(apart, std::abs(a[i] - b[i]));
  }
  return apart == 0 ? 0 : largest == 0 ? HUGE_VAL : apart / largest;
}

void compare_gradients(const CounterpartCall& made, const RecordView& vjp, const FindTensor& find) {
  if (std::ranges::find(made.call.wanted, true) == made.call.wanted.end())
    throw NoFormula{"PyTorch's VJP gave no gradient with which it could be compared"};
  const Tensors gradients = made.call.run();
  for (std::size_t i = 0; i < made.places.size(); ++i) {
    if (!made.call.wanted[i]) continue;
    const Tensor recorded = find(vjp.outputs[made.places[i]]);
    if (i >= gradients.size() || !gradients[i] || gradients[i].shape() != recorded.shape())
      throw NoFormula{"the formula of " + made.call.op->name + " gives another shape than PyTorch's VJP"};
    const double allowed = item_size(recorded.dtype()) >= 4 ? 1e-4 : 2e-2;
    if (const double apart = difference(recorded, gradients[i]); !(apart <= allowed))
      throw NoFormula{"the formula of " + made.call.op->name + " gives other numbers than PyTorch's VJP"};
  }
}

}  // namespace

std::string why_no_formula(const Recorder&, const RecordView& vjp, const RecordView& forward,
                           const FindTensor& find) {
  const ForeignOp* op = forward.head.op ? foreign_of(*forward.head.op) : nullptr;
  if (vjp.name() == "autograd.CopySlices")
    return "No formula: the op wrote through a view, and this VJP is that of the whole tensor.";
  if (!op || vjp.head.op != forward.head.op) return "The VJP is the program's own code.";
  const std::string start = "No formula for " + forward.name() + ": ";
  if (!op->counterpart || !op->counterpart->vjp) return start + "Tapedeck has no op like it.";
  if (vjp.state != RecordState::done) return start + "it can be compared once PyTorch's VJP has run.";
  try {
    const QuietScope quiet;
    compare_gradients(counterpart_call(*op, vjp, forward, find), vjp, find);
    return {};
  } catch (const NoFormula& none) {
    return start + none.reason + ".";
  } catch (const tapedeck::ValueError& gone) {  // a value is lost
    return start + "it cannot be compared with PyTorch's VJP. " + gone.what();
  } catch (const Error& refused) {
    return start + "it cannot be compared with PyTorch's VJP: " + refused.what();
  }
}

}  // namespace tapedeck::debug
