#include "inspector/panels/tape/layout_worker.h"

#include <QThreadPool>
#include <algorithm>
#include <mutex>
#include <optional>

namespace tapedeck::inspector {

namespace {

QRectF boundsOfPath(const std::vector<QPointF>& points) {
  if (points.empty()) return {};
  double left = points[0].x(), right = left, top = points[0].y(), bottom = top;
  for (const QPointF& point : points) {
    left = std::min(left, point.x());
    right = std::max(right, point.x());
    top = std::min(top, point.y());
    bottom = std::max(bottom, point.y());
  }
  return {left, top, right - left + 0.1, bottom - top + 0.1};
}

}  // namespace

std::shared_ptr<const LaidOutGraph> layOut(TapeGraph graph, const Folding& folding,
                                           const std::atomic<bool>* cancelled) {
  auto result = std::make_shared<LaidOutGraph>();
  result->groups = TapeGroups(graph, cancelled);
  FoldedTape folded = foldTape(graph, result->groups, folding);
  result->whole = std::move(graph);
  result->graph = std::move(folded.graph);
  result->around = std::move(folded.around);
  result->shown = std::move(folded.shown);
  result->folds = folded.folds;
  result->left_out = folded.left_out;
  result->layout = layoutTapeGraph(result->graph, cancelled);
  for (const Curve& curve : result->layout.edges) {
    result->paths.push_back(flattened(curve));
    result->path_bounds.push_back(boundsOfPath(result->paths.back()));
  }
  for (std::size_t i = 0; i < result->graph.nodes.size(); ++i)
    if (result->graph.nodes[i].current) result->current = static_cast<int>(i);
  return result;
}

/// Outlives the worker while a thread still lays out.
struct LayoutWorker::Shared {
  std::mutex mutex;  // held for a few assignments only
  LayoutWorker* worker = nullptr;
  std::optional<TapeGraph> next;
  Folding folding;     ///< of `next`
  quint64 number = 0;  ///< of `next`
  bool running = false;
  std::atomic<bool> cancelled = false;  ///< the layout under way is wanted no more

  static void run(const std::shared_ptr<Shared>& shared) {
    while (true) {
      TapeGraph graph;
      Folding folding;
      quint64 number = 0;
      {
        const std::lock_guard lock(shared->mutex);
        if (!shared->next || !shared->worker) {
          shared->running = false;
          return;
        }
        graph = std::move(*shared->next);
        folding = shared->folding;
        number = shared->number;
        shared->next.reset();
        shared->cancelled = false;
      }
      const auto result = layOut(std::move(graph), folding, &shared->cancelled);
      const std::lock_guard lock(shared->mutex);
      LayoutWorker* const worker = shared->worker;
      if (!worker || shared->cancelled) continue;
      QMetaObject::invokeMethod(
          worker,
          [worker, number, result] {
            if (number != worker->newest_) return;
            worker->answered_ = number;
            emit worker->finished(result);
          },
          Qt::QueuedConnection);
    }
  }
};

LayoutWorker::LayoutWorker(QObject* parent) : QObject(parent), shared_(std::make_shared<Shared>()) {
  shared_->worker = this;
}

LayoutWorker::~LayoutWorker() {
  const std::lock_guard lock(shared_->mutex);
  shared_->worker = nullptr;
  shared_->cancelled = true;
}

void LayoutWorker::request(const TapeGraph& graph, const Folding& folding) {
  const std::lock_guard lock(shared_->mutex);
  shared_->next = graph;
  shared_->folding = folding;
  shared_->number = ++newest_;
  shared_->cancelled = true;
  if (std::exchange(shared_->running, true)) return;
  QThreadPool::globalInstance()->start([shared = shared_] { Shared::run(shared); });
}

void LayoutWorker::cancel() {
  const std::lock_guard lock(shared_->mutex);
  shared_->next.reset();
  shared_->cancelled = true;
  answered_ = ++newest_;
}

bool LayoutWorker::busy() const {
  return answered_ != newest_;
}

}  // namespace tapedeck::inspector
