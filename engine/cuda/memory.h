// The memory of one GPU.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "engine/cuda/runtime.h"
#include "engine/tensor/device_memory.h"

namespace tapedeck::cuda {

/// A block of it; `users` are the streams that use it besides its home stream.
struct Block final : DeviceBlock {
  const char* op = nullptr;  ///< that allocated it; nullptr: none
  Stream* home = nullptr;
  std::atomic<bool> shared = false;
  std::mutex mutex;
  std::vector<Stream*> users;
  Block* before = nullptr;  ///< in the list of held blocks
  Block* behind = nullptr;
};

class GpuMemory final : public DeviceMemory {
 public:
  explicit GpuMemory(int device);

  std::string description() const override { return description_; }
  DeviceBlock* allocate(std::size_t bytes) override;
  void free(DeviceBlock* block) noexcept override;
  void use(DeviceBlock* block) override;
  void read(const void* from, void* to, std::size_t bytes) override;
  void write(const void* from, void* to, std::size_t bytes) override;
  void copy(DeviceBlock& source, const void* from, void* to, std::size_t bytes) override;
  void copy_strided(std::size_t size, const void* from, const Strides& strides, void* to,
                    const Shape& shape) override;
  void synchronize() override;
  bool begin_span(std::uint64_t tag, std::int64_t (*clock)()) noexcept override;
  void end_span(std::uint64_t tag) noexcept override;
  void collect_spans(const std::function<void(const DeviceSpan&)>& take) override;
  PoolStatistics statistics() const override;
  std::size_t capacity() const override { return capacity_; }
  void reset_peak() override;
  void trim() override;

  int device() const { return device_; }
  /// "tensors hold 2 pieces, the largest of 8.0 MiB (by matmul), 1.0 MiB"; empty if they hold nothing.
  std::string holders() const;

 private:
  /// Waits for the calling thread's stream, without the host language's lock, and throws its faults.
  void wait(Stream& stream);

  int device_;
  std::string description_;
  std::size_t capacity_ = 0;
  cudaMemPool_t pool_ = nullptr;

  mutable std::mutex mutex_;
  Block* held_ = nullptr;  ///< the list of held blocks
  std::uint64_t in_use_ = 0, peak_ = 0;
};

/// The memory of a device that is registered with the engine.
GpuMemory& memory_of(int device);
/// nullptr if it is not registered.
GpuMemory* find_memory(int device);

/// Allocates memory of the stream's device, in stream order. If there is too little, returns the pool's
/// cached memory to the device first; then refuse_memory("`what`needs 12 MiB").
void* take_memory(Stream& stream, std::size_t bytes, const char* what);
/// Throws ResourceExhaustedError: "`wanted`, /gpu:0 has …".
[[noreturn]] void refuse_memory(int device, const std::string& wanted);
/// Waits until pending frees are complete, and returns the pool's cached memory to the device.
void make_room(int device);

}  // namespace tapedeck::cuda
