// What stands between the kernels and CUDA's runtime: errors as the engine's, and the streams.
//
// The header is NVIDIA's under nvcc; the tests have one of the same name (tests/cuda/emulation).
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

/// What happened on a GPU and cannot be undone, or what its runtime refuses.
struct DeviceError : InternalError {
  using InternalError::InternalError;
};

/// Throws a DeviceError that names `what` was to be done. After some errors CUDA refuses whatever the process
/// asks for: the first one of these names the ops in flight, the engine is told of it, and it is thrown again
/// by each later call.
void check(cudaError_t error, const char* what);
/// The same for what is asked of a device that is not the calling thread's current one, but nothing is
/// thrown.
void note_error(cudaError_t error, const char* what, int device) noexcept;
/// Whether there was such an error: what can do without CUDA does so then.
bool is_lost() noexcept;

class Faults;
struct Handles;
class Spans;
class Staging;

/// The order of a thread's work on a device. Lives as long as the process: when its thread has ended and its
/// work is done and told, another thread may have it.
struct Stream {
  int device = 0;
  cudaStream_t handle = nullptr;
  /// Grows behind each piece of work that is put on it, so that others know whether they have waited already.
  std::atomic<std::uint64_t> work{0};
  /// A kernel, by the op that it works for; nullptr: for none.
  struct Started {
    std::atomic<const char*> op, kernel;
  };
  /// The last ones that were started, of `kernel_count`; the first `kernels_done` of all have ended well.
  static constexpr std::size_t remembered = 8;
  std::array<Started, remembered> kernels{};
  std::atomic<std::uint64_t> kernel_count{0}, kernels_done{0};

  void note_work() { work.store(work.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  void note_kernel(const char* name);

  // Of whoever waits for it.
  std::mutex mutex;
  cudaEvent_t tail = nullptr;

  /// A thread has it.
  std::atomic<bool> owned{true};

  // Of the thread that has the stream; each is made when it is needed first.
  Staging* staging = nullptr;
  Faults* faults = nullptr;
  Handles* handles = nullptr;
  /// Those whose results it uses and that no thread has any more: nobody else tells what went wrong on them.
  std::vector<Stream*> ended;

  /// nullptr until the first span.
  std::atomic<Spans*> spans{nullptr};
};

/// Of all threads; each lives as long as the process.
std::vector<Stream*> all_streams(int device);
/// Waits for the calling thread's stream, without the host language's lock.
void wait_for_all(Stream& stream);

/// The calling thread's on the device; makes the device CUDA's current one. Whoever puts work on it calls
/// note_work() then.
Stream& stream_of(int device);
/// The calling thread's on each device; nullptr where it has none.
std::span<Stream* const> streams_of_thread();
/// `later`, the calling thread's, goes on when what is on `earlier` now is done. It does not wait again for
/// what it has waited for already.
void wait_for(Stream& later, Stream& earlier);
/// The calling thread, whose stream `later` is, uses what was made on `maker`: where no thread has that any
/// more, it hears of the faults there.
void hear_of(Stream& later, Stream& maker);
/// Throws what threads that have ended have left on streams that the calling thread's waited for.
void throw_faults_of_ended(Stream& stream);

/// The device that work goes to: of the innermost OnDevice, else where the op was placed.
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

/// The current stream, as a call of CUDA's takes it: `cudaMemsetAsync(…, stream())`. Notes the work when the
/// expression ends, so it is not to be kept as a cudaStream_t.
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

/// `later` goes on when what is on `earlier` now is done; of any thread.
void wait_again(Stream& later, Stream& earlier);

/// What the engine gave.
const GpuHost& host();
void set_host(const GpuHost& host);
/// The engine's tensor_float_32_allowed(); false where kernels run without it, in their tests.
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

/// Memory of the host that devices can read and write. Lives as long as the process.
void* pinned_memory(std::size_t bytes, unsigned flags);

/// Memory for a kernel's own use, of the current device and stream: whatever comes later on the stream gets
/// it again. Aligned to 256 bytes. Throws ResourceExhaustedError as GpuMemory::allocate().
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
