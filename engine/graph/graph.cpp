#include "engine/graph/graph.h"

namespace tapedeck::graph {
namespace {

std::string name_of(const Graph& graph, Value value) {
  const Node& node = graph.nodes[static_cast<std::size_t>(value.node)];
  if (node.kind == NodeKind::parameter) return node.name;
  std::string text = "%" + std::to_string(value.node);
  if (node.results.size() > 1) text += ":" + std::to_string(value.result);
  return text;
}

std::string text_of(const TensorSpec& spec) {
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
  return node.op->name + "(" + line + ")";
}

std::string line_of(const Graph& graph, std::size_t number) {
  const Node& node = graph.nodes[number];
  const std::string left = "%" + std::to_string(number) + " = ";
  switch (node.kind) {
    case NodeKind::parameter:
      return {};
    case NodeKind::constant:
      return left + "constant " + text_of(node.results[0]);
    case NodeKind::read:
      return left + "read " + node.variable->name();
    case NodeKind::assign:
      return "assign " + node.variable->name() + ", " + name_of(graph, node.inputs[0]);
    case NodeKind::op:
      return left + call_text(graph, node);
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
      joined(parameters, [](const Node& node) { return node.name + ": " + text_of(node.results[0]); }) +
      ") -> " + joined(results, [&](Value value) { return name_of(*this, value); }) + "\n";
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (const std::string line = line_of(*this, i); !line.empty()) lines += line + "\n";
  return lines;
}

bool has_effect(const Node& node) {
  return node.kind == NodeKind::assign || node.kind == NodeKind::parameter || node.draws;
}

}  // namespace tapedeck::graph
