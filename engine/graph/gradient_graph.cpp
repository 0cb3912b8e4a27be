#include "engine/graph/gradient_graph.h"

#include <algorithm>

#include "engine/graph/arrays/arrays.h"
#include "engine/graph/hoisted_reads.h"
#include "engine/graph/outer_gradients.h"
#include "engine/graph/specializations.h"
#include "engine/graph/taped_graph.h"
#include "engine/tape/tape_state.h"
#include "engine/tensor/error.h"

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

bool has_array_calls(const Node& node) {
  return is_array_call(node) || std::ranges::any_of(node.graphs, [](const auto& inner) {
           return std::ranges::any_of(inner->nodes, has_array_calls);
         });
}

/// Why no inputs make the gradient of a graph with that node a graph; nullptr: it is no obstacle.
const char* obstacle_of(const Node& node) {
  if (node.tape) return "it plays a tape of its own";
  if (has_differentiable_calls(node))
    return has_array_calls(node) ? "it has a TensorArray or a list that grows, whose ops the tape has to see"
                                 : "each run calls Python, whose ops the tape has to see";
  if (node.kind == NodeKind::unwind ||
      (node.kind == NodeKind::loop && node.results.size() > node.graphs[1]->arguments))
    return "it is a gradient itself";
  return nullptr;
}

std::string name_of_input(const Node& node) {
  if (node.kind != NodeKind::read) return node.name;
  const std::string& name = node.variable->name();
  return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
}

/// "x, w, b and 5 more"
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 6;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < shown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > shown) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

}  // namespace

GradientGraphs::GradientGraphs(const Graph& before)
    : hoisted_(hoisted_reads(before)), graph_(hoisted_ ? *hoisted_ : before) {
  const Graph& graph = graph_;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (const NodeKind kind = graph.nodes[i].kind; (kind == NodeKind::parameter || kind == NodeKind::read) &&
                                                   has_gradients(graph.nodes[i].results[0].dtype))
      readable_.push_back(i);
  if (has_unknown_shapes(graph))
    why_played_ =
        "some shapes are known only when it runs (while nothing records, each of the first such "
        "shapes has a graph of its own)";
  if (graph.has_gaps || has_unknown_shapes(graph)) return;
  std::size_t ops = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool is_control = node.kind == NodeKind::branch || node.kind == NodeKind::loop;
    if (const char* obstacle = obstacle_of(node)) {
      why_played_ = obstacle;
      return;
    }
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
  if (!is_possible_) why_played_ = "no more than one of its ops has a gradient";
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

void GradientGraphs::note_tapes(std::span<const Tensor> arguments, OuterGradients& notes) {
  const tapedeck::detail::TapeStack* stack = tapedeck::detail::TapeStack::if_any();
  if (!stack || has_gradients(DType::int32)) return;
  OuterGradients::Seen seen;
  seen.alone = depends_on_tapes_ && a_single_tape_records();
  std::vector<std::string> names;
  std::vector<bool> found;
  for (const std::size_t number : readable_) {
    const Node& node = graph_.nodes[number];
    const Tensor value = node.kind == NodeKind::read ? node.variable->peek() : arguments[number];
    if (!value) return;  // the run fails
    found.push_back(node.kind == NodeKind::read ? may_know(*stack, *node.variable, value.id())
                                                : knows(*stack, value.id()));
    if (found.back() && names.size() < 100) names.push_back(name_of_input(node));
  }
  if (names.empty()) return;
  found.push_back(seen.alone);
  {
    const std::lock_guard lock(mutex_);
    if (found == noted_last_) return;
    noted_last_ = std::move(found);
  }
  seen.inputs = some_of(names);
  seen.why_played = why_played_;
  if (is_possible_) {
    if (auto known = known_to_tapes(arguments))
      seen.known = std::move(*known);
    else if (std::ranges::any_of(inner_constants_, [&](std::uint64_t id) { return knows(*stack, id); }))
      seen.why_played = "a tape watches a constant that is read inside a branch or a loop";
    else
      seen.why_played = "one tensor is more than one of its inputs, which add to one gradient in turns";
  }
  notes.note(std::move(seen));
}

Graph GradientGraphs::traced_gradient(const std::vector<bool>& known, bool alone) const {
  if (!is_possible_ || known.size() != inputs_.size()) fail<UnimplementedError>(why_played_);
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i]) inputs.push_back(inputs_[i]);
  std::optional<Graph> found = TapedGraph::gradient_graph(graph_, std::move(inputs), alone);
  if (found) return std::move(*found);
  if (depends_on_tapes_ && !alone)
    fail<UnimplementedError>(
        "it has branches, loops or gradients of its own, and the tape is persistent or not "
        "the only one that records");
  fail<UnimplementedError>(
      "what it gathers, passes through a branch or a loop, or reads twice adds to one "
      "gradient in turns, or no more than one op takes part");
}

std::optional<Tensors> GradientGraphs::run_taped(std::span<const Tensor> arguments, const Draws* outer,
                                                 OuterGradients* notes) {
  if (notes && !noted_.load(std::memory_order_relaxed) && !noted_.exchange(true))
    note_tapes(arguments, *notes);
  if (!is_possible_ || has_gradients(DType::int32)) return std::nullopt;
  const std::optional<std::vector<bool>> known = known_to_tapes(arguments);
  if (!known) return std::nullopt;
  const std::shared_ptr<TapedGraph> taped = taped_graph(*known, depends_on_tapes_ && a_single_tape_records());
  if (!taped) return std::nullopt;
  return taped->run(arguments, outer);
}

}  // namespace tapedeck::graph
