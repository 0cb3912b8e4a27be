// The groups of a tape's nodes: scopes and their calls, iterations of loops, runs of equal ones.
#pragma once

#include <QString>
#include <QStringList>
#include <atomic>
#include <vector>

#include "inspector/model/tape/tape_graph.h"

namespace tapedeck::inspector {

struct TapeGroup {
  enum class Kind {
    scope,     ///< the ops of a name scope or layer that ran one after the other: one call
    repeat,    ///< equal calls, or iterations of a loop, one after the other
    iteration  ///< one iteration of a loop
  };
  Kind kind = Kind::scope;
  /// Names its place in the program: the same in every step of a training.
  QString key;
  QString title;  ///< "block_1", "block × 8", "lines 4–6 × 12", "iteration 3"
  QString scope;  ///< that it is in: "network"
  int parent = -1;
  int depth = 0;  ///< number of groups around it
  int items = 0;  ///< groups and ops directly in it: what opening it shows
  int ops = 0;    ///< in it and in all groups inside
  int times = 1;  ///< repeat: how often
};

/// Groups are made of the forward ops; each other node belongs where its forward op does: a VJP, a sum of
/// gradients, what ran inside of a custom gradient. A leaf belongs to the smallest group that holds its
/// readers on the tape; one that has none there, its other readers. Groups of one op are none. Time: about
/// linear. Any thread. Stops early where `cancelled` becomes true.
///
/// Loops are found by what repeats: the same ops of the same lines, or calls of layers that are alike (their
/// names but for a number at the end, their ops).
class TapeGroups {
 public:
  TapeGroups() = default;
  explicit TapeGroups(const TapeGraph& graph, const std::atomic<bool>* cancelled = nullptr);

  const std::vector<TapeGroup>& all() const { return groups_; }
  const TapeGroup& group(int index) const { return groups_[static_cast<std::size_t>(index)]; }
  /// Index of the innermost group; -1: none.
  int groupOf(int node) const { return of_[static_cast<std::size_t>(node)]; }
  int find(const QString& key) const;
  /// Keys of the groups around a node, outer ones first.
  QStringList around(int node) const;
  /// Number of ops and groups that are in no group.
  int outside() const { return outside_; }

 private:
  friend class TapeGrouping;
  std::vector<TapeGroup> groups_;  ///< outer ones before those inside
  std::vector<int> of_;
  int outside_ = 0;
};

/// "block" of "block_12".
QString withoutNumber(const QString& name);

}  // namespace tapedeck::inspector
