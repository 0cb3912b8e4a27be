// Values on their way to a GPU and back, through pinned memory of the host, which the device reads and writes
// by itself.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "engine/cuda/runtime.h"

namespace tapedeck::cuda {

/// Of one stream, whose thread calls it.
class Staging {
 public:
  /// Puts a copy on the stream; the host's memory may change then. Waits only where the device is
  /// `most_parts` behind.
  void write(Stream& stream, const void* from, void* to, std::size_t bytes);
  /// Waits until the values are there, without the host language's lock.
  void read(Stream& stream, const void* from, void* to, std::size_t bytes);

 private:
  static constexpr std::size_t part_bytes = std::size_t{1} << 20, most_parts = 64, most_ahead = 4;

  struct Part {
    std::byte* memory = nullptr;
    cudaEvent_t done = nullptr;  ///< the device has read, or written, it
  };
  static Part make_part();
  void next_part(Stream& stream);
  /// By a part behind `part_`. False: it has all that it may have, or that the system gives.
  bool grow();
  cudaError_t read_parts(Stream& stream, const std::byte* from, std::byte* to, std::size_t bytes);

  /// A ring: the one behind `part_` has waited longest. It grows where that is not read yet.
  std::vector<Part> written_;
  std::size_t part_ = 0, used_ = 0;  ///< the part that is being filled, and how far

  std::array<Part, most_ahead> read_{};
};

}  // namespace tapedeck::cuda
