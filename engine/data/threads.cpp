#include "engine/data/threads.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>

#include "engine/cpu/parallel.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/placement.h"
#include "engine/record/background_thread.h"
#include "engine/tensor/error.h"

namespace tapedeck::data {

namespace {

constexpr auto moment = std::chrono::milliseconds(20);  // between checks for an interrupt

std::atomic<std::uint64_t> forks{0};
thread_local const std::atomic<bool>* stopping_here = nullptr;  ///< of the stage whose thread this is

struct Registry {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<StageThreads*> all;
  int running = 0;  ///< threads
  bool closed = false;
};
Registry& registry() {
  static auto* instance = new Registry;  // never destroyed: iterators may be while the process ends
  return *instance;
}

void count_running(int change) {
  const std::lock_guard lock(registry().mutex);
  registry().running += change;
  registry().changed.notify_all();
}

/// In a forked process: the threads do not exist, nor does a thread that held the lock.
void begin_again_after_fork() {
  forks.fetch_add(1, std::memory_order_relaxed);
  new (&registry()) Registry;
}

std::uint64_t process_number() {
  static const bool watched = ::pthread_atfork(nullptr, nullptr, begin_again_after_fork) == 0;
  (void)watched;
  return forks.load(std::memory_order_relaxed);
}

}  // namespace

StageThreads::StageThreads() : process_(process_number()) {}

StageThreads::~StageThreads() {
  stop();
}

void StageThreads::start(int count, const std::function<void()>& work) {
  {
    const std::lock_guard lock(registry().mutex);
    if (registry().closed) refuse_stopped();
    registry().all.push_back(this);
  }
  for (int i = 0; i < count; ++i) {
    count_running(1);
    try {
      threads_.push_back(start_background_thread([this, work] {
        {
          stopping_here = &stopping;
          const QuietScope quiet;
          const DeviceScope on_cpu(Device{});
          work();
        }
        count_running(-1);
      }));
    } catch (...) {  // the system cannot create a thread
      count_running(-1);
      throw;
    }
  }
}

void StageThreads::stop() {
  if (forked()) return;
  {
    Registry& all = registry();
    std::unique_lock lock(all.mutex);
    std::erase(all.all, this);
  }
  {
    const std::lock_guard lock(mutex);
    stopping = true;
    changed.notify_all();
  }
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
  threads_.clear();
}

void StageThreads::check_process() const {
  if (forked())
    fail<FailedPreconditionError>(
        "an iterator with its own threads was created before the process forked; create a new one in the "
        "new process");
}

bool StageThreads::forked() const {
  return process_ != process_number();
}

void StageThreads::wait_a_moment(std::unique_lock<std::mutex>& lock) {
  if (changed.wait_for(lock, moment) == std::cv_status::no_timeout) return;
  lock.unlock();
  check_cancelled();
  lock.lock();
}

void StageThreads::refuse_stopped() {
  fail<FailedPreconditionError>("the threads of data sets have ended, because the program ends");
}

void check_cancelled() {
  if (stopping_here && stopping_here->load(std::memory_order_relaxed)) throw Interrupted();
  cpu::check_stop();
}

void stop_all_threads() {
  Registry& all = registry();
  std::unique_lock lock(all.mutex);
  all.closed = true;
  for (StageThreads* threads : all.all) {
    const std::lock_guard inner(threads->mutex);
    threads->stopping = true;
    threads->changed.notify_all();
  }
  all.changed.wait(lock, [&] { return all.running == 0; });
}

bool all_threads_stopped() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return all.closed;
}

}  // namespace tapedeck::data
