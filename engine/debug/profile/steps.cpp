#include "engine/debug/profile/steps.h"

#include <algorithm>

namespace tapedeck::debug {

void StepFinder::add(const ProfileEvent& event, const Pauses& pauses) {
  Thread& thread = threads_[event.thread];
  if (!thread.began) {
    thread.began = true;
    const auto cell = pauses.cells.from(event.start);
    thread.from = cell == pauses.cells.all().begin() ? event.start : (cell - 1)->to;
  }
  if (event.playback) thread.plays = thread.apart = true;
  if (!event.updates) {
    if (event.depth == 0 && !thread.plays) thread.apart = true;
    return;
  }
  const Intervals& gate = pauses.at_gate(event.thread);
  const std::int64_t end = gate.end_of(event.start, event.duration);
  if (thread.apart || thread.step == 0) {
    // What ran in an earlier cell is no part of it.
    const auto& cells = pauses.cells.all();
    for (auto at = pauses.cells.from(thread.from); at != cells.end() && at->from < event.start; ++at)
      if (at->to <= event.start) thread.from = std::max(thread.from, at->to);
    thread.step = ++newest_;
    steps_.push_back({newest_, event.thread, event.number, thread.from, end, 0, 0});
  }
  const auto step = std::find_if(steps_.rbegin(), steps_.rend(),
                                 [&](const Step& one) { return one.number == thread.step; });
  thread.apart = false;
  if (step != steps_.rend()) {
    step->record = event.number;
    step->to = end;
    step->duration = end - step->from - gate.within(step->from, end) - pauses.cells.within(step->from, end);
    step->python += thread.python;
  }
  thread.python = 0;
  thread.from = end;
}

void StepFinder::forget(std::uint32_t before) {
  while (!steps_.empty() && steps_.front().record < before) steps_.pop_front();
}

}  // namespace tapedeck::debug
