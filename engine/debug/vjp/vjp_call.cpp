#include "engine/debug/vjp/vjp_call.h"

#include <algorithm>
#include <unordered_map>

#include "engine/ops/core/run_op.h"
#include "engine/ops/elementwise/complex.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {

// One zero in the shape of many: takes no memory worth the name.
Tensor placeholder(const Recorder& recorder, const RecordedSpec& spec) {
  constexpr std::int64_t most_elements = std::int64_t{1} << 29;  // as many as a replay may make
  if (recorder.file() && element_count(spec.shape) > most_elements)
    throw ValueError("too_expensive",
                     "A tensor of shape " + to_string(spec.shape) + " is too large to look into.");
  const Tensor zero = Tensor::scalar(0.0, spec.dtype);
  Strides strides;
  for (int axis = 0; axis < spec.shape.rank(); ++axis) strides.push_back(0);
  return Tensor::view(zero.storage(), spec.dtype, spec.shape, strides, 0);
}

namespace {

enum class Wish { shape, value_if_there, value };

Tensors values_of(const Recorder& recorder, const TensorIds& ids, Wish wish, const FindTensor& find) {
  Tensors values;
  for (const std::uint64_t id : ids) {
    const auto spec = spec_of(recorder.trace().tensors().get(id).spec());
    if (wish == Wish::shape) {
      values.push_back(placeholder(recorder, spec));
      continue;
    }
    try {
      values.push_back(find(id));
    } catch (const ValueError&) {
      if (wish == Wish::value) throw;
      values.push_back(placeholder(recorder, spec));
    }
  }
  return values;
}

}  // namespace

Tensors VjpCall::run() const {
  if (custom) return custom(cotangents);
  if (in_our_ops) return in_our_ops(*this);
  return ops::run_vjp({*op, inputs, attributes, outputs, cotangents, wanted});
}

void check_result_count(const Recorder& recorder, const RecordView& forward, std::span<const Tensor> inputs) {
  const OpDef& op = *forward.head.op;
  if (!recorder.file() || op.results.fields.empty() || op.shape_of_values) return;
  if (op.shape_rule({op, inputs, forward.head.attributes, {}}).size() != forward.outputs.size())
    throw ValueError("gone",
                     "Op " + std::to_string(forward.number) + " (" + op.name +
                         ") does not have the results that the trace file says it has: the file is damaged.");
}

bool fits(const RecordView& vjp, const RecordView& forward) {
  if (vjp.head.op != forward.head.op) return false;
  const EventKind due = vjp.head.op ? EventKind::op : EventKind::custom;
  if (forward.head.kind != due || forward.state != RecordState::done) return false;
  if (!vjp.head.op) return true;
  return vjp.inputs.size() == forward.outputs.size() && vjp.outputs.size() <= forward.inputs.size();
}

SmallVector<bool, 8> wanted_gradients(const Recorder& recorder, const RecordView& vjp,
                                      const RecordView& forward) {
  SmallVector<bool, 8> wanted;
  for (std::size_t i = 0; i < forward.inputs.size(); ++i) {
    const TensorOrigin origin = recorder.trace().tensors().get(forward.inputs[i]);
    bool asked = origin.known() && is_floating(spec_of(origin.spec()).dtype);
    if (vjp.state == RecordState::done)
      asked = i < vjp.outputs.size() && vjp.outputs[i] != 0;
    else if (i < vjp.pending_wanted.size())
      asked = vjp.pending_wanted[i];
    wanted.push_back(asked);
  }
  return wanted;
}

