// Lays graphs out in a thread of its own, the newest first and only.
#pragma once

#include <QObject>
#include <memory>

#include "inspector/panels/tape/graph_layout.h"

namespace tapedeck::inspector {

/// A graph and its layout, which fit each other; shared and never changed.
struct LaidOutGraph {
  TapeGraph graph;
  GraphLayout layout;
  std::vector<std::vector<QPointF>> paths;  ///< the edges, flattened
  bool fresh = false;                       ///< nothing was kept in its place
};

class LayoutWorker : public QObject {
  Q_OBJECT
 public:
  explicit LayoutWorker(QObject* parent = nullptr);
  ~LayoutWorker() override;  ///< waits for the layout under way, at most about a second

  /// Returns at once. A request that did not begin yet is dropped, and so is the answer to the one under way.
  void request(const TapeGraph& graph, bool fresh);
  /// Drops everything: no answer comes.
  void cancel();
  bool busy() const;

 signals:
  /// In this object's thread.
  void finished(std::shared_ptr<const tapedeck::inspector::LaidOutGraph> result);

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::inspector
