// Passes make a graph smaller without changing what it gives: results, assignments, random numbers and their
// order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace tapedeck::graph {

enum class ChangeKind : std::uint8_t {
  folded,   ///< computed now, as it reads constants alone
  merged,   ///< gives what an earlier node gives
  removed,  ///< nothing reads it
  fused     ///< runs unseen in one loop with others (fusion.h)
};

/// What became of a node.
struct Change {
  ChangeKind kind = ChangeKind::removed;
  std::int32_t node = -1;  ///< its number before the pass
  /// merged: the number before the pass of the node that stays; folded: of the same node; fused: of the
  /// chain's last node.
  std::int32_t into = -1;
};

struct Passed {
  Graph graph;
  std::vector<Change> changes;  ///< in the order of the nodes
};

/// Calls on constants become constants, where their results are no larger than 64 KiB or than what they read.
/// Constants that a tape may watch stay (Graph::watched_up_to). A call that fails stays: it fails when the
/// graph runs, where the program would fail.
Passed fold_constants(const Graph& graph);
/// Calls of one op with the same attributes on the same values become one.
Passed merge_common(const Graph& graph);
/// Nodes that no result and no effect needs go.
Passed drop_dead(const Graph& graph);

/// One pass of a list, for views that show what each did.
struct NamedPassed {
  std::string name;
  Passed passed;
};
/// All passes in their order; the last one's graph is the one to run. `fusion` is among them where it finds
/// chains.
std::vector<NamedPassed> run_passes(const Graph& graph);
/// Whether common subexpressions were merged.
bool merges(std::span<const NamedPassed> passes);
/// The graph after the passes that merge no nodes.
Graph unmerged(const Graph& graph);

/// For passes: the graph of the nodes that `stays` names, each input moved along. `merged_into`: for each
/// node itself, or the earlier one whose results take the place of its own; nodes that go and are merged into
/// none must have no readers.
Graph rebuilt(const Graph& graph, const std::vector<bool>& stays,
              const std::vector<std::int32_t>& merged_into);

}  // namespace tapedeck::graph
