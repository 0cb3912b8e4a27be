#include "engine/graph/taped_graph.h"

#include <algorithm>
#include <set>

#include "engine/ops/core/alias.h"
#include "engine/tensor/error.h"

namespace tapedeck::graph {
namespace {

constexpr std::size_t no_place = SIZE_MAX;

bool reads_variables(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.kind == NodeKind::read ||
           std::ranges::any_of(node.graphs, [](const auto& inner) { return reads_variables(*inner); });
  });
}

/// Where the value's place in the list is; it is added if it is not there.
std::size_t place_in(std::vector<Value>& list, Value value) {
  const auto found = std::find(list.begin(), list.end(), value);
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  list.push_back(value);
  return list.size() - 1;
}

bool is_gather_of_rows(const Node& node, const std::vector<Value>& inputs) {
  return node.op->form == Form::gather && std::ranges::find(inputs, node.inputs[0]) != inputs.end();
}

/// By node: whether a tape that knows the inputs would have it. Nothing where that is not for one call.
std::optional<std::vector<bool>> taped_nodes(const Graph& graph, const std::vector<Value>& inputs) {
  std::set<Value> known(inputs.begin(), inputs.end());
  std::vector<bool> taped(graph.nodes.size());
  std::set<std::uint64_t> variables;
  std::size_t count = 0;
  for (const Value input : inputs)
    if (const auto& variable = graph.nodes[static_cast<std::size_t>(input.node)].variable)
      if (!variables.insert(variable->id()).second) return std::nullopt;  // its values may be the same tensor
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool is_reached =
        std::ranges::any_of(node.inputs, [&](Value value) { return known.contains(value); });
    if (node.kind != NodeKind::op) {
      if (node.kind == NodeKind::assign || node.results.empty()) continue;
      if (is_reached || node.kind == NodeKind::custom || node.kind == NodeKind::host) return std::nullopt;
      if (std::ranges::any_of(node.graphs, [](const auto& inner) { return reads_variables(*inner); }))
        return std::nullopt;
      continue;
    }
    if (!is_reached || !node.op->vjp) continue;
    if (is_gather_of_rows(node, inputs)) return std::nullopt;
    taped[i] = true;
    ++count;
    for (std::size_t k = 0; k < node.results.size(); ++k)
      if (has_gradients(node.results[k].dtype))
        known.insert({static_cast<std::int32_t>(i), static_cast<std::int32_t>(k)});
  }
  return count > 1 ? std::optional(taped) : std::nullopt;
}

/// Of these, those on which a result depends by nodes that a tape has.
void leave_out_unused(const Graph& graph, std::vector<bool>& taped) {
  std::vector<bool> used(graph.nodes.size());
  for (const Value result : graph.results) used[static_cast<std::size_t>(result.node)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    taped[i] = taped[i] && used[i];
    if (!taped[i]) continue;
    for (const Value input : graph.nodes[i].inputs) used[static_cast<std::size_t>(input.node)] = true;
  }
}

}  // namespace

std::shared_ptr<TapedGraph> TapedGraph::make(const Graph& graph, std::vector<Value> inputs) {
  std::optional<std::vector<bool>> taped = taped_nodes(graph, inputs);
  if (!taped) return nullptr;
  leave_out_unused(graph, *taped);
  std::shared_ptr<TapedGraph> made(new TapedGraph(graph, std::move(inputs), std::move(*taped)));
  try {
    made->traced(made->everything());
  } catch (const Interrupted&) {
    throw;
  } catch (
      const Error&) {  // a VJP that fails, or whose shapes depend on values: it does so where it is played
    return nullptr;
  }
  return made;
}

TapedGraph::Request TapedGraph::everything() const {
  return {std::vector<bool>(result_outputs_, true), std::vector<bool>(inputs_.size()),
          std::vector<bool>(inputs_.size(), true), std::vector<bool>(result_outputs_),
          tapedeck::detail::thread_state.recording > 1};
}

TapedGraph::TapedGraph(const Graph& graph, std::vector<Value> inputs, std::vector<bool> taped)
    : graph_(graph), inputs_(std::move(inputs)), takes_part_(std::move(taped)) {
  const auto depends = [&](Value value) {
    return takes_part_[static_cast<std::size_t>(value.node)] && has_gradients(graph_.spec(value).dtype);
  };
  for (const Value result : graph_.results)
    places_.push_back(depends(result) ? place_in(outputs_, result) : no_place);
  result_outputs_ = outputs_.size();
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!takes_part_[i]) continue;
    const Node& node = graph_.nodes[i];
    const VjpReads reads = node.op->vjp_reads;
    if (reads == VjpReads::inputs || reads == VjpReads::everything)
      for (const Value input : node.inputs) place_in(kept_, input);
    if (reads == VjpReads::outputs || reads == VjpReads::everything)
      for (std::size_t k = 0; k < node.results.size(); ++k)
        place_in(kept_, {static_cast<std::int32_t>(i), static_cast<std::int32_t>(k)});
  }
  for (const Value kept : kept_)
    if (depends(kept)) place_in(outputs_, kept);
  Graph forward = graph_;
  const auto place = [&](Value value) { return place_in(forward.results, value); };
  // The results stay the first ones; each may be there more than once.
  for (const Value output : outputs_) output_places_.push_back(place(output));
  for (const Value kept : kept_) kept_places_.push_back(place(kept));
  for (const Value input : inputs_) input_places_.push_back(place(input));
  forward_ = std::make_unique<const Executable>(std::move(forward));
}

Tensors TapedGraph::run(std::span<const Tensor> arguments, const Draws* outer) {
  const auto draws = std::make_shared<Draws>();
  Tensors found = forward_->run(arguments, {outer, draws.get(), true});
  Tensors inputs, outputs;
  for (const std::size_t place : input_places_) inputs.push_back(found[place]);
  for (const std::size_t place : output_places_) outputs.push_back(found[place]);
  tapedeck::detail::make_outputs_distinct(inputs, outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) found[output_places_[i]] = outputs[i];
  Tensors results;
  for (std::size_t i = 0; i < places_.size(); ++i)
    results.push_back(places_[i] == no_place ? found[i] : outputs[places_[i]]);
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
