#include "engine/graph/control.h"

#include <set>

#include "engine/graph/run_log.h"
#include "engine/record/trace/source_location.h"
#include "engine/tape/tape_state.h"

namespace tapedeck::graph {
namespace {

GraphTracer& tracer_here(const char* what) {
  auto* tracer = dynamic_cast<GraphTracer*>(current_tracer());
  if (!tracer) fail<FailedPreconditionError>(what, ": no graph function is being traced on this thread");
  return *tracer;
}

/// " (line 7)", where the node that gives the result comes from a known line.
std::string place_of(const Graph& graph, std::size_t result) {
  const Node& node = graph.nodes[static_cast<std::size_t>(graph.results[result].node)];
  const std::uint32_t line = location_of(node.location).line;
  return line == 0 ? std::string() : " (line " + std::to_string(line) + ")";
}

void check_predicate(const char* what, const char* argument, const ValueSpec& spec) {
  if (spec.dtype != DType::bool_ || (!spec.unknown.rank && spec.shape.rank() != 0))
    fail<InvalidArgumentError>(what, ": ", argument, " is ", to_string(spec), "; needs a scalar bool");
}

void check_branches(const Graph& one, const Graph& other) {
  if (one.results.size() != other.results.size())
    fail<InvalidArgumentError>("cond: true_fn returns ", one.results.size(), " tensors, false_fn ",
                               other.results.size());
  for (std::size_t i = 0; i < one.results.size(); ++i) {
    const ValueSpec a = one.value_spec(one.results[i]), b = other.value_spec(other.results[i]);
    if (a.dtype != b.dtype)
      fail<TypeMismatchError>("cond: result ", i, " of true_fn is ", to_string(a), place_of(one, i),
                              ", that of false_fn ", to_string(b), place_of(other, i));
  }
}

/// Whether a gradient may flow from some result back to each parameter.
std::vector<bool> differentiable_parameters(const Graph& graph);

}  // namespace

std::vector<bool> differentiable_inputs(const Node& node) {
  if (node.kind == NodeKind::op)
    return std::vector<bool>(node.inputs.size(), node.op->vjp && !node.op->stops_gradient);
  if (node.kind == NodeKind::gradient || node.kind == NodeKind::custom)
    return std::vector<bool>(node.inputs.size(), true);
  if (node.kind == NodeKind::host) return std::vector<bool>(node.inputs.size(), node.host->differentiable);
  std::vector<bool> all(node.inputs.size());
  const auto add = [&](const Graph& graph, std::size_t first_captured) {
    const std::vector<bool> own = differentiable_parameters(graph);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::size_t input = i < graph.arguments ? i : first_captured + i - graph.arguments;
      if (own[i]) all[input] = true;
    }
  };
  if (node.kind == NodeKind::branch) {
    add(*node.graphs[0], 1);
    add(*node.graphs[1], 1 + node.graphs[0]->captured.size());
  } else if (node.kind == NodeKind::loop) {
    add(*node.graphs[1], node.graphs[1]->arguments + node.graphs[0]->captured.size());
    for (std::size_t i = 0; i < node.graphs[1]->arguments; ++i) all[i] = true;  // the loop may not run at all
  }
  return all;
}

namespace {

/// Of each node, whether a gradient may flow to its results from those of the graph.
std::vector<bool> differentiable_nodes(const Graph& graph) {
  std::vector<bool> flows(graph.nodes.size());
  for (const Value result : graph.results)
    if (has_gradients(graph.spec(result).dtype)) flows[static_cast<std::size_t>(result.node)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (!flows[i]) continue;
    const std::vector<bool> through = differentiable_inputs(graph.nodes[i]);
    for (std::size_t input = 0; input < through.size(); ++input)
      if (through[input] && has_gradients(graph.spec(graph.nodes[i].inputs[input]).dtype))
        flows[static_cast<std::size_t>(graph.nodes[i].inputs[input].node)] = true;
  }
  return flows;
}

std::vector<bool> differentiable_parameters(const Graph& graph) {
  std::vector<bool> flows = differentiable_nodes(graph);
  flows.resize(graph.arguments + graph.captured.size());
  return flows;
}

/// Adds the variables that the node's graphs read and to which a gradient may flow.
void add_variables_read(const Node& node, std::vector<Variable>& variables) {
  for (const auto& graph : node.graphs) {
    const std::vector<bool> flows = differentiable_nodes(*graph);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const Node& inner = graph->nodes[i];
      if (!flows[i]) continue;
      if (inner.kind == NodeKind::read)
        variables.push_back(*inner.variable);
      else if (inner.kind == NodeKind::branch || inner.kind == NodeKind::loop)
        add_variables_read(inner, variables);
    }
  }
}

