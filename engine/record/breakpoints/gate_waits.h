// When the program waited at the gate: time that is neither an op's nor Python's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace tapedeck {

struct GateWait {
  std::uint16_t thread = 0;
  std::uint32_t record = 0;       ///< before or after which it waited
  std::int64_t from = 0, to = 0;  ///< ticks since the recorder began
  bool operator==(const GateWait&) const = default;
};

/// Keeps the newest waits. Thread-safe.
class GateWaits {
 public:
  explicit GateWaits(std::size_t limit = 100'000) : limit_(limit) {}

  void add(const GateWait& wait) {
    const std::lock_guard lock(mutex_);
    waits_.push_back(wait);
    ++total_;
    if (waits_.size() > limit_) waits_.pop_front();
  }
  /// The thread waits from now on, until `ended`.
  void begun(std::uint16_t thread, std::int64_t from) {
    const std::lock_guard lock(mutex_);
    waiting_[thread] = from;
  }
  void ended(std::uint16_t thread) {
    const std::lock_guard lock(mutex_);
    waiting_.erase(thread);
  }
  /// Since when threads wait that do so now, in ticks.
  std::map<std::uint16_t, std::int64_t> waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }
  std::uint64_t total() const {  ///< number of waits so far
    const std::lock_guard lock(mutex_);
    return total_;
  }
  /// The waits still kept from position `first` on (the oldest is 0), in the order in which they ended.
  std::vector<GateWait> since(std::uint64_t first) const {
    const std::lock_guard lock(mutex_);
    const std::uint64_t gone = total_ - waits_.size();
    const std::uint64_t skip = first > gone ? first - gone : 0;
    if (skip >= waits_.size()) return {};
    return {waits_.begin() + static_cast<std::ptrdiff_t>(skip), waits_.end()};
  }

  /// How long the program waited within [from, to), in ticks: the thread that waited longest.
  std::int64_t within(std::int64_t from, std::int64_t to) const {
    const std::lock_guard lock(mutex_);
    std::map<std::uint16_t, std::int64_t> sums;
    std::int64_t longest = 0;
    for (auto at = std::ranges::upper_bound(waits_, from, {}, &GateWait::to); at != waits_.end(); ++at) {
      const std::int64_t time = std::min(at->to, to) - std::max(at->from, from);
      if (time > 0) longest = std::max(longest, sums[at->thread] += time);
      if (at->from >= to) break;  // those that ended later and began before it waited on another thread
    }
    return longest;
  }

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::deque<GateWait> waits_;
  std::map<std::uint16_t, std::int64_t> waiting_;
  std::uint64_t total_ = 0;
};

}  // namespace tapedeck
