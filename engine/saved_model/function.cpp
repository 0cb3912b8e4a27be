#include "engine/saved_model/function.h"

#include <algorithm>

#include "engine/graph/passes/passes.h"
#include "engine/graph/run.h"
#include "engine/ops/core/thread_state.h"
#include "engine/saved_model/model.h"
#include "engine/tensor/error.h"

namespace tapedeck {
namespace {

Function::Parameter parameter_of(const graph::Graph& graph, graph::Value value, const std::string& name) {
  const graph::ValueSpec spec = graph.value_spec(value);
  Function::Parameter parameter{name, spec.dtype, {}, spec.unknown.rank};
  for (int axis = 0; !spec.unknown.rank && axis < spec.shape.rank(); ++axis)
    parameter.shape.push_back(spec.unknown.has(axis) ? -1 : spec.shape[axis]);
  return parameter;
}

}  // namespace

struct Function::Body {
  std::vector<Variable> variables;
  std::vector<Parameter> inputs, outputs;
  std::unique_ptr<const graph::Executable> executable;
  /// Where a tape records: a gradient adds up what each node gives, so none are merged.
  std::unique_ptr<const graph::Executable> unmerged;
};

Function Function::load(const std::string& folder, const std::string& signature) {
  saved_model::Model model = saved_model::read_model(folder);
  const auto found = model.signatures.find(signature);
  if (found == model.signatures.end()) {
    std::string names;
    for (const auto& [name, one] : model.signatures) names += (names.empty() ? "" : ", ") + name;
    fail<NotFoundError>(folder, ": has no signature '", signature, "'; ",
                        names.empty() ? "it has none" : "it has: " + names);
  }
  auto body = std::make_shared<Body>();
  const graph::Graph& graph = model.graphs[found->second.graph];
  for (std::size_t i = 0; i < graph.arguments; ++i)
    body->inputs.push_back(parameter_of(graph, {static_cast<std::int32_t>(i), 0}, found->second.inputs[i]));
  for (std::size_t i = 0; i < graph.results.size(); ++i)
    body->outputs.push_back(parameter_of(graph, graph.results[i], found->second.outputs[i]));
  const std::vector<graph::NamedPassed> passes = graph::run_passes(graph);
  body->executable =
      std::make_unique<const graph::Executable>(passes.empty() ? graph : passes.back().passed.graph);
  if (graph::merges(passes))
    body->unmerged = std::make_unique<const graph::Executable>(graph::unmerged(graph));
  body->variables = std::move(model.variables);
  return Function(std::move(body));
}

const std::vector<Function::Parameter>& Function::inputs() const {
  return body_->inputs;
}

const std::vector<Function::Parameter>& Function::outputs() const {
  return body_->outputs;
}

const std::vector<Variable>& Function::variables() const {
  return body_->variables;
}

Tensors Function::operator()(std::span<const Tensor> arguments) const {
  const detail::ThreadState& thread = detail::thread_state;
  const bool is_taped = thread.recording != 0 && thread.quiet == 0;
  return (is_taped && body_->unmerged ? *body_->unmerged : *body_->executable).call(arguments);
}

std::map<std::string, Tensor> Function::operator()(const std::map<std::string, Tensor>& arguments) const {
  Tensors ordered;
  for (const Parameter& input : body_->inputs) {
    const auto found = arguments.find(input.name);
    if (found == arguments.end()) fail<InvalidArgumentError>("the input ", input.name, " is missing");
    ordered.push_back(found->second);
  }
  for (const auto& [name, tensor] : arguments)
    if (std::ranges::none_of(body_->inputs, [&](const Parameter& input) { return input.name == name; }))
      fail<InvalidArgumentError>("there is no input ", name);
  const Tensors results = (*this)(ordered);
  std::map<std::string, Tensor> named;
  for (std::size_t i = 0; i < results.size(); ++i) named[body_->outputs[i].name] = results[i];
  return named;
}

}  // namespace tapedeck
