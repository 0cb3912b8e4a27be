// Which records make a training step.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// A step ends with updates of variables after a playback: an optimiser's update ops, or assignments to what
/// the playback was asked for. The next one begins behind the last of them.
struct HealthStep {
  std::uint32_t first = 0, playback = 0, last = 0;  ///< records; `playback`: the first one
};

/// A variable's new value that no update op made.
struct HandUpdate {
  std::uint64_t variable = 0, before = 0, now = 0;  ///< ids: of the variable, and of its values
  std::uint32_t record = 0;                         ///< the newest one then
};

/// Read from the trace as far as it goes, again and again: what was read once is not read anew. Used by one
/// thread at a time.
class HealthSteps {
 public:
  explicit HealthSteps(const Recorder& recorder) : recorder_(recorder) {}
  /// Throws Cancelled.
  void extend(const CancelFlag* cancel);
  std::size_t size() const { return steps_.size(); }
  /// From 1.
  const HealthStep& at(std::size_t number) const { return steps_[number - 1]; }
  /// The step that the record belongs to, from 1; that of a record behind all is one more than there are.
  std::size_t step_of(std::uint32_t record) const;
  std::vector<HandUpdate> hand_updates(std::size_t number) const;

 private:
  struct Event {
    std::uint32_t record = 0;
    bool playback = false;
  };
  void take_playback(std::uint32_t record);
  void take_update(std::uint32_t record);
  void take_assignments(std::uint32_t up_to);
  bool made_by_update(std::uint64_t tensor) const;

  const Recorder& recorder_;
  std::vector<HealthStep> steps_;
  bool open_ = false;  ///< the last step may still get updates
  HealthStep begun_;   ///< what comes behind the last step
  std::uint32_t next_ = 1;
  std::uint64_t last_leaf_ = 0;
  std::deque<Assignment> assignments_;
  std::uint32_t last_asked_ = 0;
  std::deque<Asked> asked_;
  std::unordered_map<std::uint64_t, std::uint64_t> values_;  ///< of variables, now
  std::unordered_set<std::uint64_t> sources_;                ///< of the newest playback
  std::map<std::size_t, std::vector<HandUpdate>> by_hand_;
};

}  // namespace tapedeck::debug
