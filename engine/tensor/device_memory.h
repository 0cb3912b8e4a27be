// GPU memory, which the host cannot read directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "engine/tensor/device.h"
#include "engine/tensor/shape.h"
#include "engine/tensor/storage.h"

namespace tapedeck {

class DeviceMemory;

/// A block of device memory. The DeviceMemory implementation derives from it.
struct DeviceBlock {
  DeviceMemory* memory = nullptr;
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// When a device executed some work, by the caller's clock.
struct DeviceSpan {
  std::uint64_t tag = 0;
  bool known = true;  ///< false: the times are lost
  std::int64_t begin_ns = 0, duration_ns = 0;
};

/// Each thread that uses a GPU has its own stream, which runs work in the order in which the thread queued
/// it. Callable from any thread. A failure on the device throws an error that names the op that caused it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  /// "NVIDIA H100 80GB HBM3, compute capability 9.0"
  virtual std::string description() const = 0;

  /// Uninitialised, aligned to 256 bytes. Throws ResourceExhaustedError ("needs 8 GB, /gpu:0 has …").
  virtual DeviceBlock* allocate(std::size_t bytes) = 0;
  /// Work already queued may still use the block: its memory is reused only after that work.
  virtual void free(DeviceBlock* block) noexcept = 0;
  /// Makes the calling thread's stream wait for other streams' work on the block.
  virtual void use(DeviceBlock* block) = 0;

  /// Blocks until the value is available, with the host language's lock released.
  virtual void read(const void* from, void* to, std::size_t bytes) = 0;
  /// `from` may change as soon as this returns.
  virtual void write(const void* from, void* to, std::size_t bytes) = 0;
  /// Copies from another GPU's memory, or within this one: after the work that writes `source`, which
  /// contains `from`, and before its memory is reused.
  virtual void copy(DeviceBlock& source, const void* from, void* to, std::size_t bytes) = 0;
  /// As kernels::copy: to row-major memory of the same device.
  virtual void copy_strided(std::size_t size, const void* from, const Strides& strides, void* to,
                            const Shape& shape) = 0;
  /// Waits for the calling thread's stream, and throws its errors.
  virtual void synchronize() = 0;

  /// The work that the calling thread queues until end_span() is one span; collect_spans() delivers its times
  /// once the device has finished it. `clock`: monotonic nanoseconds. Returns false if too many spans are
  /// open; end_span() must not be called then. None of the three waits for the device, or throws.
  virtual bool begin_span(std::uint64_t tag, std::int64_t (*clock)()) noexcept = 0;
  virtual void end_span(std::uint64_t tag) noexcept = 0;
  /// Delivers all threads' spans whose times became known since the last call; callable from any thread.
  virtual void collect_spans(const std::function<void(const DeviceSpan&)>& take) = 0;

  virtual PoolStatistics statistics() const = 0;
  /// The device's total memory in bytes.
  virtual std::size_t capacity() const = 0;
  virtual void reset_peak() = 0;
  /// Gives free memory of the pool back to the device.
  virtual void trim() = 0;
};

/// The device's memory; the GPU must exist.
DeviceMemory& device_memory(Device device);

namespace detail {
#ifndef __CUDACC__  // which refuses the attribute; only the engine uses the variable
/// The op whose work the calling thread is queueing on devices; nullptr: none.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local const char* op_on_device;
#endif
/// Returns the GPU's number. The memory lives until the process ends.
int add_gpu_memory(DeviceMemory& memory);
}  // namespace detail

}  // namespace tapedeck
