#include "inspector/model/runs/running_time.h"

#include <algorithm>
#include <iterator>

namespace tapedeck::inspector {

RunningTime::RunningTime(const std::vector<protocol::ProfilePause>& pauses) {
  double length = 0;
  for (const protocol::ProfilePause& pause : pauses) {
    const auto from = static_cast<double>(pause.from_ns), to = static_cast<double>(pause.to_ns);
    if (to <= from || (!pauses_.empty() && from < pauses_.back().to)) continue;
    pauses_.push_back({from, to, length});
    length += to - from;
  }
}

double RunningTime::of(double time) const {
  const auto after = std::ranges::upper_bound(pauses_, time, {}, &Pause::from);
  if (after == pauses_.begin()) return time;
  const Pause& last = *std::prev(after);
  return std::max(last.from, time - (last.to - last.from)) - last.before;
}

double RunningTime::timeOf(double running) const {
  const auto begin = [](const Pause& pause) { return pause.from - pause.before; };
  const auto after = std::ranges::lower_bound(pauses_, running, {}, begin);
  if (after == pauses_.begin()) return running;
  const Pause& last = *std::prev(after);
  return running + last.before + (last.to - last.from);
}

}  // namespace tapedeck::inspector
