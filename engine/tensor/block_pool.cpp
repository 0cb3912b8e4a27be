#include "engine/tensor/block_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "engine/tensor/block_list.h"
#include "engine/tensor/error.h"
#include "engine/tensor/storage.h"
#include "engine/tensor/system_memory.h"

namespace tapedeck::detail {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool pooled = false;
#else
constexpr bool pooled = true;
#endif

constexpr int small_classes = size_class(std::size_t{64} << 10) + 1;
constexpr int class_count = size_class(std::size_t{1} << 48) + 1;  // all that a process can address
constexpr std::size_t thread_cache_limit = std::size_t{4} << 20;
constexpr std::int64_t unflushed_limit = std::int64_t{256} << 10;

/// How many blocks of a class a thread keeps; it moves half of them at a time.
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

  /// nullptr where the thread has none of that class.
  void* take(int index) {
    FreeBlock* block = lists[static_cast<std::size_t>(index)].pop();
    if (block) take_cached(class_bytes(index));
    return block;
  }
  /// False, and the block is not taken, where the thread has enough of that class or of all.
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

class Pool {
 public:
  void* allocate(std::size_t bytes);
  void free(void* block, std::size_t bytes) noexcept;
  void account(std::int64_t bytes) noexcept;
  PoolStatistics statistics();
  void trim() noexcept;

  void enter(ThreadCache* cache);
  void leave(ThreadCache* cache) noexcept;

 private:
  void* allocate_small(int index);
  void* allocate_large(int index, std::size_t bytes);
  void free_large(void* block, int index) noexcept;
  void hand_over(ThreadCache& cache, int index, std::size_t count) noexcept;
  void unlink_large(FreeBlock* block, int index);
  FreeBlock* evict_oldest(int& index);
  void* from_system(std::size_t bytes);
  void flush(std::int64_t bytes) noexcept;

  std::mutex mutex_;  // all below but the atomics
  std::array<BlockList, class_count> lists_;
  std::array<FreeBlock*, class_count> oldest_{};  // large classes: the other end of the list
  ThreadCache* caches_ = nullptr;
  std::uint64_t cached_ = 0;
  std::uint64_t clock_ = 0;
  const std::uint64_t cache_limit_ = machine_memory() / 4;
  std::atomic<std::int64_t> in_use_{0};
  std::atomic<std::int64_t> peak_{0};
};

// Never destroyed: tensors in static variables are freed after every destructor here has run.
Pool& pool() {
  static Pool* instance = new Pool;
  return *instance;
}

// The pointer has no destructor, so it can be read while the thread's other variables are being destroyed.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadCache* thread_cache = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool thread_has_left = false;

struct ThreadGuard {
  ~ThreadGuard() {
    thread_has_left = true;
    if (ThreadCache* cache = std::exchange(thread_cache, nullptr)) {
      pool().leave(cache);
      delete cache;
    }
  }
};

/// nullptr once the thread's variables have been destroyed.
ThreadCache* enter_thread() {
  if (thread_has_left) return nullptr;
  static thread_local ThreadGuard guard;
  thread_cache = new ThreadCache;
  pool().enter(thread_cache);
  return thread_cache;
}

inline ThreadCache* this_thread_cache() {
  if (thread_cache) [[likely]]
    return thread_cache;
  return enter_thread();
}

void* Pool::allocate(std::size_t bytes) {
  const int index = size_class(bytes);
  if (index < small_classes) {
    if (ThreadCache* cache = this_thread_cache())
      if (void* block = cache->take(index)) return block;
    return allocate_small(index);
  }
  return allocate_large(index, bytes);
}

void* Pool::allocate_small(int index) {
  const auto i = static_cast<std::size_t>(index);
  const std::size_t block_bytes = class_bytes(index);
  ThreadCache* cache = this_thread_cache();
  BlockList taken;
  {
    std::lock_guard lock(mutex_);
    taken = lists_[i].split(cache ? thread_list_limits[i] / 2 : 1);
    cached_ -= taken.count * block_bytes;
  }
  FreeBlock* block = taken.pop();
  if (!block) return from_system(block_bytes);
  if (cache && taken.count > 0) {
    cache->lists[i] = taken;  // it was empty, or this would not have been called
    cache->add_cached(taken.count * block_bytes);
  }
  return block;
}

void* Pool::allocate_large(int index, std::size_t bytes) {
  const std::size_t block_bytes = class_bytes(index);
  std::uint64_t cached = 0;
  {
    std::lock_guard lock(mutex_);
    if (FreeBlock* block = lists_[static_cast<std::size_t>(index)].head) {
      unlink_large(block, index);
      return block;
    }
    cached = cached_;
  }
  const std::uint64_t machine = machine_memory();
  const auto in_use = static_cast<std::uint64_t>(std::max<std::int64_t>(in_use_.load(), 0));
  if (bytes > machine || in_use > machine - bytes)
    fail<ResourceExhaustedError>(
        "needs ", readable_bytes(bytes), ", the machine has ", readable_bytes(machine),
        in_use > machine / 100 ? " of which tensors use " + readable_bytes(in_use) + " already"
                               : std::string());
  if (in_use + cached + block_bytes > machine) trim();
  return from_system(block_bytes);
}

void Pool::unlink_large(FreeBlock* block, int index) {
  const auto i = static_cast<std::size_t>(index);
  (block->previous ? block->previous->next : lists_[i].head) = block->next;
  (block->next ? block->next->previous : oldest_[i]) = block->previous;
  --lists_[i].count;
  cached_ -= class_bytes(index);
}

void* Pool::from_system(std::size_t bytes) {
  if (void* memory = system_allocate(bytes)) return memory;
  trim();
  if (void* memory = system_allocate(bytes)) return memory;
  fail<ResourceExhaustedError>(
      "needs ", readable_bytes(bytes), ", which the system refused; the machine has ",
      readable_bytes(machine_memory()), " and tensors use ",
      readable_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(in_use_, 0))));
}

