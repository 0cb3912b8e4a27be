#include "engine/graph/taped_nodes.h"

#include <algorithm>

#include "engine/graph/hoisted_reads.h"
#include "engine/graph/taped_graph.h"

namespace tapedeck::graph {
namespace {

bool has_host_calls(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.kind == NodeKind::host ||
           std::ranges::any_of(node.graphs, [](const auto& inner) { return has_host_calls(*inner); });
  });
}

/// Whether rows of that parameter are gathered, also in what is inside of branches and loops.
bool gathers_rows_of(const Graph& graph, std::int32_t parameter) {
  const Value value{parameter, 0};
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (node.kind == NodeKind::op) return node.op->form == Form::gather && node.inputs[0] == value;
    if (node.kind != NodeKind::branch && node.kind != NodeKind::loop) return false;
    for (std::size_t side = node.kind == NodeKind::branch ? 0 : 1; side < 2; ++side) {
      const Graph& inner = *node.graphs[side];
      for (std::size_t i = 0; i < inner.arguments + inner.captured.size(); ++i) {
        const auto number = static_cast<std::int32_t>(i);
        if (node.inputs[outer_input(node, side, number)] == value && gathers_rows_of(inner, number))
          return true;
      }
    }
    return false;
  });
}

class Marker {
 public:
  Marker(const Graph& graph, const std::vector<Value>& inputs, bool alone, bool nested)
      : graph_(graph), inputs_(inputs), known_(inputs.begin(), inputs.end()), alone_(alone), nested_(nested) {
    found_.taped.resize(graph.nodes.size());
  }

