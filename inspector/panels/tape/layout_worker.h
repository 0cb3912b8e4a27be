// Lays out graphs on a thread of its own; only the newest request counts.
#pragma once

#include <QObject>
#include <memory>

#include "inspector/panels/tape/graph_layout.h"

namespace tapedeck::inspector {

/// A graph and its layout, which fit each other; shared and never changed.
struct LaidOutGraph {
  TapeGraph graph;  ///< with folds
  GraphLayout layout;
  std::vector<std::vector<QPointF>> paths;  ///< the edges, flattened
  std::vector<QRectF> path_bounds;          ///< of the edges
  std::vector<QString> around;              ///< by node: see FoldedTape
  int folds = 0, left_out = 0;
  TapeGraph whole;         ///< what was folded
  std::vector<int> shown;  ///< by node of `whole`: see FoldedTape
  TapeGroups groups;
  int current = -1;  ///< the node that holds the cursor
};

/// Groups one graph, folds it, lays it out and flattens it.
std::shared_ptr<const LaidOutGraph> layOut(TapeGraph graph, const Folding& folding = {},
                                           const std::atomic<bool>* cancelled = nullptr);

class LayoutWorker : public QObject {
  Q_OBJECT
 public:
  explicit LayoutWorker(QObject* parent = nullptr);
  ~LayoutWorker() override;  ///< abandons the job under way, and does not wait

  /// Returns at once. A request that did not begin yet is dropped, and so is the answer to the one under way.
  void request(const TapeGraph& graph, const Folding& folding = {});
  /// Drops everything: no answer comes.
  void cancel();
  bool busy() const;

 signals:
  /// In this object's thread.
  void finished(std::shared_ptr<const tapedeck::inspector::LaidOutGraph> result);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  ///< with the thread that works
  quint64 newest_ = 0;              ///< number of the last request; the answers to others are dropped
  quint64 answered_ = 0;
};

}  // namespace tapedeck::inspector
