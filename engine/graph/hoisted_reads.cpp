#include "engine/graph/hoisted_reads.h"

#include <algorithm>
#include <map>

namespace tapedeck::graph {
namespace {

using Variables = std::map<std::uint64_t, Variable>;  // by id

bool is_control(const Node& node) {
  return node.kind == NodeKind::branch || node.kind == NodeKind::loop;
}

void add_reads(const Graph& graph, Variables& variables) {
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::read) variables.emplace(node.variable->id(), *node.variable);
    if (is_control(node))
      for (const auto& inner : node.graphs) add_reads(*inner, variables);
  }
}

bool reads_in(const Node& node) {
  if (node.kind == NodeKind::read) return true;
  Variables variables;
  if (is_control(node))
    for (const auto& inner : node.graphs) add_reads(*inner, variables);
  return !variables.empty();
}

bool calls_host_in(const Node& node) {
  return node.kind == NodeKind::host || std::ranges::any_of(node.graphs, [](const auto& inner) {
           return std::ranges::any_of(inner->nodes, calls_host_in);
         });
}

/// Whether a function of the host language is called between reads: it may assign to any variable.
bool calls_host_between_reads(const Graph& graph) {
  const auto first = std::ranges::find_if(graph.nodes, reads_in);
  const auto end = std::find_if(graph.nodes.rbegin(), graph.nodes.rend(), reads_in).base();
  return first < end && std::any_of(first, end, calls_host_in);
}

class Hoister {
 public:
  explicit Hoister(const Variables& variables) : variables_(variables) {}

  /// A side or a body whose last parameters are the variables' values; `used` gets them.
  Graph nested(const Graph& graph, std::vector<Variable>& used) {
    Variables all;
    add_reads(graph, all);
    for (const auto& [id, variable] : all)
      if (variables_.contains(id)) used.push_back(variable);
    const std::size_t parameters = graph.arguments + graph.captured.size();
    Graph made = begun(graph);
    Moved moved;
    for (std::size_t i = 0; i < parameters; ++i) add(made, moved, graph.nodes[i]);
    for (const Variable& variable : used) {
      Node node;
      node.kind = NodeKind::parameter;
      node.name = variable.name();
      const ValueSpec spec = spec_of(variable);
      set_results(node, {&spec, 1});
      moved.reads[variable.id()] = static_cast<std::int32_t>(made.nodes.size());
      made.nodes.push_back(std::move(node));
      made.captured.push_back(symbolic_tensor(spec.dtype, spec.shape, spec.unknown));
    }
    for (std::size_t i = parameters; i < graph.nodes.size(); ++i) add(made, moved, graph.nodes[i]);
    return finished(std::move(made), moved, graph);
  }

  Graph outermost(const Graph& graph) {
    Graph made = begun(graph);
    Moved moved;
    for (const Node& node : graph.nodes) {
      if (is_control(node)) read_in_front(made, moved, node);
      add(made, moved, node);
    }
    return finished(std::move(made), moved, graph);
  }

 private:
  struct Moved {
    std::vector<std::int32_t> numbers;            ///< by the node's number before
    std::map<std::uint64_t, std::int32_t> reads;  ///< by the variable: the node that gives its value
  };

  static Graph begun(const Graph& graph) {
    Graph made = graph;
    made.nodes.clear();
    made.results.clear();
    return made;
  }

  static Graph finished(Graph made, const Moved& moved, const Graph& graph) {
    for (const Value result : graph.results)
      made.results.push_back({moved.numbers[static_cast<std::size_t>(result.node)], result.result});
    return made;
  }

  void read_in_front(Graph& made, Moved& moved, const Node& control) {
    Variables all;
    for (const auto& inner : control.graphs) add_reads(*inner, all);
    for (const auto& [id, variable] : all) {
      if (!variables_.contains(id) || moved.reads.contains(id)) continue;
      Node node;
      node.kind = NodeKind::read;
      node.variable = variable;
      node.location = control.location;
      node.call = control.call;
      node.scope = control.scope;
      const ValueSpec spec = spec_of(variable);
      set_results(node, {&spec, 1});
      moved.reads[id] = static_cast<std::int32_t>(made.nodes.size());
      made.nodes.push_back(std::move(node));
    }
  }

  void add(Graph& made, Moved& moved, const Node& node) {
    const bool is_hoisted = node.kind == NodeKind::read && variables_.contains(node.variable->id());
    if (is_hoisted)
      if (const auto read = moved.reads.find(node.variable->id()); read != moved.reads.end()) {
        moved.numbers.push_back(read->second);
        return;
      }
    const auto number = static_cast<std::int32_t>(made.nodes.size());
    if (is_hoisted) moved.reads[node.variable->id()] = number;
    Node copy = node;
    copy.inputs.clear();
    for (const Value input : node.inputs)
      copy.inputs.push_back({moved.numbers[static_cast<std::size_t>(input.node)], input.result});
    if (copy.draw_of >= 0) copy.draw_of = moved.numbers[static_cast<std::size_t>(copy.draw_of)];
    if (is_control(node)) hoist_inside(copy, moved);
    moved.numbers.push_back(number);
    made.nodes.push_back(std::move(copy));
  }

  void hoist_inside(Node& node, const Moved& moved) {
    std::size_t end = node.kind == NodeKind::branch ? 1 : node.graphs[1]->arguments;
    for (auto& inner : node.graphs) {
      end += inner->captured.size();
      std::vector<Variable> used;
      inner = std::make_shared<const Graph>(nested(*inner, used));
      for (const Variable& variable : used) {
        node.inputs.insert(node.inputs.begin() + static_cast<std::ptrdiff_t>(end),
                           Value{moved.reads.at(variable.id()), 0});
        ++end;
      }
    }
  }

  const Variables& variables_;
};

}  // namespace

bool reads_variables(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return (node.kind == NodeKind::read && has_gradients(node.results[0].dtype)) ||
           std::ranges::any_of(node.graphs, [](const auto& inner) { return reads_variables(*inner); });
  });
}

bool assigns(const Graph& graph, const Variable& variable) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return (node.kind == NodeKind::assign && node.variable->id() == variable.id()) ||
           std::ranges::any_of(node.graphs, [&](const auto& inner) { return assigns(*inner, variable); });
  });
}

std::optional<Graph> hoisted_reads(const Graph& graph) {
  Variables variables;
  for (const Node& node : graph.nodes)
    if (is_control(node))
      for (const auto& inner : node.graphs) add_reads(*inner, variables);
  std::erase_if(variables, [&](const auto& entry) {
    return spec_of(entry.second).unknown || assigns(graph, entry.second);
  });
  if (variables.empty() || calls_host_between_reads(graph)) return std::nullopt;
  return Hoister(variables).outermost(graph);
}

}  // namespace tapedeck::graph
