#include "engine/graph/gradient_graph.h"

#include <algorithm>

#include "engine/graph/arrays/arrays.h"
#include "engine/graph/hoisted_reads.h"
#include "engine/graph/specializations.h"
#include "engine/graph/taped_graph.h"
#include "engine/tape/tape_state.h"

namespace tapedeck::graph {
namespace {

bool is_outer_constant(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::constant && node.constant.id() <= graph.watched_up_to;
}

/// Those of the graphs inside of the node that may have gradients.
void add_constants_inside(const Graph& graph, const Node& node, std::vector<std::uint64_t>& constants) {
  for (const auto& inner : node.graphs)
    for (const Node& each : inner->nodes) {
      if (is_outer_constant(graph, each) && has_gradients(each.results[0].dtype))
        constants.push_back(each.constant.id());
      add_constants_inside(graph, each, constants);
    }
}

/// Whether a tape may know the value of the variable when it is read.
bool may_know(const tapedeck::detail::TapeStack& stack, const Variable& variable, std::uint64_t value) {
  return std::ranges::any_of(stack.tapes, [&](const auto& tape) {
    return tape->records() && ((tape->watch_accessed_variables && variable.trainable()) ||
                               tape->watches(variable) || tape->slots.find(value) >= 0);
  });
}

bool knows(const tapedeck::detail::TapeStack& stack, std::uint64_t tensor) {
  return std::ranges::any_of(
      stack.tapes, [&](const auto& tape) { return tape->records() && tape->slots.find(tensor) >= 0; });
}

/// Whether it will have stopped when its VJPs run, so that no tape has what they call.
bool a_single_tape_records() {
  const auto& tapes = tapedeck::detail::TapeStack::if_any()->tapes;
  return tapedeck::detail::thread_state.recording == 1 &&
         std::ranges::none_of(tapes, [](const auto& tape) { return tape->records() && tape->persistent; });
}

}  // namespace

GradientGraphs::GradientGraphs(const Graph& before)
    : hoisted_(hoisted_reads(before)), graph_(hoisted_ ? *hoisted_ : before) {
  const Graph& graph = graph_;
  if (graph.has_gaps || has_unknown_shapes(graph)) return;
  std::size_t ops = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool is_control = node.kind == NodeKind::branch || node.kind == NodeKind::loop;
    if (node.tape || node.kind == NodeKind::unwind || has_differentiable_calls(node)) return;
    if (node.kind == NodeKind::loop && node.results.size() > node.graphs[1]->arguments) return;
    add_constants_inside(graph, node, inner_constants_);
    depends_on_tapes_ = depends_on_tapes_ || is_control || node.kind == NodeKind::custom;
    if (is_control)
      ops += 2;
    else if (node.kind == NodeKind::custom || (node.kind == NodeKind::op && node.op->vjp))
      ++ops;
    const bool is_input =
        node.kind == NodeKind::parameter || node.kind == NodeKind::read || is_outer_constant(graph, node);
    if (is_input && has_gradients(node.results[0].dtype))
      inputs_.push_back({static_cast<std::int32_t>(i), 0});
  }
  is_possible_ = ops > 1 && !inputs_.empty();
}

GradientGraphs::~GradientGraphs() = default;

/// Of each input whether a tape may know it. Nothing where two of these are the same tensor, and where a
/// branch or a loop reads a constant that a tape knows.
std::optional<std::vector<bool>> GradientGraphs::known_to_tapes(std::span<const Tensor> arguments) const {
  const tapedeck::detail::TapeStack& stack = *tapedeck::detail::TapeStack::if_any();
  if (std::ranges::any_of(inner_constants_, [&](std::uint64_t id) { return knows(stack, id); }))
    return std::nullopt;
  std::vector<bool> known;
  boost::container::small_vector<std::uint64_t, 16> ids;
  for (const Value input : inputs_) {
    const auto number = static_cast<std::size_t>(input.node);
    const Node& node = graph_.nodes[number];
    const bool is_read = node.kind == NodeKind::read;
    const std::uint64_t id = is_read                            ? node.variable->peek().id()
                             : node.kind == NodeKind::parameter ? arguments[number].id()
                                                                : node.constant.id();
    known.push_back(is_read ? may_know(stack, *node.variable, id) : knows(stack, id));
    if (known.back()) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  if (std::adjacent_find(ids.begin(), ids.end()) != ids.end()) return std::nullopt;
  return known;
}

std::shared_ptr<TapedGraph> GradientGraphs::taped_graph(const std::vector<bool>& known, bool alone) {
  const std::pair key(known, alone);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = taped_.find(key); found != taped_.end()) return found->second;
  }
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i]) inputs.push_back(inputs_[i]);
  // Without the lock: this runs ops, which may wait for the host's.
  std::shared_ptr<TapedGraph> made = TapedGraph::make(graph_, std::move(inputs), alone);
  const std::lock_guard lock(mutex_);
  return taped_.emplace(key, std::move(made)).first->second;
}

std::optional<Tensors> GradientGraphs::run_taped(std::span<const Tensor> arguments, const Draws* outer) {
  if (!is_possible_ || has_gradients(DType::int32)) return std::nullopt;
  const std::optional<std::vector<bool>> known = known_to_tapes(arguments);
  if (!known) return std::nullopt;
  const std::shared_ptr<TapedGraph> taped = taped_graph(*known, depends_on_tapes_ && a_single_tape_records());
  if (!taped) return std::nullopt;
  return taped->run(arguments, outer);
}

}  // namespace tapedeck::graph
