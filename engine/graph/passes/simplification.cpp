#include "engine/graph/passes/simplification.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>

#include "engine/ops/core/observer.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/core/tracer.h"
#include "engine/tensor/subnormals.h"

namespace tapedeck::graph {
namespace {

/// f(f(x)) has the bits of f(x).
constexpr std::array<std::string_view, 7> settled_after_one = {"abs",  "relu",  "relu6", "floor",
                                                               "ceil", "round", "trunc"};

class Simplifier {
 public:
  explicit Simplifier(const Graph& graph) : graph_(graph) {}

  /// The value whose bits the node's result has.
  std::optional<Value> same_as(const Node& node) const {
    const bool is_plain = node.kind == NodeKind::op && !node.draws && !node.device && node.late.empty() &&
                          node.name.empty() && node.results.size() == 1 && !node.inputs.empty() &&
                          !is_open(graph_, node);
    if (!is_plain) return std::nullopt;
    for (const std::optional<Value> found : {undone(node), without_effect(node)})
      if (found && has_form_of(node, *found)) return found;
    return std::nullopt;
  }

 private:
  const Node& node_of(Value value) const { return graph_.nodes[static_cast<std::size_t>(value.node)]; }
  const std::string& name_of(const Node& node) const { return node.op->name; }
  bool has_form_of(const Node& node, Value other) const {
    const TensorSpec& spec = graph_.spec(other);
    return spec.dtype == node.results[0].dtype && spec.shape == node.results[0].shape &&
           !graph_.unknown(other);
  }

  /// Of a call that undoes, or does again, what the call before it did.
  std::optional<Value> undone(const Node& node) const {
    const Node& before = node_of(node.inputs[0]);
    if (before.kind != NodeKind::op || before.inputs.empty() || before.device) return std::nullopt;
    const bool is_twice = before.op == node.op;
    if (is_twice && std::ranges::find(settled_after_one, name_of(node)) != settled_after_one.end())
      return node.inputs[0];
    if (is_twice && name_of(node) == "negative") return before.inputs[0];
    if (is_twice && name_of(node) == "transpose" && turns_back(before, node)) return before.inputs[0];
    if (is_twice && name_of(node) == "reshape") return before.inputs[0];
    return std::nullopt;
  }

  std::optional<Value> without_effect(const Node& node) const {
    const std::string& name = name_of(node);
    if (name == "identity" || name == "reshape" || name == "cast") return node.inputs[0];
    if (name == "transpose" && !permutation(node).empty() && std::ranges::is_sorted(permutation(node)))
      return node.inputs[0];
    if (node.inputs.size() != 2 || flush_denormal()) return std::nullopt;
    if (name == "multiply" && is_number(node.inputs[0], 1.0)) return node.inputs[1];
    if ((name == "multiply" || name == "divide") && is_number(node.inputs[1], 1.0)) return node.inputs[0];
    if (name == "subtract" && is_number(node.inputs[1], 0.0)) return node.inputs[0];
    if (name == "add" && is_number(node.inputs[1], -0.0)) return node.inputs[0];
    if (name == "add" && is_number(node.inputs[0], -0.0)) return node.inputs[1];
    return std::nullopt;
  }

  /// The axes of a transposition; empty where it is another call.
  static std::vector<std::int64_t> permutation(const Node& node) {
    const int rank = node.results[0].shape.rank();
    const Attribute& axes = node.op->value_of(node.attributes, "perm");
    if (node.op->value_of(node.attributes, "conjugate") != Attribute(false)) return {};
    std::vector<std::int64_t> found(static_cast<std::size_t>(rank));
    if (std::holds_alternative<std::monostate>(axes)) {
      std::iota(found.rbegin(), found.rend(), 0);
      return found;
    }
    const auto* list = std::get_if<std::vector<std::int64_t>>(&axes);
    if (!list || list->size() != found.size()) return {};
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = (*list)[i] < 0 ? (*list)[i] + rank : (*list)[i];
    return found;
  }
  static bool turns_back(const Node& first, const Node& second) {
    const std::vector<std::int64_t> one = permutation(first), other = permutation(second);
    if (one.empty() || one.size() != other.size()) return false;
    for (std::size_t i = 0; i < one.size(); ++i)
      if (one[static_cast<std::size_t>(other[i])] != static_cast<std::int64_t>(i)) return false;
    return true;
  }

