#include "engine/cpu/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/tensor/error.h"
#include "engine/tensor/interrupt.h"
#include "engine/tensor/subnormals.h"

namespace tapedeck::cpu {
namespace {

using Body = std::function<void(std::int64_t, std::int64_t)>;

constexpr std::uint64_t closed_bit = std::uint64_t{1} << 32;
constexpr std::uint64_t inside_mask = closed_bit - 1;
// How long an idle worker stays awake: an elementwise op on a vector in the cache takes about this long.
constexpr auto spin_time = std::chrono::microseconds(40);

constexpr std::int64_t blocks_worth_a_share = 4;

enum class Role : std::uint8_t { none, caller, worker };
thread_local Role role = Role::none;  ///< of this thread in the job that it works on

/// Ends a worker's block; the thread that owns the job reports its error.
struct JobEnded {};

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Workers that share the blocks of one job at a time with the thread that has the job. A worker enters an
/// open job when it gets the processor; the caller never waits for one that has not entered.
///
/// Each begins with its own share of adjacent blocks, and then helps with the others': memory is read faster
/// in a few long runs, and a pass over the same data finds some of it in the cache of the same core.
class Pool {
 public:
  /// Never destroyed: its threads end with the process.
  static Pool& instance() {
    static Pool* pool = new Pool;
    return *pool;
  }

  int threads() const { return threads_.load(std::memory_order_relaxed); }

  void set_threads(int count) {
    std::lock_guard lock(mutex_);
    stop_workers();
    threads_.store(count, std::memory_order_relaxed);
    shares_ = std::make_unique<Share[]>(static_cast<std::size_t>(count));
  }

  /// False if the pool is busy: the caller then does all the work.
  bool run(std::int64_t count, std::int64_t grain, const Body& body) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    start_workers();
    body_ = &body;
    count_ = count;
    grain_ = grain;
    mode_ = tapedeck::detail::subnormal_mode();
    share_out((count + grain - 1) / grain);
    error_ = nullptr;
    failed_.store(false, std::memory_order_relaxed);
    gate_.store(0, std::memory_order_release);  // open, no worker inside
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    work(0);
    gate_.fetch_or(closed_bit, std::memory_order_acq_rel);
    for (int turns = 0; gate_.load(std::memory_order_acquire) & inside_mask; ++turns)
      if (turns < 10000) {
        relax();
      } else {
        std::this_thread::yield();
        if (turns % 64 == 0) wait_for_workers();
      }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return true;
  }

  bool failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  struct alignas(64) Share {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  /// One share where there are few blocks: looking through the shares of many threads would take longer.
  void share_out(std::int64_t blocks) {
    used_ = blocks >= blocks_worth_a_share * threads() ? threads() : 1;
    for (int i = 0; i < used_; ++i) {
      shares_[static_cast<std::size_t>(i)].next.store(blocks * i / used_, std::memory_order_relaxed);
      shares_[static_cast<std::size_t>(i)].end = blocks * (i + 1) / used_;
    }
  }

  /// The caller's share is done, a worker's block is not: it may be a long one.
  void wait_for_workers() {
    if (failed()) return;
    try {
      check_interrupt();
    } catch (...) {
      fail_with(std::current_exception());
    }
  }

  void fail_with(std::exception_ptr error) {
    for (int i = 0; i < used_; ++i) {
      Share& share = shares_[static_cast<std::size_t>(i)];
      share.next.store(share.end, std::memory_order_relaxed);
    }
    std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::move(error);
    failed_.store(true, std::memory_order_relaxed);
  }

  void work(int participant) {
    role = participant == 0 ? Role::caller : Role::worker;
    try {
      for (int i = 0; i < used_; ++i)
        work_on(shares_[static_cast<std::size_t>((participant + i) % used_)], participant);
    } catch (const JobEnded&) {
    } catch (...) {
      fail_with(std::current_exception());
    }
    role = Role::none;
  }

  void work_on(Share& share, int participant) {
    for (;;) {
      const std::int64_t block = share.next.fetch_add(1, std::memory_order_relaxed);
      if (block >= share.end) return;
      (*body_)(block * grain_, std::min(count_, (block + 1) * grain_));
      if (participant == 0) check_interrupt();
    }
  }

  bool enter() {
    std::uint64_t gate = gate_.load(std::memory_order_acquire);
    while (!(gate & closed_bit))
      if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) return true;
    return false;
  }

  void worker(int participant) {
    std::uint32_t seen = 0;
    for (;;) {
      const auto deadline = std::chrono::steady_clock::now() + spin_time;
      while (epoch_.load(std::memory_order_acquire) == seen) {
        for (int i = 0; i < 64 && epoch_.load(std::memory_order_relaxed) == seen; ++i) relax();
        if (std::chrono::steady_clock::now() > deadline) epoch_.wait(seen, std::memory_order_acquire);
      }
      seen = epoch_.load(std::memory_order_acquire);
      if (stop_.load(std::memory_order_acquire)) return;
      if (!enter()) continue;
      {
        const SubnormalScope as_the_caller(mode_);
        work(participant);
      }
      gate_.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  void start_workers() {
    while (static_cast<int>(workers_.size()) < threads() - 1) {
      const int participant = static_cast<int>(workers_.size()) + 1;
      workers_.emplace_back(&Pool::worker, this, participant);
      // For profilers; at most 15 letters.
      ::pthread_setname_np(workers_.back().native_handle(),
                           ("kernels-" + std::to_string(participant)).substr(0, 15).c_str());
    }
  }

  void stop_workers() {
    stop_.store(true, std::memory_order_release);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    epoch_.store(0, std::memory_order_release);
    stop_.store(false, std::memory_order_release);
  }

  std::mutex mutex_;
  std::atomic<int> threads_{available_cores()};
  std::vector<std::thread> workers_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> epoch_{0};                      ///< counts jobs; workers wait for it to change
  alignas(64) std::atomic<std::uint64_t> gate_{closed_bit};  ///< closed flag, and how many workers are inside
  std::unique_ptr<Share[]> shares_ = std::make_unique<Share[]>(static_cast<std::size_t>(threads()));
  int used_ = 1;  ///< shares of this job
  const Body* body_ = nullptr;
  std::int64_t count_ = 0;
  std::int64_t grain_ = 1;
  std::uint32_t mode_ = 0;  ///< the caller's way with subnormal numbers
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::atomic<bool> failed_{false};
};

}  // namespace

int thread_count() {
  return Pool::instance().threads();
}

void set_thread_count(int count) {
  if (count < 1) fail<InvalidArgumentError>("set_thread_count: ", count, " threads; at least 1 is needed");
  Pool::instance().set_threads(count);
}

void check_stop() {
  if (role != Role::worker) return check_interrupt();
  if (Pool::instance().failed()) throw JobEnded();
}

void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(1, grain);
  if (count <= grain) return body(0, count);
  if (role != Role::none) {  // a block of another loop
    for (std::int64_t begin = 0; begin < count; begin += grain) {
      body(begin, std::min(count, begin + grain));
      check_stop();
    }
    return;
  }
  HostUnlock unlock;
  if (thread_count() > 1 && Pool::instance().run(count, grain, body)) return;
  for (std::int64_t begin = 0; begin < count; begin += grain) {
    body(begin, std::min(count, begin + grain));
    check_interrupt();
  }
}

}  // namespace tapedeck::cpu