  std::optional<TapedNodes> mark() {
    if (has_a_variable_twice()) return std::nullopt;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!mark_node(i)) return std::nullopt;
    leave_out_unused();
    for (const auto& [number, control] : found_.controls)
      if (found_.taped[static_cast<std::size_t>(number)] && !keeps_sums_apart(number)) return std::nullopt;
    std::erase_if(found_.controls,
                  [&](const auto& entry) { return !found_.taped[static_cast<std::size_t>(entry.first)]; });
    return std::move(found_);
  }

 private:
  /// Its values may be the same tensor.
  bool has_a_variable_twice() const {
    std::set<std::uint64_t> variables;
    return std::ranges::any_of(inputs_, [&](Value input) {
      const auto& variable = graph_.nodes[static_cast<std::size_t>(input.node)].variable;
      return variable && !variables.insert(variable->id()).second;
    });
  }

  bool mark_node(std::size_t number) {
    const Node& node = graph_.nodes[number];
    const bool is_reached = std::ranges::any_of(node.inputs, [&](Value value) { return known(value); });
    switch (node.kind) {
      case NodeKind::op:
        if (!is_reached || !node.op->vjp) return true;
        if (!nested_ && node.op->form == Form::gather && is_input(node.inputs[0]))
          return false;  // its gradient may be wanted as rows
        add(number, 1);
        return true;
      case NodeKind::custom:
        return mark_custom(number);
      case NodeKind::branch:
      case NodeKind::loop:
        if (std::ranges::any_of(node.graphs, [](const auto& inner) { return reads_variables(*inner); }))
          return false;
        if (!is_reached || node.results.empty()) return true;
        if (gathers_rows_of_inputs(node)) return false;
        return alone_ && (node.kind == NodeKind::branch ? mark_branch(number) : mark_loop(number));
      case NodeKind::host:
        return node.results.empty();
      default:
        return true;
    }
  }

  bool known(Value value) const { return known_.contains(value); }
  bool is_input(Value value) const { return std::ranges::find(inputs_, value) != inputs_.end(); }

  bool gathers_rows_of_inputs(const Node& node) const {
    for (std::size_t side = node.kind == NodeKind::branch ? 0 : 1; side < 2; ++side) {
      const Graph& inner = *node.graphs[side];
      for (std::size_t i = inner.arguments; i < inner.arguments + inner.captured.size(); ++i) {
        const auto parameter = static_cast<std::int32_t>(i);
        if (is_input(node.inputs[outer_input(node, side, parameter)]) && gathers_rows_of(inner, parameter))
          return true;
      }
    }
    return false;
  }

  void add(std::size_t number, std::size_t count) {
    found_.taped[number] = true;
    found_.count += count;
    const Node& node = graph_.nodes[number];
    for (std::size_t k = 0; k < node.results.size(); ++k)
      if (has_gradients(node.results[k].dtype))
        known_.insert({static_cast<std::int32_t>(number), static_cast<std::int32_t>(k)});
  }

  bool mark_custom(std::size_t number) {
    const Node& node = graph_.nodes[number];
    const OwnGradient& own = *node.own_gradient;
    const auto given = inputs_of_custom(graph_, node);
    if (!given || !own.error.empty() || has_host_calls(*node.graphs[0]) ||
        std::ranges::any_of(node.graphs, [](const auto& inner) { return reads_variables(*inner); }))
      return false;
    if (std::ranges::any_of(*given, [&](Value value) { return known(value); })) {
      add(number, 1);
      return true;
    }
    const std::span<const Value> outputs(node.inputs.data() + own.inputs, own.outputs);
    return std::ranges::none_of(outputs, [&](Value value) { return known(value); });
  }

  /// The graph's parameters that the tape knows; they are added to the control's inputs.
  std::vector<Value> known_parameters(const Node& node, std::size_t graph, TapedControl& control) const {
    const Graph& inner = *node.graphs[graph];
    std::vector<Value> parameters;
    for (std::int32_t i = static_cast<std::int32_t>(inner.arguments);
         i < static_cast<std::int32_t>(inner.arguments + inner.captured.size()); ++i) {
      const Value outer = node.inputs[outer_input(node, graph, i)];
      if (!known(outer) || !has_gradients(graph_.spec(outer).dtype)) continue;
      parameters.push_back({i, 0});
      if (std::ranges::find(control.inputs, outer) == control.inputs.end()) control.inputs.push_back(outer);
    }
    return parameters;
  }

  void add_control(std::size_t number, TapedControl control) {
    const auto place = static_cast<std::int32_t>(number);
    if (control.outputs.empty()) return;
    found_.taped[number] = true;
    found_.count += 2;
    for (const std::size_t output : control.outputs)
      known_.insert({place, static_cast<std::int32_t>(output)});
    found_.controls.emplace(place, std::move(control));
  }

  bool mark_branch(std::size_t number) {
    const Node& node = graph_.nodes[number];
    TapedControl control;
    for (std::size_t side = 0; side < 2; ++side) {
      auto taped = TapedGraph::make_nested(*node.graphs[side], known_parameters(node, side, control));
      if (!taped) return false;
      control.graphs.push_back(std::move(taped));
    }
    for (std::size_t i = 0; i < node.results.size(); ++i)
      if (control.graphs[0]->gives(i) || control.graphs[1]->gives(i)) control.outputs.push_back(i);
    add_control(number, std::move(control));
    return true;
  }

  bool mark_loop(std::size_t number) {
    const Node& node = graph_.nodes[number];
    const Graph& body = *node.graphs[1];
    TapedControl control;
    std::vector<Value> captured = known_parameters(node, 1, control);
    // A result that is a captured tensor is that one, and variables at first may be one tensor, to which
    // iterations add in turns.
    for (const Value result : body.results)
      if (std::ranges::find(captured, result) != captured.end()) return false;
    if (swaps_inputs(node)) return false;
    std::vector<bool> varies(body.arguments);
    for (std::size_t i = 0; i < body.arguments; ++i) {
      const Value first = node.inputs[i];
      varies[i] = known(first) && has_gradients(graph_.spec(first).dtype);
      if (!varies[i]) continue;
      if (std::ranges::find(control.inputs, first) != control.inputs.end()) return false;
      control.inputs.push_back(first);
    }
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<Value> inputs = captured;
      for (std::size_t i = 0; i < varies.size(); ++i)
        if (varies[i]) inputs.push_back({static_cast<std::int32_t>(i), 0});
      auto taped = TapedGraph::make_nested(body, std::move(inputs));
      if (!taped) return false;
      for (std::size_t i = 0; i < varies.size(); ++i)
        if (!varies[i] && taped->gives(i)) varies[i] = changed = true;
      control.graphs = {std::move(taped)};
    }
    for (std::size_t i = 0; i < varies.size(); ++i)
      if (varies[i]) control.outputs.push_back(i);
    add_control(number, std::move(control));
    return true;
  }

  /// Whether an iteration gives an input of this graph to another variable: what has arrived at the input
  /// before would have to come first there.
  bool swaps_inputs(const Node& node) const {
    const Graph& body = *node.graphs[1];
    for (std::size_t i = 0; i < body.results.size(); ++i) {
      const auto from = static_cast<std::size_t>(body.results[i].node);
      if (from < body.arguments && from != i && is_input(node.inputs[from])) return true;
    }
    return false;
  }

  /// Of these, those on which a result depends by nodes that a tape has.
  void leave_out_unused() {
    std::vector<bool> used(graph_.nodes.size());
    for (const Value result : graph_.results) used[static_cast<std::size_t>(result.node)] = true;
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      found_.taped[i] = found_.taped[i] && used[i];
      if (!found_.taped[i]) continue;
      const Node& node = graph_.nodes[i];
      // Where no VJP is recorded, the ops inside of a function with a gradient of its own have no part in it.
      if (node.kind == NodeKind::custom && alone_) {
        const std::vector<Value> given = *inputs_of_custom(graph_, node);
        for (const Value input : given) used[static_cast<std::size_t>(input.node)] = true;
        continue;
      }
      for (const Value input : node.inputs) used[static_cast<std::size_t>(input.node)] = true;
    }
  }

  /// The values that a run may give as results of the node: as they are, not by an op.
  std::vector<Value> passed_on(std::int32_t number) const {
    const Node& node = graph_.nodes[static_cast<std::size_t>(number)];
    const TapedControl& control = found_.controls.at(number);
    std::vector<Value> values;
    if (node.kind == NodeKind::loop) {  // which may have no iteration
      for (const std::size_t output : control.outputs) values.push_back(node.inputs[output]);
      return values;
    }
    for (std::size_t side = 0; side < 2; ++side)
      for (const Value result : node.graphs[side]->results)
        if (node.graphs[side]->nodes[static_cast<std::size_t>(result.node)].kind == NodeKind::parameter)
          values.push_back(node.inputs[outer_input(node, side, result.node)]);
    return values;
  }

  /// Where a result may be an input of the node, what reads either adds to one sum, in turns. So the input
  /// must have no reader behind the node.
  bool keeps_sums_apart(std::int32_t number) const {
    for (const Value value : passed_on(number)) {
      if (!known(value)) continue;
      if (std::ranges::find(graph_.results, value) != graph_.results.end() && (nested_ || !is_input(value)))
        return false;
      for (std::size_t i = static_cast<std::size_t>(number) + 1; i < graph_.nodes.size(); ++i)
        if (found_.taped[i] &&
            std::ranges::find(graph_.nodes[i].inputs, value) != graph_.nodes[i].inputs.end())
          return false;
    }
    return true;
  }

  const Graph& graph_;
  const std::vector<Value>& inputs_;
  std::set<Value> known_;
  const bool alone_, nested_;
  TapedNodes found_;
};

}  // namespace