void Pool::free(void* memory, std::size_t bytes) noexcept {
  const int index = size_class(bytes);
  if (index >= small_classes) return free_large(memory, index);
  const auto i = static_cast<std::size_t>(index);
  if (ThreadCache* cache = this_thread_cache()) {
    if (cache->give(index, memory)) return;
    hand_over(*cache, index, (cache->lists[i].count + 1) / 2);
    if (cache->give(index, memory)) return;
  }
  std::lock_guard lock(mutex_);
  lists_[i].push(static_cast<FreeBlock*>(memory));
  cached_ += class_bytes(index);
}

void Pool::hand_over(ThreadCache& cache, int index, std::size_t count) noexcept {
  const auto i = static_cast<std::size_t>(index);
  BlockList given = cache.lists[i].split(count);
  if (!given.head) return;
  FreeBlock* last = given.head;
  while (last->next) last = last->next;
  cache.take_cached(given.count * class_bytes(index));
  bool full = false;
  {
    std::lock_guard lock(mutex_);
    full = cached_ + given.count * class_bytes(index) > cache_limit_;
    if (!full) {
      last->next = lists_[i].head;
      lists_[i].head = given.head;
      lists_[i].count += given.count;
      cached_ += given.count * class_bytes(index);
    }
  }
  while (full && given.head) system_free(given.pop(), class_bytes(index));
}

void Pool::free_large(void* memory, int index) noexcept {
  const std::size_t block_bytes = class_bytes(index);
  if (block_bytes > cache_limit_) return system_free(memory, block_bytes);
  FreeBlock* evicted = nullptr;  // linked by `next`; `freed_at` then holds the class
  {
    std::lock_guard lock(mutex_);
    while (cached_ + block_bytes > cache_limit_) {
      int evicted_index = 0;
      FreeBlock* oldest = evict_oldest(evicted_index);
      if (!oldest) break;
      oldest->freed_at = static_cast<std::uint64_t>(evicted_index);
      oldest->next = std::exchange(evicted, oldest);
    }
    const auto i = static_cast<std::size_t>(index);
    auto* block = static_cast<FreeBlock*>(memory);
    block->freed_at = ++clock_;
    block->previous = nullptr;
    block->next = lists_[i].head;
    (block->next ? block->next->previous : oldest_[i]) = block;
    lists_[i].head = block;
    ++lists_[i].count;
    cached_ += block_bytes;
  }
  while (evicted) {
    FreeBlock* next = evicted->next;
    system_free(evicted, class_bytes(static_cast<int>(evicted->freed_at)));
    evicted = next;
  }
}

FreeBlock* Pool::evict_oldest(int& index) {
  FreeBlock* oldest = nullptr;
  for (int i = small_classes; i < class_count; ++i) {
    FreeBlock* candidate = oldest_[static_cast<std::size_t>(i)];
    if (candidate && (!oldest || candidate->freed_at < oldest->freed_at)) {
      oldest = candidate;
      index = i;
    }
  }
  if (oldest) unlink_large(oldest, index);
  return oldest;
}

