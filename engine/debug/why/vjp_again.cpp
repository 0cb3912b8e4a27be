#include "engine/debug/why/vjp_again.h"

#include <algorithm>
#include <memory>

#include "engine/debug/vjp/vjp_call.h"
#include "engine/debug/why/foreign_path.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/elementwise/complex.h"

namespace tapedeck::debug {

bool can_differentiate(const OpDef& op) {
  return op.vjp || is_foreign(op);
}

std::optional<PastVjp> vjp_call(Past& past, const RecordView& vjp) {
  const RecordView* forward = past.record(vjp.head.forward);
  // A Function of a PyTorch program has another op than its forward record.
  if (!forward || !forward->head.op || forward->head.op != vjp.head.op ||
      !can_differentiate(*forward->head.op) || vjp.head.custom_gradient ||
      forward->inputs.size() != vjp.outputs.size())
    return std::nullopt;
  if (past.recorder().file() && !fits(vjp, *forward)) return std::nullopt;
  PastVjp call;
  call.op = forward->head.op;
  call.attributes = forward->head.attributes;
  call.inputs = past.inputs(*forward);
  check_result_count(past.recorder(), *forward, call.inputs);
  for (const std::uint64_t id : forward->outputs) call.outputs.push_back(id ? past.value(id) : Tensor());
  for (const std::uint64_t id : vjp.inputs) call.cotangents.push_back(id ? past.value(id) : Tensor());
  for (const std::uint64_t id : vjp.outputs) call.given.push_back(id != 0);
  return call;
}

Tensors gradients_of(const PastVjp& call) {
  const QuietScope quiet;
  const auto wanted = std::make_unique<bool[]>(call.given.size());
  for (std::size_t i = 0; i < call.given.size(); ++i) wanted[i] = call.given[i];
  const std::span<const bool> asked(wanted.get(), call.given.size());
  if (is_foreign(*call.op))
    return foreign_gradients({*call.op, call.inputs, call.attributes, call.outputs, call.cotangents, asked});
  return ops::run_vjp({*call.op, call.inputs, call.attributes, call.outputs, call.cotangents, asked});
}

namespace {

/// What comes of other cotangents in a VJP, op by op.
class OtherFlow {
 public:
  OtherFlow(Past& past, WrittenMemory& memory) : past_(past), memory_(memory) {}

  void set(std::uint64_t tensor, const Tensor& value) { values_.insert_or_assign(tensor, value); }

  /// Undefined where the tensor is what it was.
  Tensor other(std::uint64_t tensor) {
    if (tensor == 0) return {};
    if (const auto found = values_.find(tensor); found != values_.end()) return found->second;
    const std::vector<ElementSource> sources = memory_.sources(tensor);
    if (std::none_of(sources.begin(), sources.end(),
                     [&](const ElementSource& source) { return bool(other(source.tensor)); }))
      return {};
    const Tensor made = memory_.with_other_sources(tensor, past_.value(tensor),
                                                   [&](std::uint64_t source) { return other(source); });
    set(tensor, made);
    return made;
  }

  Tensor now(std::uint64_t tensor) {
    if (tensor == 0) return {};
    Tensor value = other(tensor);
    return value ? value : past_.value(tensor);
  }

 private:
  Past& past_;
  WrittenMemory& memory_;
  std::unordered_map<std::uint64_t, Tensor> values_;
};

}  // namespace

Tensors foreign_vjp_again(Past& past, WrittenMemory& memory, const RecordView& vjp,
                          std::span<const Tensor> cotangents, std::span<const std::uint64_t> wanted) {
  OtherFlow flow(past, memory);
  for (std::size_t i = 0; i < std::min(vjp.inputs.size(), cotangents.size()); ++i)
    if (vjp.inputs[i] && cotangents[i]) flow.set(vjp.inputs[i], cotangents[i]);
  for (const std::uint32_t number : records_inside(past, vjp)) {
    const RecordView* op = past.record(number);
    if (!op || op->head.kind != EventKind::op) continue;
    if (const ForeignOp* foreign = foreign_op_of(*op); foreign && foreign->reads_shapes_alone) continue;
    if (std::none_of(op->inputs.begin(), op->inputs.end(), [&](auto id) { return bool(flow.other(id)); }))
      continue;
    Tensors operands;
    for (const std::uint64_t id : op->inputs) operands.push_back(flow.now(id));
    const Tensors results = replay_op(*op->head.op, operands, op->head.attributes);
    for (std::size_t i = 0; i < std::min(results.size(), op->outputs.size()); ++i)
      if (op->outputs[i]) flow.set(op->outputs[i], results[i]);
  }
  Tensors gradients;
  if (wanted.empty()) wanted = {vjp.outputs.data(), vjp.outputs.size()};
  for (const std::uint64_t id : wanted) gradients.push_back(flow.now(id));
  return gradients;
}

Tensor in_dtype(const Tensor& tensor, DType dtype) {
  const QuietScope quiet;
  return ops::cast(tensor, dtype);
}

Tensor to_float64(const Tensor& tensor) {
  if (!tensor || !is_floating(tensor.dtype()) || tensor.dtype() == DType::float64) return tensor;
  return in_dtype(tensor, DType::float64);
}

Attributes to_float64(const Attributes& attributes) {
  std::vector<Attribute> values;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    values.push_back(attributes[i]);
    if (auto* dtype = std::get_if<DType>(&values.back()); dtype && is_floating(*dtype))
      *dtype = DType::float64;
  }
  return Attributes(std::move(values));
}

PastVjp in_float64(const PastVjp& call) {
  PastVjp wide = call;
  wide.attributes = to_float64(call.attributes);
  for (Tensor& input : wide.inputs) input = to_float64(input);
  for (Tensor& cotangent : wide.cotangents) cotangent = to_float64(cotangent);
  wide.outputs = replay_op(*call.op, wide.inputs, wide.attributes);
  return wide;
}

}  // namespace tapedeck::debug
