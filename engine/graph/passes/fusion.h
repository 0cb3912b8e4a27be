// Chains of elementwise nodes, with the reductions of what they give, that a run computes in one loop over
// blocks of elements (fused_loops.h). The graph stays as it is: an observed run executes each node.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/graph/passes/passes.h"

namespace tapedeck::graph {

/// Nodes of as many elements each, that run where the last one is. What they read comes before the first of
/// them, or between them but not from them; nothing else reads a result of theirs before the last one.
struct FusedChain {
  std::vector<std::int32_t> nodes;  ///< in the graph's order
};
std::vector<FusedChain> fused_chains(const Graph& graph);

/// For views: the same graph, with the nodes of chains as its changes, each into the chain's last one.
Passed fuse(const Graph& graph);

/// Chains of fewer elements are not made from now on: calls of single ops take less. For tests, which want
/// chains of any size.
void set_least_fused(std::int64_t elements);
std::int64_t least_fused();

}  // namespace tapedeck::graph
