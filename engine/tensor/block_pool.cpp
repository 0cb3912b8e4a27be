#include "engine/tensor/block_pool.h"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>

#include "engine/tensor/detached_thread.h"
#include "engine/tensor/error.h"
#include "engine/tensor/large_blocks.h"
#include "engine/tensor/storage.h"
#include "engine/tensor/system_memory.h"
#include "engine/tensor/thread_cache.h"

namespace tapedeck::detail {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool pooled = false;
#else
constexpr bool pooled = true;
#endif

constexpr std::int64_t unflushed_limit = std::int64_t{256} << 10;
// A large block returns to the system when no large block was requested for this long ...
constexpr std::uint64_t idle_ns = 750'000'000;
// ... or, in a program that keeps taking others, when it has been unused itself for that long. A training
// loop whose steps take seconds takes its blocks again with each step; the system would have to clear them.
constexpr std::uint64_t unwanted_ns = 10'000'000'000;
// After returning this much to the C library, makes it return its free pages, too.
constexpr std::size_t heap_bytes_worth_trimming = std::size_t{16} << 20;

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

class Pool {
 public:
  void* allocate(std::size_t bytes);
  void free(void* block, std::size_t bytes) noexcept;
  void account(std::int64_t bytes) noexcept;
  PoolStatistics statistics();
  void reset_peak();
  void trim() noexcept;

  void enter(ThreadCache* cache);
  void leave(ThreadCache* cache) noexcept;

  /// Around a fork: the child has one thread, and must not inherit a locked mutex.
  void before_fork() { mutex_.lock(); }
  void after_fork(bool child) noexcept;

 private:
  void* allocate_small(int index);
  void* allocate_large(int index, std::size_t bytes);
  void free_large(void* block, int index) noexcept;
  void hand_over(ThreadCache& cache, int index, std::size_t count) noexcept;
  void start_trimmer() noexcept;
  [[noreturn]] void give_back_what_is_idle();
  void* from_system(std::size_t bytes);
  void flush(std::int64_t bytes) noexcept;
  std::uint64_t cached() const { return small_cached_ + large_.bytes(); }

  std::mutex mutex_;  // all below but the atomics
  std::array<BlockList, small_classes> lists_;
  LargeBlocks large_;
  ThreadCache* caches_ = nullptr;
  std::uint64_t small_cached_ = 0;
  std::uint64_t large_used_at_ = 0;  ///< when a large block was last taken or freed
  bool trimmer_runs_ = false, trimmer_sleeps_ = false;
  std::condition_variable trimmer_wanted_;
  const std::uint64_t cache_limit_ = machine_memory() / 4;
  std::atomic<std::int64_t> in_use_{0};
  std::atomic<std::int64_t> peak_{0};
};

// Never destroyed: tensors in static variables are freed after every destructor here has run.
Pool& pool() {
  static Pool* instance = [] {
    auto* made = new Pool;
    pthread_atfork([] { pool().before_fork(); }, [] { pool().after_fork(false); },
                   [] { pool().after_fork(true); });
    return made;
  }();
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
    small_cached_ -= taken.count * block_bytes;
  }
  FreeBlock* block = taken.pop();
  if (!block) return from_system(block_bytes);
  if (cache && taken.count > 0) {
    cache->lists[i] = taken;  // it was empty, otherwise this is not called
    cache->add_cached(taken.count * block_bytes);
  }
  return block;
}

void* Pool::allocate_large(int index, std::size_t bytes) {
  const std::size_t block_bytes = class_bytes(index);
  std::uint64_t cached = 0;
  {
    std::lock_guard lock(mutex_);
    large_used_at_ = now_ns();
    if (void* block = large_.take(index)) return block;
    cached = this->cached();
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
  small_cached_ += class_bytes(index);
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
    full = cached() + given.count * class_bytes(index) > cache_limit_;
    if (!full) {
      last->next = lists_[i].head;
      lists_[i].head = given.head;
      lists_[i].count += given.count;
      small_cached_ += given.count * class_bytes(index);
    }
  }
  while (full && given.head) system_free(given.pop(), class_bytes(index));
}

