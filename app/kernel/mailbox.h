// How a thread reaches an object of the UI thread that may be destroyed at any moment.
#pragma once

#include <QMetaObject>
#include <QObject>
#include <mutex>
#include <utility>

namespace tapedeck::app {

/// Shared by the object and the thread. The object closes it before it is destroyed; what is posted later is
/// dropped.
class Mailbox {
 public:
  explicit Mailbox(QObject* target) : target_(target) {}

  /// Runs `work` on the target's thread, from its event loop. From any thread.
  template <class Work>
  void post(Work&& work) {
    const std::lock_guard lock(mutex_);
    if (target_) QMetaObject::invokeMethod(target_, std::forward<Work>(work), Qt::QueuedConnection);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    target_ = nullptr;
  }

 private:
  std::mutex mutex_;
  QObject* target_;
};

}  // namespace tapedeck::app