VjpCall vjp_call(const Recorder& recorder, const RecordView& vjp, const RecordView& forward,
                 const FindTensor& find, bool for_names) {
  VjpCall call;
  call.op = forward.head.op;
  call.attributes = forward.head.attributes;
  const VjpReads reads = call.op->vjp_reads;
  const auto wish = [&](VjpReads part) {
    const bool read = reads == part || reads == VjpReads::everything;
    return read ? Wish::value : for_names ? Wish::value_if_there : Wish::shape;
  };
  call.inputs = values_of(recorder, forward.inputs, wish(VjpReads::inputs), find);
  check_result_count(recorder, forward, call.inputs);
  call.outputs = values_of(recorder, forward.outputs, wish(VjpReads::outputs), find);
  for (const std::uint64_t id : vjp.inputs) call.cotangents.push_back(id ? find(id) : Tensor());
  call.wanted = wanted_gradients(recorder, vjp, forward);
  return call;
}

namespace {

/// Ops that ran inside of the VJP, in order.
std::vector<std::uint32_t> ops_inside(const Recorder& recorder, const RecordView& vjp,
                                      const CancelFlag* cancel) {
  constexpr std::uint32_t stride = 4096;
  constexpr std::size_t most_ops = 20'000;
  std::vector<std::uint32_t> numbers;
  const std::uint32_t newest = recorder.trace().newest();
  bool beyond = false;
  for (std::uint32_t first = vjp.number + 1; first <= newest && !beyond; first += stride) {
    check_cancelled(cancel);
    recorder.trace().glance(first, std::min(newest, first + stride - 1), [&](const RecordGlance& glance) {
      if (glance.head.thread != vjp.head.thread) return;
      beyond = beyond || glance.head.depth <= vjp.head.depth;
      if (!beyond && glance.head.kind == EventKind::op && glance.state == RecordState::done)
        numbers.push_back(glance.number);
    });
    if (numbers.size() > most_ops)
      throw ValueError("too_expensive", "More than " + std::to_string(most_ops) +
                                            " ops ran in this custom gradient: its terms are not computed.");
  }
  return numbers;
}

}  // namespace

VjpCall custom_vjp_call(const Recorder& recorder, const RecordView& vjp, const RecordView& forward,
                        const FindTensor& find, const CancelFlag* cancel) {
  VjpCall call;
  call.inputs = values_of(recorder, forward.inputs, Wish::shape, find);
  // Behind the arguments come the variables that the function used: of those only the gradients are known.
  for (std::size_t i = call.inputs.size(); i < vjp.outputs.size(); ++i)
    call.inputs.push_back(vjp.outputs[i] ? values_of(recorder, {vjp.outputs[i]}, Wish::shape, find)[0]
                                         : Tensor());
  for (const std::uint64_t id : vjp.inputs) call.cotangents.push_back(id ? find(id) : Tensor());
  for (const std::uint64_t id : vjp.outputs) call.wanted.push_back(id != 0);
  call.custom = [&recorder, &find, cancel, inputs = vjp.inputs, outputs = vjp.outputs,
                 numbers = ops_inside(recorder, vjp, cancel)](std::span<const Tensor> cotangents) {
    std::unordered_map<std::uint64_t, Tensor> flow;  // what comes from the cotangents
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i]) flow.insert_or_assign(inputs[i], cotangents[i]);
    RecordView op;
    for (const std::uint32_t number : numbers) {
      check_cancelled(cancel);
      if (!recorder.trace().read(number, op)) continue;
      const bool flows =
          std::any_of(op.inputs.begin(), op.inputs.end(), [&](auto id) { return flow.contains(id); });
      if (!flows) continue;
      Tensors operands;
      for (const std::uint64_t id : op.inputs) operands.push_back(flow.contains(id) ? flow.at(id) : find(id));
      const Tensors results = run_op(*op.head.op, operands, op.head.attributes);
      for (std::size_t i = 0; i < results.size() && i < op.outputs.size(); ++i)
        flow.insert_or_assign(op.outputs[i], results[i]);
    }
    Tensors gradients;
    for (const std::uint64_t id : outputs)
      gradients.push_back(id == 0 ? Tensor() : flow.contains(id) ? flow.at(id) : find(id));
    return gradients;
  };
  return call;
}

}  // namespace tapedeck::debug
