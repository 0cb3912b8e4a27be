// Threads of stages: they end with their iterator, at the interpreter's exit, and are not looked for in a
// forked process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tapedeck::data {

/// The threads of one stage, with the lock and the signal that all its state is under. What the threads do
/// with the state they do under `mutex`, and they look at `stopping` whenever they wait.
class StageThreads {
 public:
  StageThreads();
  ~StageThreads();
  StageThreads(const StageThreads&) = delete;

  /// Starts `count` threads, of which nobody observes or tapes an op. Not under `mutex`, which is taken under
  /// the list's of all threads.
  void start(int count, const std::function<void()>& work);
  bool started() const { return !threads_.empty(); }
  /// Ends and joins them. They are to return when `stopping` is set.
  void stop();
  /// Waits, on the consumer's thread, until the condition holds; throws Interrupted where the user
  /// interrupts, and FailedPreconditionError where the threads have ended with the program.
  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, Condition&& condition) {
    while (!condition()) {
      if (stopping) refuse_stopped();
      wait_a_moment(lock);
    }
  }
  /// FailedPreconditionError in a process that was forked off after the threads began: they are not there.
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

/// The threads of `Shared` wait between two elements while it lives. Shared has StageThreads `threads`, under
/// whose lock are `paused` and `working`: whether, or how many, threads are at an element.
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

/// For loops that may take long before an element comes out: throws Interrupted where the user interrupts, or
/// where the stage whose thread this is shall end. Some 30 ns.
void check_cancelled();

/// Ends the threads of all iterators, for good, and waits for them: before the program's end.
void stop_all_threads();
/// Whether that was called.
bool all_threads_stopped();

/// What a forked process must not destroy, because its threads are missing there, is left as it is.
template <class Shared>
void destroy_unless_forked(std::unique_ptr<Shared>& shared) {
  if (shared && shared->threads.forked())
    (void)shared.release();
  else
    shared.reset();
}

}  // namespace tapedeck::data
