// Time that advances only while the program runs: not while it waits at the gate.
#pragma once

#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck::inspector {

/// Nanoseconds. Before the first pause it is the time itself.
class RunningTime {
 public:
  RunningTime() = default;
  explicit RunningTime(const std::vector<protocol::ProfilePause>& pauses);

  double of(double time) const;
  /// The time at which it had advanced so far; of a pause its begin.
  double timeOf(double running) const;

 private:
  struct Pause {
    double from = 0, to = 0;
    double before = 0;  ///< length of the pauses before it
  };
  std::vector<Pause> pauses_;
};

}  // namespace tapedeck::inspector
