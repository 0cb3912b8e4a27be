// Memory of a GPU, which the host cannot read by itself.
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

/// A piece of it. The memory's own class knows more.
struct DeviceBlock {
  DeviceMemory* memory = nullptr;
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// When a device did a piece of work, by the clock that the caller gave.
struct DeviceSpan {
  std::uint64_t tag = 0;
  bool known = true;  ///< false: it will never be known
  std::int64_t begin_ns = 0, duration_ns = 0;
};

/// Work on a GPU runs on a stream for each thread that uses it, in the order in which the thread asked for
/// it. Called from any thread. What fails on the device throws an error that names the op that caused it.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  /// "NVIDIA H100 80GB HBM3, compute capability 9.0"
  virtual std::string description() const = 0;

  /// Uninitialised, aligned to 256 bytes. Throws ResourceExhaustedError ("needs 8 GB, /gpu:0 has …").
  virtual DeviceBlock* allocate(std::size_t bytes) = 0;
  /// Whoever used it before may still be at it: the memory is given anew only behind that.
  virtual void free(DeviceBlock* block) noexcept = 0;
  /// The calling thread's stream waits for what other threads' streams do with the block.
  virtual void use(DeviceBlock* block) = 0;

  /// Waits until the value is there. The thread gives up the host language's lock meanwhile.
  virtual void read(const void* from, void* to, std::size_t bytes) = 0;
  /// `from` may change as soon as this returns.
  virtual void write(const void* from, void* to, std::size_t bytes) = 0;
  /// From the memory of another GPU, or within this one: behind what made `source`, in which `from` lies, and
  /// before anybody else gets its memory.
  virtual void copy(DeviceBlock& source, const void* from, void* to, std::size_t bytes) = 0;
  /// As kernels::copy: to row-major memory of the same device.
  virtual void copy_strided(std::size_t size, const void* from, const Strides& strides, void* to,
                            const Shape& shape) = 0;
  /// Waits for the calling thread's stream, and throws what went wrong on it.
  virtual void synchronize() = 0;

  /// What the calling thread puts on its stream until end_span() is one span, whose times collect_spans()
  /// tells once the device is done with it. `clock`: nanoseconds, evenly. False: too many are under way
  /// already, and nothing is to be ended. None of the three waits for the device, or throws.
  virtual bool begin_span(std::uint64_t tag, std::int64_t (*clock)()) noexcept = 0;
  virtual void end_span(std::uint64_t tag) noexcept = 0;
  /// Those of all threads that have got their times since the last call; from any thread.
  virtual void collect_spans(const std::function<void(const DeviceSpan&)>& take) = 0;

  virtual PoolStatistics statistics() const = 0;
  /// What the device has in all.
  virtual std::size_t capacity() const = 0;
  virtual void reset_peak() = 0;
  /// Gives free memory of the pool back to the device.
  virtual void trim() = 0;
};

/// The device's; the GPU must be there.
DeviceMemory& device_memory(Device device);

namespace detail {
#ifndef __CUDACC__  // which refuses the attribute; only the engine uses the variable
/// The op whose work the calling thread gives to devices; nullptr: none.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local const char* op_on_device;
#endif
/// Returns the GPU's number. The memory lives until the process ends.
int add_gpu_memory(DeviceMemory& memory);
}  // namespace detail

}  // namespace tapedeck
