#include "engine/graph/run.h"

#include <map>
#include <tuple>

#include "engine/graph/calls.h"
#include "engine/graph/control.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/core/tracer.h"
#include "engine/ops/random/random_state.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/tensor/error.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::graph {
namespace {

/// Somebody wants to see each op, or the ways of run_op differ from the plain one.
bool needs_run_op() {
  const detail::ThreadState& thread = detail::thread_state;
  return current_observer() || thread.detours != 0 || (thread.recording != 0 && thread.quiet == 0) ||
         gpu_count() > 0;
}

thread_local std::uint32_t failed_location = 0;

/// By the number of the node that drew: key and counter.
using Draws = std::map<std::int32_t, std::pair<Attribute, Attribute>>;

/// The attributes of this run: a random op goes on in its sequence, or repeats what another drew.
Attributes drawn(const Node& node, std::int32_t number, std::span<const Tensor> inputs, Draws& draws) {
  std::vector<Attribute> values;
  for (std::size_t i = 0; i < node.attributes.size(); ++i) values.push_back(node.attributes[i]);
  Attribute &key = values[node.op->place_of("key")], &counter = values[node.op->place_of("counter")];
  if (node.draw_of >= 0) {
    std::tie(key, counter) = draws.at(node.draw_of);
  } else {
    resolve_random(*node.op, values, inputs);
    draws[number] = {key, counter};
  }
  return Attributes(std::move(values));
}

}  // namespace

std::uint32_t take_failed_location() {
  return std::exchange(failed_location, 0);
}