void Pool::account(std::int64_t bytes) noexcept {
  ThreadCache* cache = this_thread_cache();
  if (!cache) return flush(bytes);
  const std::int64_t sum = cache->in_use.load(std::memory_order_relaxed) + bytes;
  if (sum > unflushed_limit || sum < -unflushed_limit) {
    // Under the lock, so that the statistics never see the bytes twice or not at all.
    std::lock_guard lock(mutex_);
    cache->in_use.store(0, std::memory_order_relaxed);
    flush(sum);
  } else {
    cache->in_use.store(sum, std::memory_order_relaxed);
  }
}

void Pool::flush(std::int64_t bytes) noexcept {
  const std::int64_t now = in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

PoolStatistics Pool::statistics() {
  std::lock_guard lock(mutex_);
  std::int64_t in_use = in_use_.load(std::memory_order_relaxed);
  std::uint64_t cached = cached_;
  for (const ThreadCache* cache = caches_; cache; cache = cache->next) {
    in_use += cache->in_use.load(std::memory_order_relaxed);
    cached += cache->cached.load(std::memory_order_relaxed);
  }
  in_use = std::max<std::int64_t>(in_use, 0);
  const auto peak = std::max(peak_.load(std::memory_order_relaxed), in_use);
  peak_.store(peak, std::memory_order_relaxed);
  return {static_cast<std::uint64_t>(in_use), cached, static_cast<std::uint64_t>(peak)};
}

/// What other threads keep for themselves stays theirs; it is bounded by `thread_cache_limit`.
void Pool::trim() noexcept {
  if (thread_cache)
    for (int index = 0; index < small_classes; ++index)
      hand_over(*thread_cache, index, thread_cache->lists[static_cast<std::size_t>(index)].count);
  std::array<BlockList, class_count> lists;
  {
    std::lock_guard lock(mutex_);
    lists = std::exchange(lists_, {});
    oldest_ = {};
    cached_ = 0;
  }
  for (int index = 0; index < class_count; ++index)
    while (FreeBlock* block = lists[static_cast<std::size_t>(index)].pop())
      system_free(block, class_bytes(index));
}

void Pool::enter(ThreadCache* cache) {
  std::lock_guard lock(mutex_);
  cache->next = caches_;
  if (caches_) caches_->previous = cache;
  caches_ = cache;
}

void Pool::leave(ThreadCache* cache) noexcept {
  for (int index = 0; index < small_classes; ++index)
    hand_over(*cache, index, cache->lists[static_cast<std::size_t>(index)].count);
  std::lock_guard lock(mutex_);
  (cache->previous ? cache->previous->next : caches_) = cache->next;
  if (cache->next) cache->next->previous = cache->previous;
  flush(cache->in_use.load(std::memory_order_relaxed));
}

/// Exactly the bytes asked for, so that the address sanitizer sees a step past them.
void* from_system_alone(std::size_t bytes) {
  void* block = nullptr;
  if (posix_memalign(&block, block_alignment, bytes) != 0)
    fail<ResourceExhaustedError>("needs ", readable_bytes(bytes), ", which the system refused");
  return block;
}

}  // namespace

void* allocate_block(std::size_t bytes) {
  if constexpr (pooled) {
    const int index = size_class(bytes);
    if (index < small_classes && thread_cache) [[likely]]
      if (void* block = thread_cache->take(index)) [[likely]]
        return block;
  }
  if (bytes > machine_memory())
    fail<ResourceExhaustedError>("needs ", readable_bytes(bytes), ", the machine has ",
                                 readable_bytes(machine_memory()));
  return pooled ? pool().allocate(bytes) : from_system_alone(bytes);
}

void free_block(void* block, std::size_t bytes) noexcept {
  if constexpr (!pooled) return std::free(block);
  const int index = size_class(bytes);
  if (index < small_classes && thread_cache && thread_cache->give(index, block)) [[likely]]
    return;
  pool().free(block, bytes);
}

void account_in_use(std::int64_t bytes) noexcept {
  pool().account(bytes);
}

}  // namespace tapedeck::detail

namespace tapedeck {

PoolStatistics pool_statistics() {
  return detail::pool().statistics();
}
void trim_pool() {
  detail::pool().trim();
}

}  // namespace tapedeck
