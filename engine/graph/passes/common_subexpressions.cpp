#include <bit>
#include <map>
#include <numeric>
#include <tuple>

#include "engine/graph/passes/passes.h"

namespace tapedeck::graph {
namespace {

/// An attribute as text that tells every two values apart: 0.0 from -0.0, and one NaN from another.
std::string exact(const Attribute& attribute) {
  std::string text = std::to_string(attribute.index()) + ":";
  if (const auto* real = std::get_if<double>(&attribute))
    return text + std::to_string(std::bit_cast<std::uint64_t>(*real));
  return text + to_string(attribute);
}

using Key = std::tuple<int, std::string, std::vector<Value>, std::string, bool>;

/// Nodes of equal keys give the same results.
Key key_of(const Node& node) {
  std::string attributes;
  for (std::size_t i = 0; i < node.attributes.size(); ++i) {
    const std::string text = exact(node.attributes[i]);
    attributes += std::to_string(text.size()) + "," + text;
  }
  for (const LateNumber& late : node.late)
    attributes += "late " + std::to_string(late.attribute) + "," + std::to_string(late.element) + "," +
                  std::to_string(late.input) + "," + std::to_string(late.index);
  return {node.op->index,
          std::move(attributes),
          {node.inputs.begin(), node.inputs.end()},
          node.device ? to_string(*node.device) : std::string(),
          node.name == sum_name};
}

constexpr std::size_t most_compared = std::size_t{4} << 10;  // of a constant that is compared

/// Whether a constant with the same bytes can take its place: no tape outside may watch it, and its memory
/// keeps nothing else alive, as that of an object or an array does.
bool is_interchangeable(const Graph& graph, const Node& node) {
  const Tensor& constant = node.constant;
  return constant.on_cpu() && constant.dtype() != DType::string && constant.bytes() <= most_compared &&
         !constant.storage()->kept() && constant.id() > graph.watched_up_to;
}

std::string content_of(const Tensor& tensor) {
  const Tensor whole = tensor.make_contiguous();
  return {reinterpret_cast<const char*>(whole.raw()), whole.bytes()};
}

/// Constants with equal keys are equal, bit for bit.
Key key_of_constant(const Node& node) {
  return {-1, to_string(spec_of(node.constant)) + content_of(node.constant), {}, std::string(), false};
}

}  // namespace

Passed merge_common(const Graph& graph) {
  if (uses_tapes(graph)) return {graph, {}};
  std::vector<std::int32_t> into(graph.nodes.size());
  std::iota(into.begin(), into.end(), 0);
  std::vector<bool> stays(graph.nodes.size(), true);
  std::map<Key, std::int32_t> seen;
  Passed passed;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node node = graph.nodes[i];
    const bool is_constant = node.kind == NodeKind::constant && is_interchangeable(graph, node);
    if (!is_constant && (node.kind != NodeKind::op || node.draws)) continue;
    for (Value& input : node.inputs) input.node = into[static_cast<std::size_t>(input.node)];
    const auto number = static_cast<std::int32_t>(i);
    const auto [first, is_new] = seen.emplace(is_constant ? key_of_constant(node) : key_of(node), number);
    if (is_new) continue;
    into[i] = first->second;
    stays[i] = false;
    passed.changes.push_back({ChangeKind::merged, number, first->second});
  }
  passed.graph = rebuilt(graph, stays, into);
  return passed;
}

}  // namespace tapedeck::graph
