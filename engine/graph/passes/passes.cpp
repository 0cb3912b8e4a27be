#include "engine/graph/passes/passes.h"

#include <algorithm>

#include "engine/graph/passes/fusion.h"

namespace tapedeck::graph {

Graph rebuilt(const Graph& graph, const std::vector<bool>& stays,
              const std::vector<std::int32_t>& merged_into) {
  Graph result;
  result.name = graph.name;
  result.arguments = graph.arguments;
  result.captured = graph.captured;
  result.watched_up_to = graph.watched_up_to;
  result.has_gaps = graph.has_gaps;
  result.may_lack = graph.may_lack;
  std::vector<std::int32_t> numbers(graph.nodes.size(), -1);
  const auto moved = [&](Value value) {
    const std::int32_t kept = merged_into[static_cast<std::size_t>(value.node)];
    return Value{numbers[static_cast<std::size_t>(kept)], value.result};
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!stays[i]) continue;
    numbers[i] = static_cast<std::int32_t>(result.nodes.size());
    result.nodes.push_back(graph.nodes[i]);
    for (Value& input : result.nodes.back().inputs) input = moved(input);
    if (std::int32_t& drawn = result.nodes.back().draw_of; drawn >= 0)
      drawn = numbers[static_cast<std::size_t>(drawn)];
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (stays[i] || merged_into[i] == static_cast<std::int32_t>(i)) continue;
    auto& symbols =
        result.nodes[static_cast<std::size_t>(moved({static_cast<std::int32_t>(i), 0}).node)].symbols;
    symbols.insert(symbols.end(), graph.nodes[i].symbols.begin(), graph.nodes[i].symbols.end());
    if (graph.nodes[i].kind == NodeKind::constant) symbols.emplace_back(graph.nodes[i].constant.id(), 0);
  }
  for (const Value value : graph.results) result.results.push_back(moved(value));
  return result;
}

std::vector<NamedPassed> run_passes(const Graph& graph) {
  std::vector<NamedPassed> all;
  all.push_back({"constant folding", fold_constants(graph)});
  all.push_back({"common subexpressions", merge_common(all.back().passed.graph)});
  all.push_back({"dead code", drop_dead(all.back().passed.graph)});
  if (Passed fused = fuse(all.back().passed.graph); !fused.changes.empty())
    all.push_back({"fusion", std::move(fused)});
  return all;
}

bool merges(std::span<const NamedPassed> passes) {
  return std::ranges::any_of(passes, [](const NamedPassed& pass) {
    return std::ranges::any_of(pass.passed.changes,
                               [](const Change& change) { return change.kind == ChangeKind::merged; });
  });
}

Graph unmerged(const Graph& graph) {
  return drop_dead(fold_constants(graph).graph).graph;
}

}  // namespace tapedeck::graph
