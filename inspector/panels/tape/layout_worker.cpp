#include "inspector/panels/tape/layout_worker.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace tapedeck::inspector {

struct LayoutWorker::Private {
  struct Request {
    quint64 number = 0;
    TapeGraph graph;
    bool fresh = false;
  };

  std::mutex mutex;
  std::condition_variable wake;
  std::optional<Request> next;
  bool fresh_next = false;  ///< a dropped request asked for it
  bool ending = false;
  quint64 newest = 0;    ///< number of the last request; the answers to others are dropped
  quint64 answered = 0;  ///< UI thread only
  std::thread thread;

  void run(LayoutWorker* worker) {
    SteadyLayout steady;
    while (true) {
      Request request;
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [this] { return ending || next; });
        if (ending) return;
        request = std::move(*next);
        next.reset();
        fresh_next = false;
      }
      auto result = std::make_shared<LaidOutGraph>();
      result->layout = steady.layout(request.graph, request.fresh);
      for (const Curve& curve : result->layout.edges) result->paths.push_back(flattened(curve));
      result->graph = std::move(request.graph);
      result->fresh = request.fresh;
      QMetaObject::invokeMethod(
          worker, [worker, number = request.number, result] { worker->d_->deliver(worker, number, result); },
          Qt::QueuedConnection);
    }
  }

  void deliver(LayoutWorker* worker, quint64 number, const std::shared_ptr<const LaidOutGraph>& result) {
    if (number != newest) return;
    answered = number;
    emit worker->finished(result);
  }
};

LayoutWorker::LayoutWorker(QObject* parent) : QObject(parent), d_(std::make_unique<Private>()) {
  d_->thread = std::thread([this] { d_->run(this); });
}

LayoutWorker::~LayoutWorker() {
  {
    const std::lock_guard lock(d_->mutex);
    d_->ending = true;
  }
  d_->wake.notify_one();
  d_->thread.join();
}

void LayoutWorker::request(const TapeGraph& graph, bool fresh) {
  {
    const std::lock_guard lock(d_->mutex);
    d_->fresh_next = fresh || (d_->next && d_->fresh_next);
    d_->next = Private::Request{++d_->newest, graph, d_->fresh_next};
  }
  d_->wake.notify_one();
}

void LayoutWorker::cancel() {
  const std::lock_guard lock(d_->mutex);
  d_->next.reset();
  d_->answered = ++d_->newest;
}

bool LayoutWorker::busy() const {
  return d_->answered != d_->newest;
}

}  // namespace tapedeck::inspector