  /// Whether the value is a constant of that one number, with its sign, that no tape may watch.
  bool is_number(Value value, double number) const {
    const Node& node = node_of(value);
    if (node.kind != NodeKind::constant || !node.constant.on_cpu() || node.constant.count() != 1 ||
        node.constant.id() <= graph_.watched_up_to)
      return false;
    const DType dtype = node.constant.dtype();
    if (dtype != DType::float32 && dtype != DType::float64) return false;
    const double found = node.constant.item();
    return found == number && std::signbit(found) == std::signbit(number);
  }

  const Graph& graph_;
};

constexpr std::int64_t most_filled = 1024;  ///< elements of a constant that is made

bool fills_its_shape(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::op && (node.op->name == "ones_like" || node.op->name == "zeros_like") &&
         !node.device && node.late.empty() && !is_open(graph, node) &&
         element_count(node.results[0].shape) <= most_filled && has_gradients(node.results[0].dtype);
}

/// Nodes whose results only ops read: other readers, and the caller, may tell tensors of the same bits apart.
std::vector<bool> read_by_ops_alone(const Graph& graph) {
  std::vector<bool> found(graph.nodes.size(), true);
  for (const Value result : graph.results) found[static_cast<std::size_t>(result.node)] = false;
  for (const Node& node : graph.nodes)
    if (node.kind != NodeKind::op || node.op->updates)
      for (const Value input : node.inputs) found[static_cast<std::size_t>(input.node)] = false;
  return found;
}

}  // namespace

Passed simplify(const Graph& graph) {
  if (uses_tapes(graph) || graph.has_gaps) return {graph, {}};
  // Seen through what was merged before: the second of two negations behind an identity is one, too.
  Graph seen = graph;
  const std::vector<bool> may_go = read_by_ops_alone(graph);
  std::vector<std::int32_t> into(graph.nodes.size());
  std::iota(into.begin(), into.end(), 0);
  std::vector<bool> stays(graph.nodes.size(), true);
  std::vector<Change> changes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (Value& input : seen.nodes[i].inputs) input.node = into[static_cast<std::size_t>(input.node)];
    if (!may_go[i]) continue;
    const std::optional<Value> same = Simplifier(seen).same_as(seen.nodes[i]);
    // rebuilt() moves readers to results of the same number.
    if (!same || same->result != 0) continue;
    into[i] = same->node;
    stays[i] = false;
    changes.push_back({ChangeKind::merged, static_cast<std::int32_t>(i), same->node});
  }
  for (std::size_t i = 0; i < seen.nodes.size(); ++i) {
    if (!stays[i] || !may_go[i] || !fills_its_shape(seen, seen.nodes[i])) continue;
    Node& node = seen.nodes[i];
    const TensorSpec& spec = node.results[0];
    const TracerScope computing(nullptr);
    const QuietScope quiet;
    const DeviceScope here{Device{}};
    node.constant =
        node.op->name == "ones_like" ? ops::ones(spec.shape, spec.dtype) : ops::zeros(spec.shape, spec.dtype);
    node.kind = NodeKind::constant;
    node.op = nullptr;
    node.inputs.clear();
    node.attributes = {};
    changes.push_back({ChangeKind::folded, static_cast<std::int32_t>(i), static_cast<std::int32_t>(i)});
  }
  if (changes.empty()) return {graph, {}};
  std::ranges::sort(changes, {}, &Change::node);
  return {rebuilt(seen, stays, into), std::move(changes)};
}

}  // namespace tapedeck::graph
