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

template <class Items, class Text>
std::string joined(const Items& items, Text&& text) {
  std::string line;
  for (const auto& item : items) line += (line.empty() ? "" : ", ") + text(item);
  return line;
}

std::string call_text(const Graph& graph, const Node& node) {
  const std::vector<Value> operands(node.inputs.begin(),
                                    node.inputs.begin() + static_cast<std::ptrdiff_t>(operand_count(node)));
  std::string line = joined(operands, [&](Value value) { return name_of(graph, value); });
  for (std::size_t i = 0; i < node.attributes.size(); ++i)
    if (const AttributeSpec& spec = node.op->attributes[i];
        node.attributes[i] != spec.fallback || is_late(node, i))
      line += (line.empty() ? "" : ", ") + spec.name + "=" +
              attribute_text(graph, node, i, [&](Value value) { return name_of(graph, value); });
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
      return left + "constant " + to_string(spec_of(node.constant));
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
    case NodeKind::unwind:
      return left + "unwind(" + inputs + ")" + nested_text(node, {"do", ""});
    case NodeKind::absent:
      return left + "absent";
    case NodeKind::custom:
      return left + "custom gradient of " + node.own_gradient->name + "(" + inputs + ")";
    case NodeKind::host:
      return (node.results.empty() ? "call " : left + "call ") + node.host->name + "(" + inputs + ")";
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

ValueSpec spec_of(const Tensor& tensor) {
  return {tensor.dtype(), tensor.shape(), unknown_of(tensor)};
}

ValueSpec spec_of(const Variable& variable) {
  ValueSpec spec{variable.dtype(), variable.shape()};
  const auto& open = variable.open_shape();
  if (!open) return spec;
  spec.unknown.rank = !open->extents;
  for (int axis = 0; !spec.unknown.rank && axis < spec.shape.rank(); ++axis)
    if ((*open->extents)[static_cast<std::size_t>(axis)] == OpenShape::any)
      spec.unknown.axes |= std::uint32_t{1} << axis;
  return spec;
}

std::string to_string(const ValueSpec& spec) {
  return std::string(dtype_name(spec.dtype)) + " " + to_string(spec.shape, spec.unknown);
}

bool is_late(const Node& node, std::size_t attribute) {
  return std::ranges::any_of(node.late, [&](const LateNumber& late) {
    return static_cast<std::size_t>(late.attribute) == attribute;
  });
}

std::string attribute_text(const Graph& graph, const Node& node, std::size_t attribute,
                           const std::function<std::string(Value)>& name) {
  const Attribute& value = node.attributes[attribute];
  if (!is_late(node, attribute)) return to_string(value);
  std::vector<std::string> texts;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
    for (const std::int64_t number : *list) texts.push_back(std::to_string(number));
  else
    texts.emplace_back();
  for (const LateNumber& late : node.late) {
    if (static_cast<std::size_t>(late.attribute) != attribute) continue;
    const Value input = node.inputs[static_cast<std::size_t>(late.input)];
    if (late.index < 0) return name(input);
    const bool is_scalar = !graph.unknown(input).rank && graph.spec(input).shape.rank() == 0;
    texts[static_cast<std::size_t>(std::max(late.element, 0))] =
        name(input) + (is_scalar ? "" : "[" + std::to_string(late.index) + "]");
  }
  const std::string all = joined(texts, [](const std::string& text) { return text; });
  return std::holds_alternative<std::vector<std::int64_t>>(value) ? "[" + all + "]" : all;
}

bool is_open(const Graph& graph, const Node& node) {
  return !node.unknown.empty() || !node.late.empty() ||
         std::ranges::any_of(node.inputs, [&](Value input) { return bool(graph.unknown(input)); });
}

std::size_t operand_count(const Node& node) {
  std::size_t count = node.inputs.size();
  for (const LateNumber& late : node.late) count = std::min(count, static_cast<std::size_t>(late.input));
  return count;
}

void set_results(Node& node, std::span<const ValueSpec> results) {
  node.results.clear();
  node.unknown.clear();
  const bool any = std::ranges::any_of(results, [](const ValueSpec& spec) { return bool(spec.unknown); });
  for (const ValueSpec& spec : results) {
    node.results.push_back({spec.dtype, spec.shape});
    if (any) node.unknown.push_back(spec.unknown);
  }
}

std::string Graph::text() const {
  std::vector<Value> parameters;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].kind == NodeKind::parameter) parameters.push_back({static_cast<std::int32_t>(i), 0});
  std::string lines =
      name + "(" +
      joined(parameters,
             [&](Value value) { return name_of(*this, value) + ": " + to_string(value_spec(value)); }) +
      ") -> " + joined(results, [&](Value value) { return name_of(*this, value); }) + "\n";
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (const std::string line = line_of(*this, i); !line.empty()) lines += line + "\n";
  return lines;
}

bool has_effect(const Node& node) {
  static const OpDef* const check_numerics = Registry::instance().find("check_numerics");  // it raises
  switch (node.kind) {
    case NodeKind::constant:
    case NodeKind::read:
    case NodeKind::custom:
    case NodeKind::absent:
      return false;
    case NodeKind::op:
      // Its purpose is to fail where a value is not finite, whether that is read or not.
      return (node.draws && node.draw_of == -1) || node.op == check_numerics;
    case NodeKind::branch:
    case NodeKind::unwind:
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
