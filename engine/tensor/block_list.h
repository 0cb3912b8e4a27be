// Free blocks of one size class, linked through their own first bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapedeck::detail {

/// What a free block's first bytes hold.
struct FreeBlock {
  FreeBlock* next;
  FreeBlock* previous;  // large blocks only, as is `freed_at`
  std::uint64_t freed_at;
};

struct BlockList {
  FreeBlock* head = nullptr;
  std::size_t count = 0;

  void push(FreeBlock* block) {
    block->next = head;
    head = block;
    ++count;
  }
  FreeBlock* pop() {
    FreeBlock* block = head;
    if (block) {
      head = block->next;
      --count;
    }
    return block;
  }
  /// The first `wanted` blocks, or all.
  BlockList split(std::size_t wanted) {
    BlockList taken;
    if (!head || wanted == 0) return taken;
    FreeBlock* last = head;
    taken.count = 1;
    while (taken.count < wanted && last->next) {
      last = last->next;
      ++taken.count;
    }
    taken.head = head;
    head = last->next;
    last->next = nullptr;
    count -= taken.count;
    return taken;
  }
};

}  // namespace tapedeck::detail
