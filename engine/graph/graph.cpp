#include "engine/graph/graph.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace tapedeck::graph {
namespace {

std::string name_of(const Graph& graph, Value value) {
  const Node& node = graph.nodes[static_cast<std::size_t>(value.node)];
  if (node.kind == NodeKind::parameter) return node.name;
  std::string text = "%" + std::to_string(value.node);
  if (node.results.size() > 1) text += ":" + std::to_string(value.result);
  return text;
}

std::string spec_text(const TensorSpec& spec) {
  return std::string(dtype_name(spec.dtype)) + " " + to_string(spec.shape);
}

template <class Items, class Text>
std::string joined(const Items& items, Text&& text) {
  std::string line;
  for (const auto& item : items) line += (line.empty() ? "" : ", ") + text(item);
  return line;
}

std::string call_text(const Graph& graph, const Node& node) {
  std::string line = joined(node.inputs, [&](Value value) { return name_of(graph, value); });
  for (std::size_t i = 0; i < node.attributes.size(); ++i)
    if (const AttributeSpec& spec = node.op->attributes[i]; node.attributes[i] != spec.fallback)
      line += (line.empty() ? "" : ", ") + spec.name + "=" + to_string(node.attributes[i]);
  if (node.draw_of >= 0)
    line += (line.empty() ? "draws as %" : ", draws as %") + std::to_string(node.draw_of);
  if (const auto outer = outer_draw_of(node))
    line += (line.empty() ? "draws as %" : ", draws as %") + std::to_string(*outer) + " of its function";
  return node.op->name + "(" + line + ")";
}

/// The graphs of a branch or a loop, indented.
std::string nested_text(const Node& node, std::array<const char*, 2> titles) {
  std::string lines;
  for (std::size_t i = 0; i < node.graphs.size(); ++i) {
    std::istringstream text(node.graphs[i]->text());
    lines += std::string("\n  ") + titles[i] + ":";
    for (std::string line; std::getline(text, line);) lines += "\n    " + line;
  }
  return lines;
}

std::string line_of(const Graph& graph, std::size_t number) {
  const Node& node = graph.nodes[number];
  const std::string inputs = joined(node.inputs, [&](Value value) { return name_of(graph, value); });
  const std::string left = "%" + std::to_string(number) + " = ";
  switch (node.kind) {
    case NodeKind::parameter:
      return {};
    case NodeKind::constant:
      return left + "constant " + spec_text(node.results[0]);
    case NodeKind::read:
      return left + "read " + node.variable->name();
    case NodeKind::assign:
      return "assign " + node.variable->name() + ", " + name_of(graph, node.inputs[0]);
    case NodeKind::op:
      return left + call_text(graph, node);
    case NodeKind::branch:
      return left + "branch(" + inputs + ")" + nested_text(node, {"if true", "if false"});
    case NodeKind::loop:
      return left + "loop(" + inputs + ")" + nested_text(node, {"while", "do"});
    case NodeKind::custom:
      return left + "custom gradient of " + node.own_gradient->name + "(" + inputs + ")";
    case NodeKind::host:
      return "call " + node.host->name + "(" + inputs + ")";
    case NodeKind::tape_start:
      return "start tape " + std::to_string(node.tape->tape);
    case NodeKind::tape_stop:
      return "stop tape " + std::to_string(node.tape->tape);
    case NodeKind::tape_watch:
      return "watch by tape " + std::to_string(node.tape->tape) + " " +
             (node.variable ? node.variable->name() : inputs);
    case NodeKind::gradient:
      return left + "gradient by tape " + std::to_string(node.tape->tape) + "(" + inputs + ")";
  }
  return {};
}

}  // namespace

std::string Graph::text() const {
  std::vector<Node> parameters;
  for (const Node& node : nodes)
    if (node.kind == NodeKind::parameter) parameters.push_back(node);
  std::string lines =
      name + "(" +
      joined(parameters, [](const Node& node) { return node.name + ": " + spec_text(node.results[0]); }) +
      ") -> " + joined(results, [&](Value value) { return name_of(*this, value); }) + "\n";
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (const std::string line = line_of(*this, i); !line.empty()) lines += line + "\n";
  return lines;
}

bool has_effect(const Node& node) {
  switch (node.kind) {
    case NodeKind::constant:
    case NodeKind::read:
    case NodeKind::custom:
      return false;
    case NodeKind::op:
      return node.draws && node.draw_of == -1;
    case NodeKind::branch:
      return std::ranges::any_of(node.graphs, [](const auto& graph) {
        return std::ranges::any_of(graph->nodes, [](const Node& inner) {
          return inner.kind != NodeKind::parameter && has_effect(inner);
        });
      });
    default:
      return true;  // a loop may never end
  }
}

bool uses_tapes(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return node.tape != nullptr; });
}

}  // namespace tapedeck::graph