Executable::Executable(Graph graph) : graph_(std::move(graph)), last_read_by_(graph_.nodes.size()) {
  for (const Node& node : graph_.nodes) {
    nested_.emplace_back();
    for (const auto& inner : node.graphs)
      nested_.back().push_back(std::make_shared<const Executable>(*inner));
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

/// What lasts as long as one run.
struct Executable::Run {
  std::vector<std::unique_ptr<Tape>> tapes;
  Draws draws;

  Tape& tape(const TapeUse& use) {
    const auto number = static_cast<std::size_t>(use.tape);
    if (tapes.size() <= number) tapes.resize(number + 1);
    if (!tapes[number]) tapes[number] = std::make_unique<Tape>(use.persistent, use.watch_accessed_variables);
    return *tapes[number];
  }
};

namespace {

Tensors run_op_node(const Node& node, std::int32_t number, std::span<const Tensor> inputs, Draws& draws) {
  const Attributes& attributes = node.draws ? drawn(node, number, inputs, draws) : node.attributes;
  if (!needs_run_op())
    return tapedeck::detail::compute_checked({*node.op, inputs, attributes, node.results, {}});
  const LocationScope location(node.location);
  set_last_place(reinterpret_cast<std::uintptr_t>(&node));  // where a pass of its line may begin again
  const WholeScope scope(node.scope);
  if (!node.device) return run_op(*node.op, inputs, attributes);
  const DeviceScope device(node.device);
  return run_op(*node.op, inputs, attributes);
}

Tensors gradient_of(Tape& tape, const Node& node, std::span<const Tensor> inputs) {
  const TapeUse& use = *node.tape;
  const auto count = static_cast<std::size_t>(use.targets);
  const std::span<const Tensor> targets = inputs.first(count);
  Tensors weights(count);
  std::size_t next = count;
  for (std::size_t i = 0; i < count; ++i)
    if (use.weighted[i]) weights[i] = inputs[next++];
  std::vector<Tape::Source> sources;
  for (const auto& variable : use.sources)
    sources.push_back(variable ? Tape::Source{{}, variable} : Tape::Source{inputs[next++], {}});
  std::vector<Tape::RowGradient> rows(sources.size());
  const LocationScope location(node.location);
  const WholeScope scope(node.scope);
  const Tensors gradients = use.with_rows ? tape.gradient(targets, sources, weights, use.unconnected, rows)
                                          : tape.gradient(targets, sources, weights, use.unconnected);
  Tensors results;
  for (std::size_t i = 0; i < use.parts.size(); ++i) {
    const auto& [source, part] = use.parts[i];
    const auto at = static_cast<std::size_t>(source);
    Tensor found = part == TapeUse::Part::whole    ? gradients[at]
                   : part == TapeUse::Part::values ? rows[at].values
                                                   : rows[at].indices;
    // Connected as far as the trace could see; what ran did not use it.
    if (!found) found = ops::zeros(node.results[i].shape, node.results[i].dtype);
    results.push_back(std::move(found));
  }
  return results;
}

void run_host(const Node& node, std::span<const Tensor> inputs) {
  const LocationScope location(node.location);
  if (auto* tracer = dynamic_cast<GraphTracer*>(current_tracer()))
    tracer->add_host_call(*node.host, inputs);
  else
    node.host->function(inputs);
}

}  // namespace

Tensors Executable::run_branch(std::size_t number, std::span<const Tensor> inputs) const {
  const auto take = [&](bool is_true) {
    const auto& graphs = nested_[number];
    const std::size_t first = is_true ? 1 : 1 + graphs[0]->graph().captured.size();
    const Executable& taken = *graphs[is_true ? 0 : 1];
    return taken(inputs.subspan(first, taken.graph().captured.size()));
  };
  const Node& node = graph_.nodes[number];
  if (inputs[0].is_symbolic()) {  // this graph becomes part of one that is being traced
    const LocationScope location(node.location);
    const WholeScope scope(node.scope);
    return branch(
        inputs[0], [&] { return take(true); }, [&] { return take(false); });
  }
  const bool is_true = decides(node, inputs[0]);
  return in_part(
      node, [&] { return branch_name(node, is_true); }, inputs.first(1), [&] { return take(is_true); });
}

Tensors Executable::run_loop(std::size_t number, std::span<const Tensor> inputs) const {
  const Executable &condition = *nested_[number][0], &body = *nested_[number][1];
  const std::size_t count = body.graph().arguments;
  const std::size_t first_of_body = count + condition.graph().captured.size();
  Tensors variables(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(count));
  const auto call = [](const Executable& graph, std::span<const Tensor> arguments,
                       std::span<const Tensor> captured) {
    Tensors all(arguments.begin(), arguments.end());
    all.insert(all.end(), captured.begin(), captured.end());
    return graph(all);
  };
  const std::span<const Tensor> of_condition = inputs.subspan(count, first_of_body - count);
  const std::span<const Tensor> of_body = inputs.subspan(first_of_body);
  const Node& node = graph_.nodes[number];
  if (current_tracer()) {  // this graph becomes part of one that is being traced
    const LocationScope location(node.location);
    const WholeScope scope(node.scope);
    return loop(
        variables, [&](std::span<const Tensor> values) { return call(condition, values, of_condition)[0]; },
        [&](std::span<const Tensor> values) { return call(body, values, of_body); });
  }
  return in_part(
      node, [&] { return loop_name(node); }, inputs.first(count),
      [&] {
        for (std::uint64_t turn = 1; decides(node, call(condition, variables, of_condition)[0]); ++turn) {
          check_interrupt();
          variables = in_part(
              node, [&] { return iteration_name(turn); }, variables,
              [&] { return call(body, variables, of_body); });
        }
        return variables;
      });
}

Tensors Executable::run_custom(std::size_t number, std::span<const Tensor> inputs) const {
  const std::shared_ptr<const OwnGradient> own = graph_.nodes[number].own_gradient;
  const std::span<const Tensor> given = inputs.first(own->inputs);
  const std::span<const Tensor> outputs = inputs.subspan(own->inputs, own->outputs);
  const detail::ThreadState& thread = detail::thread_state;
  auto* tracer = dynamic_cast<GraphTracer*>(current_tracer());
  if (!tracer && (thread.recording == 0 || thread.quiet != 0)) return Tensors(outputs.begin(), outputs.end());
  const auto read = inputs.subspan(own->inputs + own->outputs);
  const CustomVjp vjp = [own, specs = graph_.nodes[number].results, read = Tensors(read.begin(), read.end()),
                         graph = own->error.empty() ? nested_[number][0]
                                                    : nullptr](std::span<const Tensor> cotangents) {
    if (!graph)
      fail<FailedPreconditionError>(own->name, ": its gradient function could not be traced: ", own->error);
    Tensors arguments;
    for (std::size_t i = 0; i < specs.size(); ++i)
      arguments.push_back(cotangents[i] ? cotangents[i] : ops::zeros(specs[i].shape, specs[i].dtype));
    arguments.insert(arguments.end(), read.begin(), read.end());
    const Tensors found = (*graph)(arguments);
    Tensors gradients;
    std::size_t next = 0;
    for (const bool there : own->given) gradients.push_back(there ? found[next++] : Tensor());
    return gradients;
  };
  std::optional<UnobservedScope> unobserved;
  if (tracer) unobserved.emplace();
  Tensors results = custom_gradient(own->name, given, [&] {
    return CustomResult{Tensors(outputs.begin(), outputs.end()), vjp, own->variables};
  });
  if (tracer) {
    OwnGradient again;
    again.name = own->name;
    again.variables = own->variables;
    tracer->add_own_gradient(std::move(again), given, results, vjp);
  }
  return results;
}

Tensors Executable::run_node(std::size_t number, std::span<const Tensor> inputs, Run& run) const {
  const Node& node = graph_.nodes[number];
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
      break;
    }
    case NodeKind::op:
      return run_op_node(node, static_cast<std::int32_t>(number), inputs, run.draws);
    case NodeKind::branch:
      return run_branch(number, inputs);
    case NodeKind::loop:
      return run_loop(number, inputs);
    case NodeKind::custom:
      return run_custom(number, inputs);
    case NodeKind::host:
      run_host(node, inputs);
      break;
    case NodeKind::tape_start:
      run.tape(*node.tape).start();
      break;
    case NodeKind::tape_stop:
      run.tape(*node.tape).stop();
      break;
    case NodeKind::tape_watch:
      if (node.variable)
        run.tape(*node.tape).watch(*node.variable);
      else
        run.tape(*node.tape).watch(inputs[0]);
      break;
    case NodeKind::gradient:
      return gradient_of(run.tape(*node.tape), node, inputs);
  }
  return {};
}

Tensors Executable::call(std::span<const Tensor> arguments) const {
  if (!current_observer() && !current_tracer()) return (*this)(arguments);
  check(arguments);
  return in_call(graph_, signature_of(graph_), arguments, [&] { return (*this)(arguments); });
}

Tensors Executable::operator()(std::span<const Tensor> arguments) const {
  check(arguments);
  Run run;
  PartFollower parts;
  std::vector<Tensor> values(slots_);
  for (std::size_t i = 0; i < arguments.size(); ++i) values[first_slots_[i]] = arguments[i];
  Tensors inputs;
  for (std::size_t i = arguments.size(); i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    inputs.clear();
    for (const Value input : node.inputs)
      inputs.push_back(values[first_slots_[static_cast<std::size_t>(input.node)] +
                              static_cast<std::size_t>(input.result)]);
    Tensors results = [&] {
      try {
        if (runs_something(node)) parts.follow(node.part.get());
        return run_node(i, inputs, run);
      } catch (...) {
        parts.fail();
        if (failed_location == 0) failed_location = node.location;  // of the innermost graph
        throw;
      }
    }();
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
