// Steps of training: each ends with an optimiser's updates.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "engine/debug/profile/events.h"
#include "engine/debug/profile/pauses.h"

namespace tapedeck::debug {

struct Step {
  std::uint32_t number = 0;  ///< from 1
  std::uint16_t thread = 0;
  std::uint32_t record = 0;  ///< the last update
  std::int64_t from = 0, to = 0;
  std::int64_t duration = 0;  ///< without pauses
  std::int64_t python = 0;    ///< of it, between ops
};

/// Is told of ops in the order in which they end on each thread. Updates belong to one step until a playback
/// comes between them; in a program that plays no tape, until any other op of the program does.
class StepFinder {
 public:
  void add(const ProfileEvent& event, const Pauses& pauses);
  /// Python before an op of the thread; `first`: of the cell's first.
  void add_python(std::uint16_t thread, std::int64_t length, bool first) {
    std::int64_t& python = threads_[thread].python;
    python = first ? length : python + length;
  }
  const std::deque<Step>& all() const { return steps_; }
  void forget(std::uint32_t before);  ///< steps of records before that one

 private:
  struct Thread {
    bool began = false, plays = false;  ///< a playback was seen
    bool apart = true;                  ///< what came since the last update parts steps
    std::int64_t from = 0;              ///< where the next step begins
    std::int64_t python = 0;            ///< since the last update
    std::uint32_t step = 0;             ///< the last one's number; 0: none
  };
  std::map<std::uint16_t, Thread> threads_;
  std::deque<Step> steps_;
  std::uint32_t newest_ = 0;
};

}  // namespace tapedeck::debug
