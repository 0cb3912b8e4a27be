#include "engine/graph/tracer.h"

#include "engine/ops/core/placement.h"
#include "engine/ops/random/random_state.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::graph {
namespace {

/// Of a random op that takes its place from a sequence: without the place that it had while it was traced.
Attributes without_place(const OpDef& op, const Attributes& attributes) {
  std::vector<Attribute> values;
  for (std::size_t i = 0; i < attributes.size(); ++i) values.push_back(attributes[i]);
  values[op.place_of("key")] = std::monostate{};
  values[op.place_of("counter")] = std::monostate{};
  return Attributes(std::move(values));
}

bool is_drawn_when_run(const OpContext& context) {
  const auto counter = context.op.find_place("counter");
  return counter && context.attributes[*counter] == Attribute(drawn_when_run);
}

std::string described(const Tensor& tensor) {
  return std::string(dtype_name(tensor.dtype())) + " tensor of shape " + to_string(tensor.shape());
}

}  // namespace

GraphTracer::GraphTracer(std::string name, GraphTracer* around) : around_(around) {
  graph_.name = std::move(name);
}

Tensor GraphTracer::parameter(const std::string& name, const TensorSpec& spec) {
  Node node;
  node.kind = NodeKind::parameter;
  node.name = name;
  node.results.push_back(spec);
  ++graph_.arguments;
  return results_of(add(std::move(node), {}))[0];
}

std::int32_t GraphTracer::add(Node node, std::span<const Tensor> inputs) {
  const std::string_view what = node.op ? std::string_view(node.op->name) : std::string_view(graph_.name);
  for (const Tensor& input : inputs) node.inputs.push_back(value_of(input, what));
  node.location = capture_location();
  node.scope = current_scope();
  node.device = device_scope();
  graph_.nodes.push_back(std::move(node));
  return static_cast<std::int32_t>(graph_.nodes.size()) - 1;
}

Tensors GraphTracer::results_of(std::int32_t node) {
  Tensors results;
  const TensorSpecs specs = graph_.nodes[static_cast<std::size_t>(node)].results;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    results.push_back(Tensor::symbolic(specs[i].dtype, specs[i].shape));
    values_[results[i].id()] = {node, static_cast<std::int32_t>(i)};
  }
  return results;
}

bool GraphTracer::knows(const Tensor& tensor) const {
  return values_.contains(tensor.id()) || (around_ && around_->knows(tensor));
}

Value GraphTracer::value_of(const Tensor& tensor, std::string_view what) {
  if (const auto known = values_.find(tensor.id()); known != values_.end()) return known->second;
  return tensor.is_symbolic() ? captured(tensor, what) : constant_of(tensor);
}

Value GraphTracer::constant_of(const Tensor& tensor) {
  Node node;
  node.kind = NodeKind::constant;
  node.constant = tensor;
  node.results.push_back({tensor.dtype(), tensor.shape()});
  return values_[tensor.id()] = {add(std::move(node), {}), 0};
}

Value GraphTracer::captured(const Tensor& tensor, std::string_view what) {
  if (!around_ || !around_->knows(tensor))
    fail<InvalidArgumentError>(
        what, ": a ", described(tensor),
        " belongs to the trace of another graph function, which has ended; return it from that function "
        "to use it outside");
  Node node;
  node.kind = NodeKind::parameter;
  node.name = "captured" + std::to_string(captures_.size());
  node.results.push_back({tensor.dtype(), tensor.shape()});
  captures_.push_back(std::move(node));
  graph_.captured.push_back(tensor);
  // Its number is known when the number of arguments is: finish() puts it there.
  return values_[tensor.id()] = {-1 - static_cast<std::int32_t>(captures_.size()), 0};
}

Tensors GraphTracer::call(const OpContext& context) {
  if (context.op.shape_of_values)
    fail<UnimplementedError>(
        context.op.name,
        ": the shape of its result depends on values, which a graph function does not have "
        "while it is traced");
  Node node;
  node.kind = NodeKind::op;
  node.op = &context.op;
  node.draws = is_drawn_when_run(context);
  node.attributes = node.draws ? without_place(context.op, context.attributes) : context.attributes;
  node.results.assign(context.outputs.begin(), context.outputs.end());
  return results_of(add(std::move(node), context.inputs));
}

Tensor GraphTracer::read(const Variable& variable) {
  if (const auto known = variables_.find(variable.id()); known != variables_.end()) return known->second;
  Node node;
  node.kind = NodeKind::read;
  node.variable = variable;
  node.results.push_back({variable.dtype(), variable.shape()});
  return variables_[variable.id()] = results_of(add(std::move(node), {}))[0];
}

void GraphTracer::assign(const Variable& variable, const Tensor& value) {
  Node node;
  node.kind = NodeKind::assign;
  node.variable = variable;
  add(std::move(node), {&value, 1});
  // What reads it now reads a tensor of its own: no gradient flows from there to what was assigned.
  variables_.erase(variable.id());
}

Graph GraphTracer::finish(std::span<const Tensor> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) fail<InvalidArgumentError>(graph_.name, ": result ", i, " is undefined");
    graph_.results.push_back(value_of(results[i], graph_.name));
  }
  const auto arguments = static_cast<std::int32_t>(graph_.arguments);
  const auto count = static_cast<std::int32_t>(captures_.size());
  const auto moved = [&](Value& value) {
    if (value.node < -1)
      value.node = arguments - value.node - 2;
    else if (value.node >= arguments)
      value.node += count;
  };
  for (Node& node : graph_.nodes)
    for (Value& input : node.inputs) moved(input);
  for (Value& result : graph_.results) moved(result);
  graph_.nodes.insert(graph_.nodes.begin() + arguments, captures_.begin(), captures_.end());
  return std::move(graph_);
}

Graph trace(const std::string& name, std::span<const TensorSpec> arguments,
            const std::function<Tensors(std::span<const Tensor>)>& function) {
  GraphTracer tracer(name, dynamic_cast<GraphTracer*>(current_tracer()));
  Tensors parameters;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    parameters.push_back(tracer.parameter("x" + std::to_string(i), arguments[i]));
  Tensors results;
  {
    const TracerScope scope(&tracer);
    results = function(parameters);
  }
  return tracer.finish(results);
}

}  // namespace tapedeck::graph
