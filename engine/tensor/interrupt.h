// How long-running work checks whether the user wants to stop it.
#pragma once

#include <string>

namespace tapedeck {

/// Callbacks of the host language. All are called on the thread that runs the op.
struct HostHooks {
  /// Releases the host's lock (Python's GIL), so that its other threads run while this one waits; returns a
  /// token.
  void* (*release)() = nullptr;
  void (*reacquire)(void* token) = nullptr;
  /// Whether the user interrupted (Python: handles pending signals and sets the exception). Takes the lock
  /// itself. Cheap enough for every 20 ms, not for every element.
  bool (*interrupted)() = nullptr;
  /// Writes a line to the program's own output (log points).
  void (*print)(const std::string& line) = nullptr;
};
void set_host_hooks(const HostHooks& hooks);
const HostHooks& host_hooks();

/// Releases the host's lock while it lives. For the gate, and for kernels that run longer than about 50 µs.
class HostUnlock {
 public:
  HostUnlock();
  ~HostUnlock();
  HostUnlock(const HostUnlock&) = delete;

 private:
  void* token_;
};

/// While it lives, this thread keeps the host's lock and check_interrupt() does nothing: for in-place
/// changes, which must not be seen half done. Not for work over about 0.1 s.
class UninterruptedScope {
 public:
  UninterruptedScope();
  ~UninterruptedScope();
  UninterruptedScope(const UninterruptedScope&) = delete;
};

/// For loops over blocks of work: throws Interrupted if the user interrupted; checks at most every 20 ms.
/// Only the thread that called run_op may call it.
void check_interrupt();

}  // namespace tapedeck
