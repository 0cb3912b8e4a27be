// Threads of stages: they end with their iterator or at the interpreter's exit; a forked process does not
// expect them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tapedeck::data {

/// The threads of one stage, with the lock and the condition variable that guard all its state. The threads
/// access the state only under `mutex`, and check `stopping` whenever they wait.
class StageThreads {
 public:
  StageThreads();
  ~StageThreads();
  StageThreads(const StageThreads&) = delete;

  /// Starts `count` threads, whose ops are neither observed nor taped. Not to be called under `mutex`, which
  /// is locked after the mutex of the list of all threads.
  void start(int count, const std::function<void()>& work);
  bool started() const { return !threads_.empty(); }
  /// Ends and joins them. They must return when `stopping` is set.
  void stop();
  /// Waits, on the consumer's thread, until the condition holds; throws Interrupted if the user interrupts,
  /// and FailedPreconditionError if the threads have ended with the program.
  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, Condition&& condition) {
    while (!condition()) {
      if (stopping) refuse_stopped();
      wait_a_moment(lock);
    }
  }
  /// FailedPreconditionError in a process forked after the threads started, which lacks them.
  void check_process() const;
  bool forked() const;

  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> stopping{false};

 private:
  void wait_a_moment(std::unique_lock<std::mutex>& lock);
  [[noreturn]] static void refuse_stopped();

  std::vector<std::thread> threads_;
  std::uint64_t process_;
};

/// While it lives, the threads of `Shared` pause between two elements. Shared has StageThreads `threads`,
/// whose lock guards `paused` and `working`: whether, or how many, threads are processing an element.
template <class Shared>
class Pause {
 public:
  explicit Pause(Shared& shared) : shared_(shared) {
    shared.threads.check_process();
    std::unique_lock lock(shared.threads.mutex);
    shared.paused = true;
    try {
      shared.threads.wait(lock, [&] { return !shared.working; });
    } catch (...) {
      shared.paused = false;
      throw;
    }
  }
  ~Pause() {
    const std::lock_guard lock(shared_.threads.mutex);
    shared_.paused = false;
    shared_.threads.changed.notify_all();
  }
  Pause(const Pause&) = delete;

 private:
  Shared& shared_;
};

/// For loops that may take long to produce an element: throws Interrupted if the user interrupts, or if this
/// thread's stage must end. About 30 ns.
void check_cancelled();

/// Ends the threads of all iterators permanently, and waits for them: before the program exits.
void stop_all_threads();
/// Whether that was called.
bool all_threads_stopped();

/// Leaks state that a forked process must not destroy, because the threads are missing there.
template <class Shared>
void destroy_unless_forked(std::unique_ptr<Shared>& shared) {
  if (shared && shared->threads.forked())
    (void)shared.release();
  else
    shared.reset();
}

}  // namespace tapedeck::data
