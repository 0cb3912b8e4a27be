#include "engine/tensor/large_blocks.h"

#include <utility>

#include "engine/tensor/system_memory.h"

namespace tapedeck::detail {

void LargeBlocks::put(void* memory, int index, std::uint64_t now) {
  const auto i = static_cast<std::size_t>(index);
  auto* block = static_cast<FreeBlock*>(memory);
  block->freed_at = now;
  block->previous = nullptr;
  block->next = lists_[i].head;
  (block->next ? block->next->previous : last_[i]) = block;
  lists_[i].head = block;
  ++lists_[i].count;
  bytes_ += class_bytes(index);
}

void* LargeBlocks::take(int index) {
  FreeBlock* block = lists_[static_cast<std::size_t>(index)].head;
  if (block) unlink(block, index);
  return block;
}

void LargeBlocks::unlink(FreeBlock* block, int index) {
  const auto i = static_cast<std::size_t>(index);
  (block->previous ? block->previous->next : lists_[i].head) = block->next;
  (block->next ? block->next->previous : last_[i]) = block->previous;
  --lists_[i].count;
  bytes_ -= class_bytes(index);
}

FreeBlock* LargeBlocks::oldest(int& index) const {
  FreeBlock* oldest = nullptr;
  for (int i = small_classes; i < class_count; ++i) {
    FreeBlock* candidate = last_[static_cast<std::size_t>(i)];
    if (candidate && (!oldest || candidate->freed_at < oldest->freed_at)) {
      oldest = candidate;
      index = i;
    }
  }
  return oldest;
}

std::uint64_t LargeBlocks::oldest_freed_at() const {
  int index = 0;
  const FreeBlock* block = oldest(index);
  return block ? block->freed_at : 0;
}

bool LargeBlocks::evict_oldest(Evicted& evicted) {
  int index = 0;
  FreeBlock* block = oldest(index);
  if (!block) return false;
  unlink(block, index);
  block->freed_at = static_cast<std::uint64_t>(index);
  block->next = std::exchange(evicted.head, block);
  return true;
}

void LargeBlocks::evict_all(Evicted& evicted) {
  while (evict_oldest(evicted)) {
  }
}

std::size_t give_back(LargeBlocks::Evicted& evicted) noexcept {
  std::size_t heap_bytes = 0;
  while (FreeBlock* block = evicted.head) {
    evicted.head = block->next;
    const std::size_t bytes = class_bytes(static_cast<int>(block->freed_at));
    if (bytes < mapped_from) heap_bytes += bytes;
    system_free(block, bytes);
  }
  return heap_bytes;
}

}  // namespace tapedeck::detail
