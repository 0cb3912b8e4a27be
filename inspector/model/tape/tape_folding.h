// Which groups of a tape are folded, and the graph that is left.
#pragma once

#include <QHash>
#include <QSet>
#include <optional>

#include "inspector/model/tape/tape_groups.h"

namespace tapedeck::inspector {

/// Names a node for as long as its session lives: its record, or its leaf tensor.
quint64 nodeKey(const GraphNode& node);

/// What the user chose. By default all of a tape of few ops is open; of a longer one as many of the outer
/// groups as leave a picture that fits a panel.
struct Folding {
  bool all = false;                   ///< everything is open that `chosen` does not fold
  QHash<QString, bool> chosen;        ///< by the group's key: open or not
  std::optional<QSet<quint64>> only;  ///< keys of the nodes that are shown; nothing: all
  bool operator==(const Folding&) const = default;
};

struct FoldedTape {
  TapeGraph graph;
  /// By node of `graph`: the key of the innermost open group that it is in; empty: none. A fold is in the
  /// group around its own.
  std::vector<QString> around;
  std::vector<int> shown;  ///< by node of the whole graph: the node that shows it; -1: none
  int folds = 0;           ///< groups that are folded
  int left_out = 0;        ///< nodes of the whole graph that `only` leaves out
};

/// Whether each group is open.
std::vector<bool> openGroups(const TapeGroups& groups, const Folding& folding);

/// A folded group becomes one node, and one more for each playback that went back through it, whose forward
/// node is the first. Edges between two nodes that carry several tensors become one. What arrives at the
/// group from its own VJPs is not drawn. `shownAs` gives the fold of each node in it.
FoldedTape foldTape(const TapeGraph& graph, const TapeGroups& groups, const Folding& folding);

/// Indices of the nodes that what a node made comes from, or goes into, itself among them.
std::vector<int> ancestors(const TapeGraph& graph, std::span<const int> nodes);
std::vector<int> descendants(const TapeGraph& graph, std::span<const int> nodes);

/// Indices of the nodes in whose op, name, scope, shape and value every word of the text occurs, in order.
std::vector<int> findNodes(const TapeGraph& graph, const QString& text);

}  // namespace tapedeck::inspector
