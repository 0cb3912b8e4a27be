#include "engine/graph/run.h"

#include "engine/ops/core/observer.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/core/tracer.h"
#include "engine/ops/random/random_state.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/tensor/error.h"

namespace tapedeck::graph {
namespace {

/// Somebody wants to see each op, or the ways of run_op differ from the plain one.
bool needs_run_op() {
  const detail::ThreadState& thread = detail::thread_state;
  return current_observer() || thread.detours != 0 || (thread.recording != 0 && thread.quiet == 0) ||
         gpu_count() > 0;
}

/// The attributes of this run: a random op goes on in its sequence.
Attributes drawn(const Node& node, std::span<const Tensor> inputs) {
  std::vector<Attribute> values;
  for (std::size_t i = 0; i < node.attributes.size(); ++i) values.push_back(node.attributes[i]);
  resolve_random(*node.op, values, inputs);
  return Attributes(std::move(values));
}

}  // namespace

Executable::Executable(Graph graph) : graph_(std::move(graph)), last_read_by_(graph_.nodes.size()) {
  for (const Node& node : graph_.nodes) {
    first_slots_.push_back(slots_);
    slots_ += node.results.size();
  }
  const auto slot_of = [&](Value value) {
    return first_slots_[static_cast<std::size_t>(value.node)] + static_cast<std::size_t>(value.result);
  };
  constexpr std::size_t never = SIZE_MAX;
  std::vector<std::size_t> last(slots_, never);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    // A result that nothing reads goes at once.
    for (std::size_t result = 0; result < graph_.nodes[i].results.size(); ++result)
      last[first_slots_[i] + result] = i;
    for (const Value input : graph_.nodes[i].inputs) last[slot_of(input)] = i;
  }
  for (const Value result : graph_.results) last[slot_of(result)] = never;
  for (std::size_t slot = 0; slot < slots_; ++slot)
    if (last[slot] != never) last_read_by_[last[slot]].push_back(slot);
}

void Executable::check(std::span<const Tensor> arguments) const {
  const std::size_t wanted = graph_.arguments + graph_.captured.size();
  if (arguments.size() != wanted)
    fail<InvalidArgumentError>(graph_.name, ": takes ", wanted, " tensors, got ", arguments.size());
  for (std::size_t i = 0; i < wanted; ++i) {
    const Node& parameter = graph_.nodes[i];
    const TensorSpec& spec = parameter.results[0];
    if (!arguments[i]) fail<InvalidArgumentError>(graph_.name, ": ", parameter.name, " is undefined");
    if (arguments[i].is_symbolic() && !current_tracer())
      fail<InvalidArgumentError>(graph_.name, ": ", parameter.name,
                                 " belongs to the trace of a graph function, which has ended");
    if (arguments[i].dtype() != spec.dtype || arguments[i].shape() != spec.shape)
      fail<InvalidArgumentError>(graph_.name, ": ", parameter.name, " is ", dtype_name(arguments[i].dtype()),
                                 " ", to_string(arguments[i].shape()), "; it was traced for ",
                                 dtype_name(spec.dtype), " ", to_string(spec.shape));
  }
}

Tensors Executable::run_node(const Node& node, std::span<const Tensor> inputs, bool attended) const {
  switch (node.kind) {
    case NodeKind::parameter:
      break;  // given
    case NodeKind::constant:
      return Tensors(1, node.constant);
    case NodeKind::read:
      return Tensors(1, node.variable->read());
    case NodeKind::assign: {
      const LocationScope location(node.location);
      Variable(*node.variable).assign(inputs[0]);
      return {};
    }
    case NodeKind::op: {
      const Attributes& attributes = node.draws ? drawn(node, inputs) : node.attributes;
      if (!attended) return detail::compute_checked({*node.op, inputs, attributes, node.results, {}});
      const LocationScope location(node.location);
      const WholeScope scope(node.scope);
      if (!node.device) return run_op(*node.op, inputs, attributes);
      const DeviceScope device(node.device);
      return run_op(*node.op, inputs, attributes);
    }
  }
  return {};
}

Tensors Executable::operator()(std::span<const Tensor> arguments) const {
  check(arguments);
  const bool attended = needs_run_op();
  std::vector<Tensor> values(slots_);
  for (std::size_t i = 0; i < arguments.size(); ++i) values[first_slots_[i]] = arguments[i];
  Tensors inputs;
  for (std::size_t i = arguments.size(); i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    inputs.clear();
    for (const Value input : node.inputs)
      inputs.push_back(values[first_slots_[static_cast<std::size_t>(input.node)] +
                              static_cast<std::size_t>(input.result)]);
    Tensors results = run_node(node, inputs, attended);
    for (std::size_t result = 0; result < results.size(); ++result)
      values[first_slots_[i] + result] = std::move(results[result]);
    for (const std::size_t slot : last_read_by_[i]) values[slot] = {};
  }
  Tensors results;
  for (const Value result : graph_.results)
    results.push_back(values[first_slots_[static_cast<std::size_t>(result.node)] +
                             static_cast<std::size_t>(result.result)]);
  return results;
}

}  // namespace tapedeck::graph
