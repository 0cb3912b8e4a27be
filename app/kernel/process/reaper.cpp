#include "app/kernel/process/reaper.h"

#include <QCoreApplication>
#include <utility>

namespace tapedeck::app {
namespace {

Reaper* theReaper = nullptr;

}  // namespace

Reaper& Reaper::instance() {
  if (!theReaper) {
    theReaper = new Reaper;
    qAddPostRoutine([] { delete std::exchange(theReaper, nullptr); });
  }
  return *theReaper;
}

// The processes first: without a connection a program that is stopped would run on.
Reaper::~Reaper() {
  for (auto& [key, remains] : remains_) remains->process.reset();
}

void Reaper::reap(std::unique_ptr<SessionProcess> process, std::unique_ptr<SocketThread> thread,
                  std::unique_ptr<RuntimeFolder> folder, std::unique_ptr<SocketThread> debug, int graceMs) {
  const quint64 key = ++last_;
  auto& remains = remains_[key] = std::make_unique<Remains>();
  remains->process = std::move(process);
  remains->folder = std::move(folder);
  remains->thread = std::move(thread);
  remains->debug = std::move(debug);
  if (!remains->process || !remains->process->running()) return stopThread(key);
  connect(
      remains->process.get(), &SessionProcess::ended, this, [this, key] { processEnded(key); },
      Qt::QueuedConnection);
  remains->process->endWithin(graceMs);
}

void Reaper::reap(std::unique_ptr<SocketThread> thread) {
  reap(nullptr, std::move(thread), nullptr, nullptr, 0);
}

void Reaper::processEnded(quint64 key) {
  const auto found = remains_.find(key);
  if (found == remains_.end()) return;
  found->second->process.reset();
  stopThread(key);
}

// The thread tells when it has nothing left to do: joining it does not wait then.
void Reaper::stopThread(quint64 key) {
  Remains& remains = *remains_.at(key);
  if (remains.debug) reap(std::move(remains.debug));
  if (!remains.thread) {
    remains_.erase(key);
    return;
  }
  remains.thread->stop([this, key] {
    QMetaObject::invokeMethod(
        this, [this, key] { remains_.erase(key); }, Qt::QueuedConnection);
  });
}

}  // namespace tapedeck::app
