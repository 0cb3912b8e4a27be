// Takes samples of the running steps while Health is shown.
//
// A step begins with the first op on a tape after an update, and ends with its updates. The sampling rate
// adapts so that samples take a bounded fraction of the program's time. Within a sampled step the program's
// own thread measures a tensor right after it was made, while it is in the caches; nothing is held beyond the
// op.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include "engine/ops/core/observer.h"
#include "engine/record/health/health_batch.h"

namespace tapedeck {

class HealthSampler {
 public:
  HealthSampler(const HealthPast& past, HealthStore& store)
      : past_(past), store_(store), batch_(past, store) {}

  /// Samples for this long from now on; 0: stops. Any thread.
  void watch(std::chrono::milliseconds time);
  bool on() const { return on_.load(std::memory_order_relaxed); }
  /// Every how many steps one is sampled; 0: none is.
  std::uint32_t every() const { return on() ? every_.load(std::memory_order_relaxed) : 0; }
  /// Stores the samples of the unfinished step so far.
  void flush();
  /// A cell has ended: assignments after a step's updates no longer count as updates of it.
  void cell_ended();

  // ---- called by the thread that runs the op, while sampling is on
  enum class Wants : std::uint8_t { nothing, activation, update };
  /// Before an op: what ended() needs of it.
  Wants wants(const Event& event, bool backward);
  void ended(Wants wants, const ActivationCall& call, std::span<const Tensor> inputs,
             std::span<const Tensor> outputs);
  void playback_begins(std::uint32_t record, std::uint32_t location, std::span<const Tensor> targets);
  void playback_ended(std::uint32_t record, std::span<const Tensor> gradients);
  /// After the variable got its new value; `value`: the assigned tensor.
  void assigned(const Tensor& leaf, const Tensor& value, std::uint64_t variable, std::uint32_t record);

 private:
  class Timed;
  void begin_step();  ///< the mutex is held
  void adapt(std::int64_t length);

  const HealthPast past_;
  HealthStore& store_;
  std::atomic<bool> on_{false}, sampling_{false}, updated_{false};
  std::atomic<std::uint32_t> every_{1};
  std::mutex mutex_;  ///< guards what follows
  HealthBatch batch_;
  std::chrono::steady_clock::time_point until_{};
  bool whole_ = false;                   ///< the step was seen from its start
  std::uint32_t left_ = 0, offset_ = 0;  ///< steps until the next sample; its offset within the interval
  std::uint64_t blocks_ = 0;
  std::int64_t began_ = 0, spent_ = 0;  ///< ticks
  double cost_ = 0, plain_ = 0;         ///< of a sampled step's samples, and of a step without; ticks
  std::uint32_t samples_seen_ = 0;
  /// Where a variable's gradient was requested: the value, and the step of that sample.
  struct Source {
    std::uint64_t value = 0, step = 0;
  };
  std::uint64_t step_ = 0;                   ///< counts starts of steps and ends of cells
  std::map<std::uint64_t, Source> sources_;  ///< by variable
  std::set<std::uint64_t> made_by_updates_;  ///< values that the step's update ops made
};

}  // namespace tapedeck
