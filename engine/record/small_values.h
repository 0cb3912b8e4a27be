// Copies of values of at most 64 bytes: cheaper than holding their storage, which could not be reused then.
//
// Only row-major values on the CPU are taken: others go the way of large ones.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/record/tensor_specs.h"

namespace tapedeck {

constexpr std::size_t small_bytes = 64;
bool is_small(const Tensor& tensor);

/// The latest small results. A tensor's place follows from its id, so a later one takes the place of one that
/// is `count` ids older. Writing costs some nanoseconds and never waits; reading is safe from any thread.
class RecentSmallValues {
 public:
  explicit RecentSmallValues(std::size_t count = 65536);
  void put(const Tensor& tensor);
  std::uint64_t bytes() const { return entries_.size() * sizeof(Entry); }
  /// The values of tensor `id`, of `spec`; undefined where they are gone.
  Tensor get(std::uint64_t id, const RecordedSpec& spec) const;

 private:
  struct Entry {
    std::atomic<std::uint64_t> id{0};  ///< 0: none; all bits set while its words are being written
    std::array<std::atomic<std::uint64_t>, small_bytes / 8> words{};
  };
  std::vector<Entry> entries_;
};

/// Small leaves, kept for good: eight to 64 bytes each.
class SmallLeaves {
 public:
  /// Returns the index to read it by (below 2^31), or nothing where that many are full.
  std::optional<std::uint32_t> put(const Tensor& tensor);
  Tensor get(std::uint32_t index, const RecordedSpec& spec) const;
  std::uint64_t bytes() const;

 private:
  static constexpr std::size_t chunk_words = 8192;
  using Chunk = std::array<std::uint64_t, chunk_words>;
  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<Chunk>> chunks_;
  std::size_t used_ = 0;  ///< words of the last chunk
};

}  // namespace tapedeck
