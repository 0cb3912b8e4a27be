#include "engine/saved_model/graph_writer.h"

#include "engine/graph/arrays/arrays.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/saved_model/attributes.h"
#include "engine/saved_model/node_kinds.h"
#include "engine/tensor/error.h"

namespace tapedeck::saved_model {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeKind;
using graph::Value;

Json value_json(Value value) {
  return Json::array({value.node, value.result});
}

Json spec_json(const graph::ValueSpec& spec) {
  Json shape;
  if (!spec.unknown.rank) {
    shape = Json::array();
    for (int axis = 0; axis < spec.shape.rank(); ++axis)
      shape.push_back(spec.unknown.has(axis) ? Json() : Json(spec.shape[axis]));
  }
  return {{"dtype", dtype_name(spec.dtype)}, {"shape", std::move(shape)}};
}

/// " (model.py:12)"; empty where that is not known.
std::string traced_at(const Node& node) {
  if (node.location == 0) return {};
  const SourceLocation place = location_of(node.location);
  return " (" + (place.cell.empty() ? place.file : place.cell) + ":" + std::to_string(place.line) + ")";
}

}  // namespace

GraphWriter::GraphWriter(std::span<const Variable> variables, WeightsToWrite& weights) : weights_(weights) {
  for (const Variable& variable : variables) variables_.emplace(variable.id(), variables_.size());
}

std::size_t GraphWriter::number_of(const Variable& variable, const Graph& graph) const {
  const auto found = variables_.find(variable.id());
  if (found == variables_.end())
    fail<UnimplementedError>(graph.name, " uses the variable ", variable.name(),
                             ", which the saved object does not have: make it an attribute of the object");
  return found->second;
}

void GraphWriter::add_op(const Node& node, Json& entry) const {
  entry["op"] = node.op->name;
  for (std::size_t i = 0; i < node.attributes.size(); ++i)
    entry["attributes"][node.op->attributes[i].name] = attribute_json(node.attributes[i]);
  for (const graph::LateNumber& late : node.late)
    entry["late"].push_back(Json::array({late.attribute, late.element, late.input, late.index}));
  if (node.draws) entry["draws"] = true;
  if (node.draw_of >= 0) entry["draw_of"] = node.draw_of;
}

void GraphWriter::add_tape(const Graph& graph, const Node& node, Json& entry) const {
  const graph::TapeUse& use = *node.tape;
  Json tape{{"tape", use.tape}};
  if (node.kind == NodeKind::tape_start) {
    tape["persistent"] = use.persistent;
    tape["watch_accessed_variables"] = use.watch_accessed_variables;
  }
  if (node.kind == NodeKind::gradient) {
    tape["targets"] = use.targets;
    tape["weighted"] = use.weighted;
    tape["sources"] = Json::array();
    for (const auto& source : use.sources)
      tape["sources"].push_back(source ? Json(number_of(*source, graph)) : Json());
    tape["zero"] = use.unconnected == Unconnected::zero;
    tape["parts"] = Json::array();
    for (const auto& [source, part] : use.parts)
      tape["parts"].push_back(Json::array({source, static_cast<int>(part)}));
  }
  entry["tape"] = std::move(tape);
}

void GraphWriter::add_own_gradient(const Graph& graph, const Node& node, Json& entry) const {
  const graph::OwnGradient& own = *node.own_gradient;
  Json variables = Json::array();
  for (const Variable& variable : own.variables) variables.push_back(number_of(variable, graph));
  entry["own"] = {{"name", own.name},       {"inputs", own.inputs}, {"outputs", own.outputs},
                  {"variables", variables}, {"given", own.given},   {"error", own.error}};
}

void GraphWriter::add_array_call(const graph::ArrayCallForm& form, Json& entry) {
  Json array{{"call", form.name}};
  if (form.kind) {
    array["element"] = spec_json(form.kind->element);
    array["infers"] = form.kind->infers;
    array["grows"] = form.kind->grows;
  }
  if (!form.numbers.empty()) array["written"] = form.numbers;
  if (!form.cleared.empty()) array["cleared"] = form.cleared;
  if (form.axis != 0) array["axis"] = form.axis;
  entry["array"] = std::move(array);
}

Json GraphWriter::node(const Graph& graph, const Node& node) {
  const std::optional<std::string_view> kind = saved_kind(node.kind);
  if (!kind || (node.kind == NodeKind::host && !graph::is_array_call(node)))
    fail<UnimplementedError>(
        graph.name, " cannot be saved: it calls ",
        node.kind == NodeKind::host ? "'" + node.host->name + "'" : "a part of a gradient", traced_at(node),
        ", which needs the program that it was traced in");
  Json entry{{"kind", *kind}};
  for (const Value input : node.inputs) entry["in"].push_back(value_json(input));
  for (std::size_t i = 0; i < node.results.size(); ++i)
    entry["results"].push_back(spec_json({node.results[i].dtype, node.results[i].shape,
                                          node.unknown.empty() ? UnknownShape{} : node.unknown[i]}));
  if (!node.name.empty()) entry["name"] = node.name;
  if (node.scope) entry["scope"] = scope_text(node.scope);
  if (node.device) entry["device"] = to_string(*node.device);
  if (node.variable) entry["variable"] = number_of(*node.variable, graph);
  if (node.kind == NodeKind::constant)
    entry["value"] = weights_.add("constants/" + std::to_string(constants_++), node.constant);
  if (node.op) add_op(node, entry);
  if (node.tape) add_tape(graph, node, entry);
  if (node.own_gradient) add_own_gradient(graph, node, entry);
  if (node.host) add_array_call(*graph::array_call_form(node), entry);
  for (const auto& inner : node.graphs) entry["graphs"].push_back(write(*inner));
  return entry;
}

Json GraphWriter::write(const Graph& graph) {
  if (graph.has_gaps)
    fail<UnimplementedError>(graph.name,
                             " cannot be saved: it is the gradient of a function with branches or loops");
  Json entry{{"name", graph.name},
             {"arguments", graph.arguments},
             {"captured", graph.captured.size()},
             {"nodes", Json::array()},
             {"results", Json::array()}};
  for (const Node& one : graph.nodes) entry["nodes"].push_back(node(graph, one));
  for (const Value result : graph.results) entry["results"].push_back(value_json(result));
  return entry;
}

}  // namespace tapedeck::saved_model
