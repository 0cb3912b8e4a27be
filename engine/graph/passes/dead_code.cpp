#include <numeric>

#include "engine/graph/passes/passes.h"

namespace tapedeck::graph {

Passed drop_dead(const Graph& graph) {
  std::vector<bool> stays(graph.nodes.size());
  for (const Value result : graph.results) stays[static_cast<std::size_t>(result.node)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (has_effect(graph.nodes[i])) stays[i] = true;
    if (!stays[i]) continue;
    for (const Value input : graph.nodes[i].inputs) stays[static_cast<std::size_t>(input.node)] = true;
  }
  std::vector<std::int32_t> itself(graph.nodes.size());
  std::iota(itself.begin(), itself.end(), 0);
  Passed passed{rebuilt(graph, stays, itself), {}};
  for (std::size_t i = 0; i < stays.size(); ++i)
    if (!stays[i]) passed.changes.push_back({ChangeKind::removed, static_cast<std::int32_t>(i), -1});
  return passed;
}

}  // namespace tapedeck::graph