std::size_t outer_input(const Node& node, std::size_t graph, std::int32_t parameter) {
  const auto number = static_cast<std::size_t>(parameter);
  if (node.kind == NodeKind::branch) return (graph == 0 ? 1 : 1 + node.graphs[0]->captured.size()) + number;
  if (number < node.graphs[1]->arguments) return number;
  return node.graphs[0]->captured.size() + number;
}

std::optional<std::vector<Value>> inputs_of_custom(const Graph& graph, const Node& node) {
  const OwnGradient& own = *node.own_gradient;
  std::vector<Value> values(node.inputs.begin(),
                            node.inputs.begin() + static_cast<std::ptrdiff_t>(own.inputs));
  for (const Variable& variable : own.variables) {
    if (assigns(graph, variable)) return std::nullopt;
    Value read;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& each = graph.nodes[i];
      if (each.kind != NodeKind::read || each.variable->id() != variable.id()) continue;
      if (read.node >= 0) return std::nullopt;
      read = {static_cast<std::int32_t>(i), 0};
    }
    if (read.node < 0 || &graph.nodes[static_cast<std::size_t>(read.node)] > &node) return std::nullopt;
    values.push_back(read);
  }
  return values;
}

std::optional<TapedNodes> taped_nodes(const Graph& graph, const std::vector<Value>& inputs, bool alone,
                                      bool nested) {
  return Marker(graph, inputs, alone, nested).mark();
}

}  // namespace tapedeck::graph
