// The layer between the kernels and CUDA's runtime: the engine's errors, and streams.
//
// cuda_runtime.h is NVIDIA's under nvcc; the tests have their own (tests/cuda/emulation).
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/backend/devices.h"
#include "engine/tensor/device.h"
#include "engine/tensor/internal_error.h"

namespace tapedeck::cuda {

/// An unrecoverable error on a GPU, or an error of its runtime.
struct DeviceError : InternalError {
  using InternalError::InternalError;
};

/// Throws a DeviceError that says `what` failed. After some errors CUDA refuses all further calls of the
/// process: the first of these errors names the ops in flight and is reported to the engine, and every later
/// call throws it again.
void check(cudaError_t error, const char* what);
/// The same for a call on a device that is not the calling thread's current one, without throwing.
void note_error(cudaError_t error, const char* what, int device) noexcept;
/// Whether there was such an error; callers then avoid CUDA where they can.
bool is_lost() noexcept;

class Faults;
struct Handles;
class Spans;
class Staging;

/// A thread's stream on a device. Lives as long as the process: when its thread has ended and its work is
/// done and reported, another thread may reuse it.
struct Stream {
  int device = 0;
  cudaStream_t handle = nullptr;
  /// Incremented after each piece of work, so that others know whether they have already waited for it.
  std::atomic<std::uint64_t> work{0};
  /// A kernel launch, with the op for which it runs; nullptr: none.
  struct Started {
    std::atomic<const char*> op, kernel;
  };
  /// The most recent of `kernel_count` launches; the first `kernels_done` of all have succeeded.
  static constexpr std::size_t remembered = 8;
  std::array<Started, remembered> kernels{};
  std::atomic<std::uint64_t> kernel_count{0}, kernels_done{0};

  void note_work() { work.store(work.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  void note_kernel(const char* name);

  // Used by the waiting thread.
  std::mutex mutex;
  cudaEvent_t tail = nullptr;

  /// Whether a thread owns it.
  std::atomic<bool> owned{true};

  // Used by the thread that owns the stream; created on first use.
  Staging* staging = nullptr;
  Faults* faults = nullptr;
  Handles* handles = nullptr;
  /// Streams whose results it uses and that no thread owns any more, so that this thread must report their
  /// errors.
  std::vector<Stream*> ended;

  /// nullptr until the first span.
  std::atomic<Spans*> spans{nullptr};
};

/// The streams of all threads; each lives as long as the process.
std::vector<Stream*> all_streams(int device);
/// Waits for the calling thread's stream, without the host language's lock.
void wait_for_all(Stream& stream);

/// The calling thread's stream on the device; makes the device CUDA's current one. Call note_work() after
/// queuing work on it.
Stream& stream_of(int device);
/// The calling thread's stream on each device; nullptr if it has none.
std::span<Stream* const> streams_of_thread();
/// Makes `later`, the calling thread's stream, wait for the work now queued on `earlier`, unless it has
/// already waited for it.
void wait_for(Stream& later, Stream& earlier);
/// The calling thread, which owns `later`, uses results of `maker`: if no thread owns that any more, its
/// faults are reported to this thread.
void hear_of(Stream& later, Stream& maker);
/// Throws the faults that ended threads left on streams for which the calling thread's stream waited.
void throw_faults_of_ended(Stream& stream);

/// The device for new work: that of the innermost OnDevice, else where the op was placed.
int current_device();
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;

 private:
  int before_;
};
/// stream_of(current_device()).
inline Stream& current_stream() {
  return stream_of(current_device());
}

/// The current stream as an argument of a CUDA call: `cudaMemsetAsync(…, stream())`. Notes the work when the
/// full expression ends, so do not store it as a cudaStream_t.
class Submission {
 public:
  explicit Submission(Stream& stream) : stream_(stream) {}
  ~Submission() { stream_.note_work(); }
  Submission(const Submission&) = delete;
  operator cudaStream_t() const { return stream_.handle; }

 private:
  Stream& stream_;
};
inline Submission stream() {
  return Submission(current_stream());
}

/// Makes `later` wait for the work now queued on `earlier`; streams of any thread.
void wait_again(Stream& later, Stream& earlier);

/// The callbacks that the engine provided.
const GpuHost& host();
void set_host(const GpuHost& host);
/// The engine's tensor_float_32_allowed(); false in the kernels' tests, which run without the engine.
bool rounds_to_tensor_float_32();

/// Calls `wait(context)` without the host language's lock.
void without_lock(void (*wait)(void* context), void* context);
/// check(wait(), what), without the host language's lock while it waits.
template <class Wait>
void unlocked(Wait&& wait, const char* what) {
  struct Call {
    Wait& wait;
    cudaError_t error;
  } call{wait, cudaSuccess};
  without_lock(
      [](void* context) {
        auto* of = static_cast<Call*>(context);
        of->error = of->wait();
      },
      &call);
  check(call.error, what);
}

/// The CUDA devices that are the engine's GPUs 0, 1, …; set once, before anything else here is called.
void set_devices(std::span<const int> cuda_devices);
int cuda_device(int device);

/// Host memory that devices can read and write. Lives as long as the process.
void* pinned_memory(std::size_t bytes, unsigned flags);

/// Temporary memory for kernels, on the current device and stream: later work on the stream may reuse it.
/// Aligned to 256 bytes. Throws ResourceExhaustedError as GpuMemory::allocate().
class Scratch {
 public:
  explicit Scratch(std::size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  Stream& stream_;
};

}  // namespace tapedeck::cuda