/// Their values before the node, each once, while a tape records: the tapes see that they are read.
Tensors variables_read(const Node& node) {
  const tapedeck::detail::ThreadState& thread = tapedeck::detail::thread_state;
  if (thread.recording == 0 || thread.quiet != 0) return {};
  std::vector<Variable> variables;
  add_variables_read(node, variables);
  std::set<std::uint64_t> seen;
  Tensors values;
  for (const Variable& variable : variables)
    if (seen.insert(variable.id()).second) values.push_back(variable.read());
  return values;
}

}  // namespace

void put_on_tapes(const std::string& name, std::span<const Tensor> inputs, const std::vector<bool>& through,
                  std::span<const Tensor> results) {
  if (!tapedeck::detail::recording_tape(inputs)) return;
  const auto vjp = [name, through,
                    inputs = Tensors(inputs.begin(), inputs.end())](std::span<const Tensor> cotangents) {
    Tensors gradients, read = inputs, given;
    for (const Tensor& cotangent : cotangents)
      if (cotangent) read.push_back(cotangent);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool wanted = through[i] && has_gradients(inputs[i].dtype());
      gradients.push_back(
          wanted ? symbolic_tensor(inputs[i].dtype(), inputs[i].shape(), unknown_of(inputs[i])) : Tensor());
      if (wanted) given.push_back(gradients.back());
    }
    put_on_tapes(name, read, std::vector<bool>(read.size(), true), given);
    return gradients;
  };
  static const Attributes none;
  auto call = std::make_shared<const tapedeck::detail::CustomCall>(tapedeck::detail::CustomCall{name, vjp});
  tapedeck::detail::TapeStack::if_any()->write({nullptr, std::move(call), inputs, none, results, 0});
}

namespace {

Tensors finished(GraphTracer& tracer, const char* name, Node node, std::span<const Tensor> inputs) {
  Node with_inputs = node;
  with_inputs.inputs.resize(inputs.size());
  Tensors read(inputs.begin(), inputs.end());
  for (Tensor& value : variables_read(node)) read.push_back(std::move(value));
  Tensors results = tracer.add_control(std::move(node), inputs);
  for (const auto& graph : with_inputs.graphs)
    for (std::size_t i = 0; i < graph->may_lack.size() && with_inputs.kind == NodeKind::branch; ++i)
      if (graph->may_lack[i]) tracer.lacks(results[i]);
  std::vector<bool> through = differentiable_inputs(with_inputs);
  through.resize(read.size(), true);
  put_on_tapes(name, read, through, results);
  return results;
}

}  // namespace

Tensors branch(const Tensor& predicate, const std::function<Tensors()>& if_true,
               const std::function<Tensors()>& if_false) {
  GraphTracer& tracer = tracer_here("cond");
  check_predicate("cond", "pred", spec_of(predicate));
  const auto traced = [](const char* name, const std::function<Tensors()>& function) {
    return std::make_shared<const Graph>(
        trace(name, {}, [&](std::span<const Tensor>) { return function(); }));
  };
  Node node;
  node.kind = NodeKind::branch;
  node.names = names_here();  // when its sides are traced, the names hold what these gave them
  node.graphs = {traced("true_fn", if_true), traced("false_fn", if_false)};
  check_branches(*node.graphs[0], *node.graphs[1]);
  std::vector<ValueSpec> results;
  for (std::size_t i = 0; i < node.graphs[0]->results.size(); ++i) {
    ValueSpec spec = node.graphs[0]->value_spec(node.graphs[0]->results[i]);
    const ValueSpec other = node.graphs[1]->value_spec(node.graphs[1]->results[i]);
    spec.unknown = merged(spec.shape, spec.unknown, other.shape, other.unknown);
    results.push_back(std::move(spec));
  }
  set_results(node, results);
  Tensors inputs{predicate};
  for (const auto& graph : node.graphs)
    inputs.insert(inputs.end(), graph->captured.begin(), graph->captured.end());
  return finished(tracer, "cond", std::move(node), inputs);
}

