// Takes samples of the steps that run, while somebody looks at Health.
//
// A step begins with the first op on a tape after an update, and ends with its updates. One step of so many
// is sampled that the samples take a bounded part of the program's time. Within a sampled step the program's
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

  /// Samples from now on for so long; 0: no longer. Any thread.
  void watch(std::chrono::milliseconds time);
  bool on() const { return on_.load(std::memory_order_relaxed); }
  /// One step of so many is sampled; 0: none is.
  std::uint32_t every() const { return on() ? every_.load(std::memory_order_relaxed) : 0; }
  /// What is there of a step that goes on goes to the store.
  void flush();
  /// A cell has ended: what is assigned after a step's updates is no update of it any more.
  void cell_ended();

  // ---- by the thread that runs the op, where it is on
  enum class Wants : std::uint8_t { nothing, activation, update };
  /// Before an op, what of it is to be given to ended().
  Wants wants(const Event& event, bool backward);
  void ended(Wants wants, const ActivationCall& call, std::span<const Tensor> inputs,
             std::span<const Tensor> outputs);
  void playback_begins(std::uint32_t record, std::uint32_t location, std::span<const Tensor> targets);
  void playback_ended(std::uint32_t record, std::span<const Tensor> gradients);
  /// After the variable has its new value; `value`: what that was made of.
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
  bool whole_ = false;                   ///< the step was seen from its begin
  std::uint32_t left_ = 0, offset_ = 0;  ///< steps until the next sample; its place among its neighbours
  std::uint64_t blocks_ = 0;
  std::int64_t began_ = 0, spent_ = 0;  ///< ticks
  double cost_ = 0, plain_ = 0;         ///< of a sampled step's samples, and of a step without; ticks
  std::uint32_t samples_seen_ = 0;
  /// Where a variable's gradient was asked for: the value, and the step of that sample.
  struct Source {
    std::uint64_t value = 0, step = 0;
  };
  std::uint64_t step_ = 0;                   ///< counts those that began, and the ends of cells
  std::map<std::uint64_t, Source> sources_;  ///< by variable
  std::set<std::uint64_t> made_by_updates_;  ///< values that the step's update ops made
};

}  // namespace tapedeck
