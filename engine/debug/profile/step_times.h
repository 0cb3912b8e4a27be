// When steps of training began and ended, and how much of them was Python's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "engine/debug/profile/events.h"
#include "engine/debug/profile/pauses.h"

namespace tapedeck::debug {

struct StepTime {
  std::uint32_t number = 0;  ///< from 1
  std::uint16_t thread = 0;  ///< of the first update
  std::uint32_t record = 0;  ///< the last update
  std::int64_t from = 0, to = 0;
  std::int64_t duration = 0;  ///< without pauses
  std::int64_t python = 0;    ///< of it, between ops
};

/// Receives ops in the order in which they end on each thread, and updates (TrainingSteps): of most
/// before their record ends, of a variable's assignment after the last one perhaps later.
class StepTimes {
 public:
  void add(const ProfileEvent& event, const Pauses& pauses);
  /// Python before an op of the thread; `first`: of the cell's first, with which a step begins.
  void add_python(std::uint16_t thread, std::int64_t length, bool first) {
    std::int64_t& python = threads_[thread].python;
    python = first ? 0 : python + length;
  }
  /// An update of that step, whose record add() has yet to tell of.
  void expect_update(std::uint32_t step, std::uint32_t record) { updates_[record] = step; }
  /// The same, where add() has received it already.
  void add_update(std::uint32_t step, const ProfileEvent& event, const Pauses& pauses);
  /// What came before that playback on its thread is of no step; add() has yet to tell of it.
  void expect_cut(std::uint32_t playback) { cuts_.insert(playback); }
  /// The same, where add() has received it already.
  void cut(const ProfileEvent& playback);
  const std::deque<StepTime>& all() const { return steps_; }
  void forget(std::uint32_t before);  ///< steps of records before that one

 private:
  struct Thread {
    bool began = false;
    std::int64_t from = 0;    ///< where the next step begins
    std::int64_t python = 0;  ///< since then
    /// Where the cell began whose op add() received last, and where that cell's first op did.
    std::int64_t cell_from = 0, first_of_cell = 0;
  };
  StepTime* step_of(std::uint32_t number, const ProfileEvent& update, const Pauses& pauses);

  std::map<std::uint16_t, Thread> threads_;
  std::deque<StepTime> steps_;
  std::unordered_map<std::uint32_t, std::uint32_t> updates_;  ///< record → step
  std::unordered_set<std::uint32_t> cuts_;
  std::uint32_t newest_ = 0;  ///< step
};

}  // namespace tapedeck::debug