void Pool::free_large(void* memory, int index) noexcept {
  const std::size_t block_bytes = class_bytes(index);
  if (block_bytes > cache_limit_) return system_free(memory, block_bytes);
  LargeBlocks::Evicted evicted;
  bool is_first = false;
  {
    std::lock_guard lock(mutex_);
    while (cached() + block_bytes > cache_limit_ && large_.evict_oldest(evicted)) {
    }
    large_used_at_ = now_ns();
    large_.put(memory, index, large_used_at_);
    is_first = !std::exchange(trimmer_runs_, true);
    if (std::exchange(trimmer_sleeps_, false)) trimmer_wanted_.notify_one();
  }
  if (is_first) start_trimmer();
  give_back(evicted);
}

void Pool::start_trimmer() noexcept {
  const bool runs = start_detached_thread([] { pool().give_back_what_is_idle(); });
  if (runs) return;
  std::lock_guard lock(mutex_);
  trimmer_runs_ = false;  // the next one that frees a large block tries again
}

void Pool::give_back_what_is_idle() {
  std::size_t heap_bytes = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    const std::uint64_t freed_at = large_.oldest_freed_at();
    if (freed_at == 0 && heap_bytes < heap_bytes_worth_trimming) {
      heap_bytes = 0;
      trimmer_sleeps_ = true;
      trimmer_wanted_.wait(lock, [this] { return !trimmer_sleeps_; });
      continue;
    }
    const std::uint64_t now = now_ns();
    const std::uint64_t due = std::min(large_used_at_ + idle_ns, freed_at + unwanted_ns);
    if (freed_at != 0 && now < due) {
      trimmer_wanted_.wait_for(lock, std::chrono::nanoseconds(due - now));
      continue;
    }
    LargeBlocks::Evicted evicted;
    large_.evict_oldest(evicted);
    lock.unlock();
    if (freed_at != 0)
      heap_bytes += give_back(evicted);
    else if (std::exchange(heap_bytes, 0) > 0)
      ::malloc_trim(0);
    lock.lock();
  }
}

void Pool::after_fork(bool child) noexcept {
  if (child) {
    trimmer_runs_ = trimmer_sleeps_ = false;
    new (&trimmer_wanted_) std::condition_variable;  // the thread that waited on it does not exist here
  }
  mutex_.unlock();
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
  std::uint64_t cached = this->cached();
  for (const ThreadCache* cache = caches_; cache; cache = cache->next) {
    in_use += cache->in_use.load(std::memory_order_relaxed);
    cached += cache->cached.load(std::memory_order_relaxed);
  }
  in_use = std::max<std::int64_t>(in_use, 0);
  const auto peak = std::max(peak_.load(std::memory_order_relaxed), in_use);
  peak_.store(peak, std::memory_order_relaxed);
  return {static_cast<std::uint64_t>(in_use), cached, static_cast<std::uint64_t>(peak)};
}

void Pool::reset_peak() {
  peak_.store(0, std::memory_order_relaxed);
  statistics();
}

/// Other threads' caches stay; it is bounded by `thread_cache_limit`.
void Pool::trim() noexcept {
  if (thread_cache)
    for (int index = 0; index < small_classes; ++index)
      hand_over(*thread_cache, index, thread_cache->lists[static_cast<std::size_t>(index)].count);
  std::array<BlockList, small_classes> lists;
  LargeBlocks::Evicted evicted;
  {
    std::lock_guard lock(mutex_);
    lists = std::exchange(lists_, {});
    small_cached_ = 0;
    large_.evict_all(evicted);
  }
  for (int index = 0; index < small_classes; ++index)
    while (FreeBlock* block = lists[static_cast<std::size_t>(index)].pop())
      system_free(block, class_bytes(index));
  give_back(evicted);
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
void reset_pool_peak() {
  detail::pool().reset_peak();
}
void trim_pool() {
  detail::pool().trim();
  ::malloc_trim(0);
}

}  // namespace tapedeck