namespace {

/// What is known of the variables in each iteration. A variable must be what its invariant says.
std::vector<ValueSpec> specs_of_loop(std::span<const Tensor> variables,
                                     std::span<const Invariant> invariants) {
  std::vector<ValueSpec> specs;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    ValueSpec spec = spec_of(variables[i]);
    if (i < invariants.size() && invariants[i]) {
      const ValueSpec wanted{spec.dtype, invariants[i]->shape, invariants[i]->unknown};
      if (!is_compatible(spec.shape, spec.unknown, wanted.shape, wanted.unknown))
        fail<InvalidArgumentError>("while_loop: loop variable ", i, " is ", to_string(spec),
                                   ", its shape invariant is ", to_string(wanted.shape, wanted.unknown));
      spec.unknown.rank = spec.unknown.rank || wanted.unknown.rank;
      spec.unknown.axes = spec.unknown.rank ? 0 : spec.unknown.axes | wanted.unknown.axes;
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

void check_next(const ValueSpec& before, const Graph& body, std::size_t i) {
  const ValueSpec after = body.value_spec(body.results[i]);
  if (after.dtype != before.dtype)
    fail<TypeMismatchError>("while_loop: loop variable ", i, " is ", to_string(before),
                            ", and body makes it ", to_string(after), place_of(body, i));
  bool stays = true;
  if (!before.unknown.rank) {
    stays = stays && !after.unknown.rank && after.shape.rank() == before.shape.rank();
    for (int axis = 0; stays && axis < before.shape.rank(); ++axis)
      stays =
          before.unknown.has(axis) || (!after.unknown.has(axis) && after.shape[axis] == before.shape[axis]);
  }
  if (!stays)
    fail<InvalidArgumentError>("while_loop: loop variable ", i, " is ", to_string(before),
                               ", and body makes it ", to_string(after), place_of(body, i),
                               "; shape_invariants with None there let its shape change");
}

}  // namespace

Tensors loop(std::span<const Tensor> variables,
             const std::function<Tensor(std::span<const Tensor>)>& condition, const Step& body,
             std::span<const Invariant> invariants) {
  GraphTracer& tracer = tracer_here("while_loop");
  const std::vector<ValueSpec> specs = specs_of_loop(variables, invariants);
  Node node;
  node.kind = NodeKind::loop;
  node.names = names_here();
  node.graphs = {
      std::make_shared<const Graph>(trace_open(
          "cond", specs, [&](std::span<const Tensor> values) { return Tensors{condition(values)}; })),
      std::make_shared<const Graph>(trace_open("body", specs, body))};
  const Graph &holds = *node.graphs[0], &next = *node.graphs[1];
  check_predicate("while_loop", "cond's result", holds.value_spec(holds.results[0]));
  if (next.results.size() != specs.size())
    fail<InvalidArgumentError>("while_loop: body returns ", next.results.size(), " tensors; there are ",
                               specs.size(), " loop variables");
  for (std::size_t i = 0; i < specs.size(); ++i) check_next(specs[i], next, i);
  set_results(node, specs);
  Tensors inputs(variables.begin(), variables.end());
  for (const auto& graph : node.graphs)
    inputs.insert(inputs.end(), graph->captured.begin(), graph->captured.end());
  return finished(tracer, "while_loop", std::move(node), inputs);
}

Tensors unwind(const Unwind& loop, const Step& body) {
  GraphTracer& tracer = tracer_here("unwind");
  GraphTracer inner("body", &tracer);
  Tensors parameters;
  std::vector<ValueSpec> specs;
  const auto add = [&](const char* name, std::size_t number, const ValueSpec& spec, bool may_lack) {
    parameters.push_back(inner.parameter(name + std::to_string(number), spec));
    if (may_lack) inner.lacks(parameters.back());
  };
  for (std::size_t i = 0; i < loop.variables.size(); ++i) {
    specs.push_back(spec_of(loop.variables[i]));
    add("d", i, specs.back(), loop.may_lack[i]);
  }
  for (std::size_t i = 0; i < loop.kept.size(); ++i) add("kept", i, loop.kept[i], false);
  for (std::size_t i = 0; i < loop.at_the_end.size(); ++i) add("end", i, spec_of(loop.at_the_end[i]), true);
  Tensors next;
  {
    const TracerScope scope(&inner);
    next = body(parameters);
  }
  Node node;
  node.kind = NodeKind::unwind;
  node.graphs = {std::make_shared<const Graph>(inner.finish(next))};
  set_results(node, specs);
  Tensors inputs = loop.variables;
  inputs.push_back(loop.list);
  inputs.insert(inputs.end(), loop.at_the_end.begin(), loop.at_the_end.end());
  inputs.insert(inputs.end(), node.graphs[0]->captured.begin(), node.graphs[0]->captured.end());
  const Tensors results = tracer.add_control(std::move(node), inputs);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (loop.may_lack[i]) tracer.lacks(results[i]);
  return results;
}

Tensors host_call(HostCall call, std::span<const ValueSpec> specs, std::span<const Tensor> inputs) {
  const std::string name = call.name;
  const bool differentiable = call.differentiable;
  Tensors results = tracer_here(name.c_str()).add_host_call(std::move(call), specs, inputs);
  if (differentiable) put_on_tapes(name, inputs, std::vector<bool>(inputs.size(), true), results);
  return results;
}

}  // namespace tapedeck::graph
