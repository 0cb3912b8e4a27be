// Each thread's cache of the block pool: small blocks, taken and returned without a lock.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/tensor/block_list.h"
#include "engine/tensor/size_class.h"

namespace tapedeck::detail {

constexpr int small_classes = size_class(std::size_t{64} << 10) + 1;
constexpr std::size_t thread_cache_limit = std::size_t{4} << 20;

/// How many blocks of a class a thread caches; it moves half of them at a time.
constexpr auto thread_list_limits = [] {
  std::array<std::size_t, small_classes> limits{};
  for (int index = 1; index < small_classes; ++index)
    limits[static_cast<std::size_t>(index)] =
        std::clamp<std::size_t>((std::size_t{256} << 10) / class_bytes(index), 8, 256);
  return limits;
}();

/// Only the owning thread writes; others read the counters for the statistics.
struct ThreadCache {
  std::array<BlockList, small_classes> lists;
  std::atomic<std::int64_t> in_use{0};  // not yet added to the pool's sum
  std::atomic<std::uint64_t> cached{0};
  ThreadCache* next = nullptr;
  ThreadCache* previous = nullptr;

  /// nullptr if the thread has none of that class.
  void* take(int index) {
    FreeBlock* block = lists[static_cast<std::size_t>(index)].pop();
    if (block) take_cached(class_bytes(index));
    return block;
  }
  /// Returns false, without taking the block, if the thread's cache for that class or its total is full.
  bool give(int index, void* block) {
    BlockList& list = lists[static_cast<std::size_t>(index)];
    if (list.count >= thread_list_limits[static_cast<std::size_t>(index)] ||
        cached.load(std::memory_order_relaxed) >= thread_cache_limit)
      return false;
    list.push(static_cast<FreeBlock*>(block));
    add_cached(class_bytes(index));
    return true;
  }

  void add_cached(std::size_t bytes) {
    cached.store(cached.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
  void take_cached(std::size_t bytes) {
    cached.store(cached.load(std::memory_order_relaxed) - bytes, std::memory_order_relaxed);
  }
};

}  // namespace tapedeck::detail
