#include "engine/debug/profile/step_times.h"

#include <algorithm>

namespace tapedeck::debug {

void StepTimes::add(const ProfileEvent& event, const Pauses& pauses) {
  Thread& thread = threads_[event.thread];
  if (!thread.began) {
    thread.began = true;
    const auto cell = pauses.cells.from(event.start);
    thread.from = cell == pauses.cells.all().begin() ? event.start : (cell - 1)->to;
  }
  if (cuts_.erase(event.number) > 0) cut(event);
  if (const auto update = updates_.find(event.number); update != updates_.end()) {
    add_update(update->second, event, pauses);
    updates_.erase(update);
  }
}

void StepTimes::cut(const ProfileEvent& playback) {
  Thread& thread = threads_[playback.thread];
  if (thread.from >= playback.start) return;
  thread.from = playback.start;
  thread.python = 0;
}

/// nullptr: it was forgotten.
StepTime* StepTimes::step_of(std::uint32_t number, const ProfileEvent& update, const Pauses& pauses) {
  if (number <= newest_) {
    const auto step = std::find_if(steps_.rbegin(), steps_.rend(),
                                   [number](const StepTime& one) { return one.number == number; });
    return step == steps_.rend() ? nullptr : &*step;
  }
  newest_ = number;
  std::int64_t from = threads_[update.thread].from;
  // What ran in an earlier cell is no part of it.
  const auto& cells = pauses.cells.all();
  for (auto at = pauses.cells.from(from); at != cells.end() && at->from < update.start; ++at)
    if (at->to <= update.start) from = std::max(from, at->to);
  return &steps_.emplace_back(StepTime{number, update.thread, update.number, from, 0, 0, 0});
}

void StepTimes::add_update(std::uint32_t number, const ProfileEvent& event, const Pauses& pauses) {
  Thread& thread = threads_[event.thread];
  const Intervals& gate = pauses.at_gate(event.thread);
  const std::int64_t end = gate.end_of(event.start, event.duration);
  if (StepTime* step = step_of(number, event, pauses)) {
    step->record = std::max(step->record, event.number);
    step->to = std::max(step->to, end);
    step->duration =
        step->to - step->from - gate.within(step->from, step->to) - pauses.cells.within(step->from, step->to);
    step->python += thread.python;
  }
  thread.python = 0;
  thread.from = end;
}

void StepTimes::forget(std::uint32_t before) {
  while (!steps_.empty() && steps_.front().record < before) steps_.pop_front();
  std::erase_if(updates_, [before](const auto& update) { return update.first < before; });
  std::erase_if(cuts_, [before](std::uint32_t playback) { return playback < before; });
}

}  // namespace tapedeck::debug
