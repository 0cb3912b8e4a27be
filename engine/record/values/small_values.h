// Copies of values of at most 64 bytes: cheaper than holding their storage, which then could not be reused.
//
// Only for row-major values on the CPU; others are treated like large ones.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/record/trace/tensor_specs.h"
#include "engine/record/trace/tensor_table.h"

namespace tapedeck {

constexpr std::size_t small_bytes = 64;
bool is_small(const Tensor& tensor);

/// A ring buffer of the latest small results. The id determines a tensor's place, so a tensor replaces the
/// one that is `count` ids older. Writes take a few nanoseconds and never wait; reads are thread-safe.
class RecentSmallValues {
 public:
  explicit RecentSmallValues(std::size_t count = 65536);
  void put(const Tensor& tensor);
  /// The same for bytes read from a file, at most small_bytes.
  void put(std::uint64_t id, const void* bytes, std::size_t size);
  std::uint64_t bytes() const { return entries_.size() * sizeof(Entry); }
  /// The values of tensor `id`, of `spec`; undefined if they are gone.
  Tensor get(std::uint64_t id, const RecordedSpec& spec) const;

 private:
  struct Entry {
    std::atomic<std::uint64_t> id{0};  ///< 0: none; all bits set while its words are being written
    std::array<std::atomic<std::uint64_t>, small_bytes / 8> words{};
  };
  std::vector<Entry> entries_;
};

/// Small leaves, kept while the table knows their tensors: 16 to 72 bytes each.
class SmallLeaves {
 public:
  explicit SmallLeaves(TensorTable& table) : table_(table) {}
  /// Keeps the values of tensor `id`. Returns the index for get() (below 2^31), or nullopt if there is no
  /// room.
  std::optional<std::uint32_t> put(std::uint64_t id, const Tensor& tensor);
  std::optional<std::uint32_t> put(std::uint64_t id, const void* bytes, std::size_t size);
  /// Undefined if the values were dropped with their tensor.
  Tensor get(std::uint32_t index, const RecordedSpec& spec) const;
  /// Drops values whose tensors, with ids below `below`, the table no longer knows, and updates the indices
  /// of the others in the table. Origins of known tensors must not be set concurrently.
  void forget(std::uint64_t below);
  std::uint64_t bytes() const;

 private:
  static constexpr std::size_t chunk_words = 8192;
  static constexpr std::size_t most_chunks = (std::size_t{1} << 31) / chunk_words;
  struct Kept {
    std::uint64_t id = 0;
    std::uint32_t first = 0, count = 0;  ///< words
  };
  struct Chunk {
    std::array<std::uint64_t, chunk_words> words;
    std::vector<Kept> kept;
    std::uint64_t newest_id = 0;
    std::size_t used = 0;  ///< words
  };
  std::optional<std::uint32_t> add(std::uint64_t id, const std::uint64_t* words, std::size_t count);
  static std::uint64_t bytes_of(const Chunk& chunk) {
    return sizeof(Chunk) + chunk.kept.capacity() * sizeof(Kept);
  }

  TensorTable& table_;
  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<Chunk>> chunks_;
  std::size_t first_ = 0;         ///< number of the first chunk, in the order in which they were made
  std::uint64_t full_bytes_ = 0;  ///< of all chunks except the last
};

}  // namespace tapedeck
