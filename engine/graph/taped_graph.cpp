#include "engine/graph/taped_graph.h"

#include <algorithm>

#include "engine/graph/forward_trace.h"
#include "engine/ops/core/alias.h"
#include "engine/tensor/error.h"

namespace tapedeck::graph {
namespace {

/// Where the value's place in the list is; it is added if it is not there.
std::size_t place_in(std::vector<Value>& list, Value value) {
  const auto found = std::find(list.begin(), list.end(), value);
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  list.push_back(value);
  return list.size() - 1;
}

/// Whether what runs reads the parameter.
bool is_read(const Graph& graph, std::int32_t parameter) {
  const auto is_it = [&](Value value) { return value.node == parameter; };
  return std::ranges::any_of(graph.results, is_it) || std::ranges::any_of(graph.nodes, [&](const Node& node) {
           return std::ranges::any_of(node.inputs, is_it);
         });
}

}  // namespace

std::shared_ptr<TapedGraph> TapedGraph::make(const Graph& graph, std::vector<Value> inputs, bool alone) {
  std::optional<TapedNodes> nodes = taped_nodes(graph, inputs, alone, false);
  if (!nodes || nodes->count < 2) return nullptr;
  const bool has_controls = !nodes->controls.empty();
  std::shared_ptr<TapedGraph> made(new TapedGraph(graph, std::move(inputs), std::move(*nodes), alone, false));
  try {
    made->traced(made->everything());
    if (has_controls) {  // what the program may ask for later must be possible, too
      Request all = made->everything();
      all.sources.assign(all.sources.size(), true);
      made->trace(all);
      all.sums.assign(all.sums.size(), Arrival::always);
      made->trace(all);
    }
  } catch (const Interrupted&) {
    throw;
  } catch (
      const Error&) {  // a VJP that fails, or whose shapes depend on values: it does so where it is played
    take_failed_location();
    return nullptr;
  }
  return made;
}

std::shared_ptr<TapedGraph> TapedGraph::make_nested(const Graph& graph, std::vector<Value> inputs) {
  std::optional<TapedNodes> nodes = taped_nodes(graph, inputs, true, true);
  if (!nodes) return nullptr;
  std::shared_ptr<TapedGraph> made(new TapedGraph(graph, std::move(inputs), std::move(*nodes), true, true));
  // One tensor as two results has one gradient, to which their readers add in turns.
  std::vector<std::size_t> places;
  for (const std::size_t place : made->places_)
    if (place != no_place) places.push_back(place);
  std::ranges::sort(places);
  return std::ranges::adjacent_find(places) == places.end() ? made : nullptr;
}

std::optional<Graph> TapedGraph::gradient_graph(const Graph& graph, std::vector<Value> inputs, bool alone) {
  std::optional<TapedNodes> nodes = taped_nodes(graph, inputs, alone, false);
  if (!nodes || nodes->count < 2) return std::nullopt;
  const std::shared_ptr<TapedGraph> taped(
      new TapedGraph(graph, std::move(inputs), std::move(*nodes), alone, false));
  std::optional<Graph> found;
  taped->trace(taped->everything(), &found);
  return found;
}

TapedGraph::Request TapedGraph::nothing() const {
  return {std::vector<Arrival>(result_outputs_), std::vector<Arrival>(inputs_.size()),
          std::vector<bool>(inputs_.size()), std::vector<bool>(result_outputs_)};
}

TapedGraph::Request TapedGraph::everything() const {
  Request request = nothing();
  request.cotangents.assign(result_outputs_, Arrival::always);
  request.wanted.assign(inputs_.size(), true);
  request.is_taped = tapedeck::detail::thread_state.recording > 1;
  return request;
}

TapedGraph::TapedGraph(const Graph& graph, std::vector<Value> inputs, TapedNodes nodes, bool alone,
                       bool nested)
    : alone_(alone),
      nested_(nested),
      inputs_(std::move(inputs)),
      takes_part_(std::move(nodes.taped)),
      controls_(std::move(nodes.controls)),
      graph_(graph) {
  for (const auto& entry : controls_) add_kept_results(entry.first);
  const auto depends = [&](Value value) {
    const bool is_input = nested_ && std::ranges::find(inputs_, value) != inputs_.end();
    if (!has_gradients(graph_.spec(value).dtype)) return false;
    if (is_input) return true;
    if (!takes_part_[static_cast<std::size_t>(value.node)]) return false;
    const auto control = controls_.find(value.node);
    return control == controls_.end() ||
           std::ranges::find(control->second.outputs, static_cast<std::size_t>(value.result)) !=
               control->second.outputs.end();
  };
  for (const Value result : graph_.results)
    places_.push_back(depends(result) ? place_in(outputs_, result) : no_place);
  result_outputs_ = outputs_.size();
  collect_kept();
  // Another tape, which may record VJPs, must know what they read.
  for (const Value kept : kept_)
    if (!alone_ && depends(kept)) place_in(outputs_, kept);
  Graph forward = forward_graph();
  if (nested_)
    forward_graph_ = std::move(forward);
  else
    forward_ = std::make_unique<const Executable>(std::move(forward));
}

Graph TapedGraph::forward_graph() {
  Graph forward = graph_;
  const auto place = [&](Value value) { return place_in(forward.results, value); };
  // The results stay the first ones; each may be there more than once.
  for (const Value output : outputs_) output_places_.push_back(place(output));
  for (const Value kept : kept_) kept_places_.push_back(place(kept));
  for (const Value input : inputs_) input_places_.push_back(place(input));
  return forward;
}

void TapedGraph::collect_kept() {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
    if (takes_part_[i]) keep_of(static_cast<std::int32_t>(i));
}

/// What the node's VJP reads.
void TapedGraph::keep_of(std::int32_t number) {
  const Node& node = graph_.nodes[static_cast<std::size_t>(number)];
  const auto keep_results = [&](std::size_t first) {
    for (std::size_t k = first; k < node.results.size(); ++k)
      place_in(kept_, {number, static_cast<std::int32_t>(k)});
  };
  if (node.kind == NodeKind::op) {
    const VjpReads reads = node.op->vjp_reads;
    if (reads == VjpReads::inputs || reads == VjpReads::everything)
      for (const Value input : node.inputs) place_in(kept_, input);
    if (reads == VjpReads::outputs || reads == VjpReads::everything) keep_results(0);
  } else if (node.kind == NodeKind::custom) {
    const OwnGradient& own = *node.own_gradient;
    const Graph& gradient = *node.graphs[0];
    for (std::size_t i = own.inputs + own.outputs; i < node.inputs.size(); ++i)
      if (is_read(gradient, static_cast<std::int32_t>(gradient.arguments + i - own.inputs - own.outputs)))
        place_in(kept_, node.inputs[i]);
  } else {
    if (node.kind == NodeKind::branch) place_in(kept_, node.inputs[0]);
    keep_results(own_results_.at(number));
  }
}

/// A nested graph's results, and behind them what it keeps.
Graph TapedGraph::keeping_graph() const {
  Graph graph = forward_graph_;
  std::vector<Value> results(graph_.results);
  for (const std::size_t place : kept_places_) results.push_back(forward_graph_.results[place]);
  graph.results = std::move(results);
  return graph;
}

/// The side of a branch: what it keeps, and nothing in place of what the other one keeps.
Graph TapedGraph::keeping_side(std::int32_t number, std::size_t side) const {
  const TapedControl& control = controls_.at(number);
  Graph graph = control.graphs[side]->keeping_graph();
  const TapedGraph& other = *control.graphs[1 - side];
  std::vector<Value> absent;
  for (const Value kept : other.kept_) {
    Node node;
    node.kind = NodeKind::absent;
    node.results.push_back(other.graph_.spec(kept));
    absent.push_back({static_cast<std::int32_t>(graph.nodes.size()), 0});
    graph.nodes.push_back(std::move(node));
  }
  const std::size_t own = control.graphs[side]->graph_.results.size();
  const auto place =
      side == 0 ? graph.results.end() : graph.results.begin() + static_cast<std::ptrdiff_t>(own);
  graph.results.insert(place, absent.begin(), absent.end());
  return graph;
}

void TapedGraph::add_kept_results(std::int32_t number) {
  Node& node = graph_.nodes[static_cast<std::size_t>(number)];
  const TapedControl& control = controls_.at(number);
  own_results_[number] = node.results.size();
  if (node.kind == NodeKind::branch) {
    for (std::size_t side = 0; side < 2; ++side)
      node.graphs[side] = std::make_shared<const Graph>(keeping_side(number, side));
    for (const auto& side : control.graphs)
      for (const Value kept : side->kept_) node.results.push_back(side->graph_.spec(kept));
  } else {
    node.graphs[1] = std::make_shared<const Graph>(control.graphs[0]->keeping_graph());
    node.results.push_back({DType::int64, Shape{}});
  }
}

Tensors TapedGraph::run(std::span<const Tensor> arguments, const Draws* outer) {
  const auto draws = std::make_shared<Draws>();
  Tensors found = forward_->run(arguments, {outer, draws.get(), true});
  Tensors inputs, outputs;
  for (const std::size_t place : input_places_) inputs.push_back(found[place]);
  for (const std::size_t place : output_places_) outputs.push_back(found[place]);
  // What a branch or a loop passes on is that tensor, whose gradient gets what its readers add.
  Tensors passed(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (controls_.contains(outputs_[i].node) &&
        std::ranges::any_of(inputs, [&](const Tensor& input) { return input.same_body(outputs[i]); }))
      passed[i] = outputs[i];
  tapedeck::detail::make_outputs_distinct(inputs, outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) found[output_places_[i]] = outputs[i];
  Tensors results;
  for (std::size_t i = 0; i < places_.size(); ++i)
    results.push_back(places_[i] == no_place ? found[i]
                      : passed[places_[i]]   ? passed[places_[i]]
                                             : outputs[places_[i]]);
  if (!tapedeck::detail::recording_tape(inputs)) return results;

  auto kept = std::make_shared<Tensors>();
  for (const std::size_t place : kept_places_) kept->push_back(found[place]);
  const auto vjp = [self = shared_from_this(), kept, draws](const tapedeck::detail::SummingRequest& request) {
    return self->gradient(request, *kept, *draws);
  };
  tapedeck::detail::TapeStack& stack = *tapedeck::detail::TapeStack::if_any();
  // One tape alone, which will have stopped when its VJPs run, needs nothing of what was kept as a result.
  const tapedeck::detail::ThreadState& thread = tapedeck::detail::thread_state;
  const bool results_alone = thread.recording == 1 && !stack.innermost_for(inputs)->persistent;
  const std::span<const Tensor> seen =
      std::span<const Tensor>(outputs).first(results_alone ? result_outputs_ : outputs.size());
  auto call = std::make_shared<const tapedeck::detail::CustomCall>(
      tapedeck::detail::CustomCall{graph_.name, {}, vjp});
  static const Attributes none;
  stack.write({nullptr, std::move(call), inputs, none, seen, 0});
  return results;
}

}  // namespace tapedeck::graph
