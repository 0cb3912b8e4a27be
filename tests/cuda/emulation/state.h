// Shared state of the emulation.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda_runtime.h"

namespace emulation {

constexpr int device_count = 2;

/// A global lock: calls are short, and device work runs under it, so one block runs at a time.
std::recursive_mutex& mutex();

/// Objects that programs create, besides memory.
enum class Kind { stream, event, products, solver, solver_parameters, solver_info, pinned };
void count_made(Kind kind, int more);
int made(Kind kind);

/// Prints it and aborts: the program made a mistake for which a real device has no error code.
[[noreturn]] void die(const std::string& text);

struct Item {
  const char* name;
  std::function<void()> work;
};
struct Stream {
  int device = 0;
  std::deque<Item> queue;
  std::uint64_t given = 0, done = 0;
};
struct Event {
  bool timed = false;
  Stream* stream = nullptr;  ///< that it was recorded on
  std::uint64_t place = 0;   ///< done by then
  /// When it was done; recording the event again creates a new one.
  std::shared_ptr<std::chrono::steady_clock::time_point> when;
};
/// Runs the stream's work up to that place, and the work for which it waits.
void run_until(Stream& stream, std::uint64_t place);
void run_all(int device);

/// A thread executed a trap instruction, which ends the kernel.
struct Trap {
  std::string why;
  cudaError_t error = cudaErrorLaunchFailure;
};
/// Every call on the device returns this error from now on.
void break_device(int device, cudaError_t error);
cudaError_t error_of(int device);

// ---- memory ----

/// −1: the host's.
int device_of(const void* place);
bool is_pinned(const void* place);
/// While it lives, the process can access the device's memory.
class OpenMemory {
 public:
  explicit OpenMemory(int device);
  ~OpenMemory();
  OpenMemory(const OpenMemory&) = delete;

 private:
  int device_;
};
/// Aborts if there was a write past the end of an allocation; `after` ran last. If there are many
/// allocations, checks some each time, in turn.
void check_redzones(int device, const char* after);

}  // namespace emulation
