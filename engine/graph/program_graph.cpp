#include "engine/graph/program_graph.h"

#include <algorithm>

namespace tapedeck::graph {
namespace {

/// Notes which variables a graph reads before they are assigned to.
struct VariableUses {
  std::vector<Variable> needed, assigned;
  std::set<std::uint64_t> seen_needed, seen_assigned;

  void add(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      if (node.kind == NodeKind::read && !seen_assigned.contains(node.variable->id()) &&
          seen_needed.insert(node.variable->id()).second)
        needed.push_back(*node.variable);
      for (const auto& inner : node.graphs) add(*inner);
      if (node.kind == NodeKind::assign && seen_assigned.insert(node.variable->id()).second)
        assigned.push_back(*node.variable);
    }
  }
};

bool is_operation(const Node& node) {
  switch (node.kind) {
    case NodeKind::assign:
    case NodeKind::host:
      return true;
    case NodeKind::branch:
    case NodeKind::loop:
    case NodeKind::unwind:
      return has_effect(node);
    case NodeKind::op:
      return has_effect(node) && !node.draws;
    default:
      return false;
  }
}

}  // namespace

/// Finds the nodes of a part, and copies them.
class ProgramGraph::Cut {
 public:
  Cut(const ProgramGraph& whole, std::span<const Value> fed)
      : whole_(whole), nodes_(whole.tracer_.so_far().nodes), taken_(nodes_.size()) {
    for (const Value value : fed) {
      places_.emplace(value, Value{static_cast<std::int32_t>(places_.size()), 0});
      if (nodes_[static_cast<std::size_t>(value.node)].kind == NodeKind::parameter) fed_.insert(value.node);
    }
  }

  void take(Value value) {
    if (!places_.contains(value)) take_node(value.node);
  }

  void take_node(std::int32_t number) {
    open_.push_back(number);
    while (!open_.empty()) {
      const auto next = static_cast<std::size_t>(open_.back());
      open_.pop_back();
      if (taken_[next] || fed_.contains(static_cast<std::int32_t>(next))) continue;
      taken_[next] = 1;
      const Node& node = nodes_[next];
      for (const Value input : node.inputs)
        if (!places_.contains(input)) open_.push_back(input.node);
      if (node.draw_of >= 0) open_.push_back(node.draw_of);
      if (node.kind == NodeKind::gradient) take_tape(next);
      if (const auto found = whole_.before_.find(static_cast<std::int32_t>(next));
          found != whole_.before_.end())
        open_.insert(open_.end(), found->second.begin(), found->second.end());
    }
  }

  /// `graph` has the parameters already.
  void copy(Part& part) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!taken_[i]) continue;
      const auto number = static_cast<std::int32_t>(i);
      if (nodes_[i].kind == NodeKind::parameter) {
        part.unfed.push_back(number);
        continue;
      }
      numbers_[number] = static_cast<std::int32_t>(part.graph.nodes.size());
      Node node = nodes_[i];
      for (Value& input : node.inputs) input = placed(input);
      if (node.draw_of >= 0) node.draw_of = numbers_.at(node.draw_of);
      part.nodes.push_back(number);
      part.graph.nodes.push_back(std::move(node));
    }
  }

  Value placed(Value value) const {
    if (const auto fed = places_.find(value); fed != places_.end()) return fed->second;
    const auto copied = numbers_.find(value.node);
    return copied == numbers_.end() ? Value{} : Value{copied->second, value.result};  // of a placeholder
  }

 private:
  /// A gradient that each run computes needs its tape; what that one records leads to the gradient's inputs.
  void take_tape(std::size_t gradient) {
    for (std::size_t i = 0; i < gradient; ++i)
      if (nodes_[i].tape && nodes_[i].tape->tape == nodes_[gradient].tape->tape &&
          nodes_[i].kind != NodeKind::gradient)
        open_.push_back(static_cast<std::int32_t>(i));
  }

  const ProgramGraph& whole_;
  const std::vector<Node>& nodes_;
  std::vector<char> taken_;
  std::vector<std::int32_t> open_;
  std::set<std::int32_t> fed_;                    ///< placeholders
  std::map<Value, Value> places_;                 ///< of what is fed: its parameter
  std::map<std::int32_t, std::int32_t> numbers_;  ///< of a copied node
};

ProgramGraph::ProgramGraph() : tracer_("session") {
  tracer_.set_program_graph();
}

void ProgramGraph::depend(std::int32_t first, std::int32_t last, std::span<const std::int32_t> before) {
  for (const std::int32_t each : before)
    if (each < 0 || each >= size())
      fail<InvalidArgumentError>("control_dependencies: the graph has ", size(),
                                 " nodes, and none of number ", each);
  for (std::int32_t node = std::max(first, 0); node < std::min(last, size()); ++node)
    for (const std::int32_t each : before)
      if (each < node) before_[node].insert(each);
}

std::vector<std::int32_t> ProgramGraph::effects(std::int32_t first, std::int32_t last) const {
  std::vector<std::int32_t> found;
  for (std::int32_t node = std::max(first, 0); node < std::min(last, size()); ++node)
    if (is_operation(tracer_.so_far().nodes[static_cast<std::size_t>(node)])) found.push_back(node);
  return found;
}

ProgramGraph::Part ProgramGraph::part(std::span<const std::pair<std::string, Tensor>> feeds,
                                      std::span<const Tensor> fetches, std::span<const std::int32_t> also) {
  Part part;
  part.graph.name = tracer_.so_far().name;
  std::vector<Value> fed, fetched;
  for (const Tensor& fetch : fetches) fetched.push_back(tracer_.place_of(fetch));  // may add a constant
  for (const auto& [name, tensor] : feeds) {
    fed.push_back(tracer_.place_of(tensor));
    Node parameter;
    parameter.kind = NodeKind::parameter;
    parameter.name = name;
    const ValueSpec spec = spec_of(tensor);
    set_results(parameter, {&spec, 1});
    parameter.symbols.emplace_back(tensor.id(), 0);
    part.graph.nodes.push_back(std::move(parameter));
  }
  part.graph.arguments = feeds.size();
  Cut cut(*this, fed);
  for (const Value value : fetched) cut.take(value);
  for (const std::int32_t number : also) cut.take_node(number);
  cut.copy(part);
  if (!part.unfed.empty()) return part;
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    part.graph.results.push_back(cut.placed(fetched[i]));
    part.graph.may_lack.push_back(tracer_.may_lack(fetches[i]));
  }
  if (std::ranges::find(part.graph.may_lack, true) == part.graph.may_lack.end()) part.graph.may_lack.clear();
  part.graph.has_gaps = tracer_.so_far().has_gaps;
  VariableUses uses;
  uses.add(part.graph);
  part.needed = std::move(uses.needed);
  part.assigned = std::move(uses.assigned);
  return part;
}

}  // namespace tapedeck::graph
