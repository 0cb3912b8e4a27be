#include "inspector/panels/tape/layout_worker.h"

#include <QThreadPool>
#include <mutex>
#include <optional>

namespace tapedeck::inspector {

std::shared_ptr<const LaidOutGraph> layOut(TapeGraph graph, const std::atomic<bool>* cancelled) {
  auto result = std::make_shared<LaidOutGraph>();
  result->layout = layoutTapeGraph(graph, cancelled);
  for (const Curve& curve : result->layout.edges) result->paths.push_back(flattened(curve));
  result->graph = std::move(graph);
  return result;
}

/// Outlives the worker while a thread still lays out.
struct LayoutWorker::Shared {
  std::mutex mutex;  // held for a few assignments only
  LayoutWorker* worker = nullptr;
  std::optional<TapeGraph> next;
  quint64 number = 0;  ///< of `next`
  bool running = false;
  std::atomic<bool> cancelled = false;  ///< the layout under way is wanted no more

  static void run(const std::shared_ptr<Shared>& shared) {
    while (true) {
      TapeGraph graph;
      quint64 number = 0;
      {
        const std::lock_guard lock(shared->mutex);
        if (!shared->next || !shared->worker) {
          shared->running = false;
          return;
        }
        graph = std::move(*shared->next);
        number = shared->number;
        shared->next.reset();
        shared->cancelled = false;
      }
      const auto result = layOut(std::move(graph), &shared->cancelled);
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

void LayoutWorker::request(const TapeGraph& graph) {
  const std::lock_guard lock(shared_->mutex);
  shared_->next = graph;
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
