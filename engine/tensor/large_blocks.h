// Free blocks above 64 KiB, by size class and time of freeing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/tensor/block_list.h"
#include "engine/tensor/size_class.h"
#include "engine/tensor/thread_cache.h"

namespace tapedeck::detail {

constexpr int class_count = size_class(std::size_t{1} << 48) + 1;  // all that a process can address

/// Not thread-safe: the pool guards it.
class LargeBlocks {
 public:
  /// The sum of their classes' sizes.
  std::uint64_t bytes() const { return bytes_; }
  /// `now`: nanoseconds, never less than before.
  void put(void* memory, int index, std::uint64_t now);
  /// The most recently freed block of that class; nullptr if there is none.
  void* take(int index);

  /// When the oldest block was freed; 0 if there is none.
  std::uint64_t oldest_freed_at() const;
  /// Blocks that were taken out, linked by `next`; `freed_at` holds the class of each.
  struct Evicted {
    FreeBlock* head = nullptr;
  };
  /// Moves the oldest block to `evicted`; false if there is none.
  bool evict_oldest(Evicted& evicted);
  void evict_all(Evicted& evicted);

 private:
  FreeBlock* oldest(int& index) const;
  void unlink(FreeBlock* block, int index);

  std::array<BlockList, class_count> lists_;
  std::array<FreeBlock*, class_count> last_{};  ///< the other end of each list
  std::uint64_t bytes_ = 0;
};

/// Returns them to the system. The result is how many bytes of them went to the C library's heap.
std::size_t give_back(LargeBlocks::Evicted& evicted) noexcept;

}  // namespace tapedeck::detail
