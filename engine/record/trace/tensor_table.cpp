#include "engine/record/trace/tensor_table.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "engine/record/trace/trace_source.h"

namespace tapedeck {
namespace {

constexpr std::size_t spares_with_memory = 4;

/// Its whole pages return to the system; concurrent readers then read zeros.
void give_back(void* block, std::size_t bytes) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(block) + page - 1) / page * page;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(block) + bytes) / page * page;
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

TensorTable::Block* TensorTable::spare_or_new() {
  if (spare_.empty()) {
    auto* fresh = static_cast<Block*>(std::calloc(1, sizeof(Block)));
    if (!fresh) throw std::bad_alloc();
    blocks_.fetch_add(1, std::memory_order_relaxed);
    return fresh;
  }
  Block* spare = spare_.back();
  spare_.pop_back();
  if (spare_.size() >= spares_with_memory) blocks_.fetch_add(1, std::memory_order_relaxed);
  // Only now: a thread that was still writing to it when it was dropped has long finished.
  for (std::size_t i = 0; i < block_size; ++i) {
    spare->entries[i].store(0, std::memory_order_relaxed);
    spare->costs[i].store(0, std::memory_order_relaxed);
    spare->users[i].store(0, std::memory_order_relaxed);
    spare->gone[i].store(0, std::memory_order_relaxed);
    spare->roots[i].store(0, std::memory_order_relaxed);
    spare->names[i].store(0, std::memory_order_relaxed);
  }
  return spare;
}

void TensorTable::put_aside(Block* block) {
  spare_.push_back(block);
  if (spare_.size() <= spares_with_memory) return;
  give_back(block, sizeof(Block));
  blocks_.fetch_sub(1, std::memory_order_relaxed);
}

TensorTable::Block* TensorTable::add_block(std::size_t index) {
  Block* fresh = nullptr;
  {
    const std::lock_guard lock(old_mutex_);
    fresh = spare_or_new();
  }
  Block* expected = nullptr;
  if (!directory_[index].compare_exchange_strong(expected, fresh)) {
    const std::lock_guard lock(old_mutex_);
    put_aside(fresh);
    return expected;
  }
  std::size_t used = used_.load();
  while (used <= index && !used_.compare_exchange_weak(used, index + 1)) {
  }
  return fresh;
}

TensorOrigin TensorTable::get_stored(std::uint64_t id) const {
  const std::size_t index = id >> block_bits;
  if (index >= directory_size || !source_->has_tensors(index)) return {};
  const std::lock_guard lock(loading_);
  if (!block_of(id)) {
    auto* fresh = static_cast<Block*>(std::calloc(1, sizeof(Block)));
    if (!fresh) throw std::bad_alloc();
    source_->tensors(index, [&](std::uint64_t tensor, TensorOrigin origin, Life life, std::uint32_t name) {
      fresh->entries[tensor % block_size].store(origin.pack(), std::memory_order_relaxed);
      fresh->gone[tensor % block_size].store(life.gone, std::memory_order_relaxed);
      fresh->roots[tensor % block_size].store(static_cast<std::uint32_t>(life.root - tensor),
                                              std::memory_order_relaxed);
      fresh->names[tensor % block_size].store(name, std::memory_order_relaxed);
    });
    blocks_.fetch_add(1, std::memory_order_relaxed);
    directory_[index].store(fresh, std::memory_order_release);
    std::size_t used = used_.load();
    while (used <= index && !used_.compare_exchange_weak(used, index + 1)) {
    }
  }
  return TensorOrigin::unpack(block_of(id)->entries[id % block_size].load(std::memory_order_acquire));
}

/// Reads a block that is only in the file.
const TensorTable::Block* TensorTable::block_to_visit(std::uint64_t index) const {
  if (source_ && !directory_[index].load(std::memory_order_acquire)) get_stored(index << block_bits);
  return directory_[index].load(std::memory_order_acquire);
}

std::vector<std::uint64_t> TensorTable::used_blocks() const {
  std::vector<std::uint64_t> indices;
  for (std::size_t index = 0; index < used_; ++index)
    if (directory_[index].load(std::memory_order_acquire)) indices.push_back(index);
  return indices;
}

void TensorTable::set_old(std::uint64_t id, TensorOrigin origin) {
  const std::size_t index = id >> block_bits;
  const std::lock_guard lock(old_mutex_);
  Block* block = block_of(id);
  if (!block) {
    block = spare_or_new();
    directory_[index].store(block, std::memory_order_release);
    old_.push_back(index);
  }
  block->entries[id % block_size].store(origin.pack(), std::memory_order_release);
}

void TensorTable::lose() {
  const std::lock_guard lock(old_mutex_);
  for (std::size_t index = 0; index < used_.load(); ++index) {
    Block* block = directory_[index].load(std::memory_order_acquire);
    if (!block) continue;
    for (auto& entry : block->entries)
      if (entry.load(std::memory_order_relaxed) != 0)
        entry.fetch_or(TensorOrigin::lost_bit, std::memory_order_relaxed);
  }
}

/// Whether entries remain.
bool TensorTable::forget_entries(Block& block, std::uint32_t oldest_record) {
  bool any = false;
  for (std::size_t i = 0; i < block_size; ++i) {
    if (block.entries[i].load(std::memory_order_relaxed) == 0) continue;
    const bool is_there = block.gone[i].load(std::memory_order_relaxed) == 0 &&
                          block.roots[i].load(std::memory_order_relaxed) == 0;
    if (is_there || block.users[i].load(std::memory_order_relaxed) >= oldest_record)
      any = true;
    else
      block.entries[i].store(0, std::memory_order_release);
  }
  return any;
}

void TensorTable::forget(std::uint64_t below, std::uint32_t oldest_record) {
  const std::lock_guard lock(old_mutex_);
  const std::uint64_t first = forgotten_below_.load() >> block_bits;
  const std::uint64_t last = below >> block_bits;  // this one is not all old yet
  if (last > first) forgotten_below_.store(last << block_bits);
  for (std::uint64_t index = first; index < last && index < directory_size; ++index)
    if (directory_[index].load()) old_.push_back(index);
  const std::size_t turns = std::min(old_.size(), blocks_at_once + (last > first ? last - first : 0));
  for (std::size_t turn = 0; turn < turns; ++turn) {
    const std::size_t index = old_.front();
    old_.pop_front();
    Block* block = directory_[index].load();
    if (forget_entries(*block, oldest_record)) {
      old_.push_back(index);
      continue;
    }
    directory_[index].store(nullptr, std::memory_order_release);
    put_aside(block);
  }
}

}  // namespace tapedeck
