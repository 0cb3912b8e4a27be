#include "engine/debug/profile/step_times.h"

#include <algorithm>

namespace tapedeck::debug {

void StepTimes::add(const ProfileEvent& event, const Pauses& pauses) {
  Thread& thread = threads_[event.thread];
  if (!thread.began) thread.from = event.start;
  const auto cell = pauses.cells.from(event.start);
  const std::int64_t begin = cell == pauses.cells.all().begin() ? 0 : (cell - 1)->to;
  if (!thread.began || begin > thread.cell_from) {
    thread.began = true;
    thread.cell_from = begin;
    thread.first_of_cell = event.start;
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
  const Thread& thread = threads_[update.thread];
  std::int64_t from = thread.from;
  // What ran in an earlier cell is no part of it.
  const auto& cells = pauses.cells.all();
  for (auto at = pauses.cells.from(from); at != cells.end() && at->from < update.start; ++at)
    if (at->to <= update.start) from = std::max(from, at->to);
  // Imports and definitions before the first op of a cell are of no step.
  if (from == thread.cell_from && thread.first_of_cell <= update.start) from = thread.first_of_cell;
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
