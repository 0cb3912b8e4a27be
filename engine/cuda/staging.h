// Transfers to a GPU and back through pinned host memory, which the device reads and writes directly.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "engine/cuda/runtime.h"

namespace tapedeck::cuda {

/// For one stream, called by its thread.
class Staging {
 public:
  /// Queues a copy on the stream; the source may change afterwards. Waits only if the device is `most_parts`
  /// behind.
  void write(Stream& stream, const void* from, void* to, std::size_t bytes);
  /// Waits until the values have arrived, without the host language's lock.
  void read(Stream& stream, const void* from, void* to, std::size_t bytes);

 private:
  static constexpr std::size_t part_bytes = std::size_t{1} << 20, most_parts = 64, most_ahead = 4;

  struct Part {
    std::byte* memory = nullptr;
    cudaEvent_t done = nullptr;  ///< when the device has read, or written, it
  };
  static Part make_part();
  void next_part(Stream& stream);
  /// Adds a part after `part_`. False: it is at its limit, or the system has no more memory.
  bool grow();
  cudaError_t read_parts(Stream& stream, const std::byte* from, std::byte* to, std::size_t bytes);

  /// A ring: the part after `part_` is the oldest. It grows if the device has not read that yet.
  std::vector<Part> written_;
  std::size_t part_ = 0, used_ = 0;  ///< the part being filled, and how far

  std::array<Part, most_ahead> read_{};
};

}  // namespace tapedeck::cuda
