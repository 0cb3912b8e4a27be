#include "engine/record/breakpoints/breakpoints.h"

#include <utility>

#include "engine/record/breakpoints/break_check.h"
#include "engine/record/breakpoints/host_program.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck {

using protocol::BreakpointKind;
using protocol::Verdict;

namespace {

/// A built-in VJP, as a whole, or a sum of gradients: several of them run in one pass of a line.
bool is_of_playback(const BreakEvent& event) {
  return event.kind == EventKind::vjp || event.sums_gradients;
}

/// That a name of its condition is missing was said before the line, whose ops would say it again.
bool said_before_line(const CompiledBreakpoint& breakpoint, const BreakCheck& check) {
  return breakpoint.at_ops_of_line && !breakpoint.condition_takes_op && check.misses_name() &&
         lines_are_told();
}

/// The user changed something in the middle of a line; the position within the line stays. A condition that
/// was entered there applies to the rest of the line; without one the line has had its stop.
void take_over(BreakThread& thread, const BreakpointSet& set) {
  std::vector<BreakThread::Pass> passes(set.size());
  for (std::size_t now = 0; thread.set && now < set.size(); ++now)
    for (std::size_t old = 0; old < thread.passes.size(); ++old) {
      const protocol::Breakpoint &before = thread.set->at(old).source, &after = set.at(now).source;
      if (before.id != after.id || before.line != after.line || before.cell != after.cell) continue;
      passes[now] = thread.passes[old];
      if (before.condition != after.condition && !after.condition.empty()) passes[now].hit = false;
    }
  thread.set = &set;
  thread.passes = std::move(passes);
}

}  // namespace

// ---- by the recorder ----

void Breakpoints::stood(BreakThread& thread, std::uint32_t location, std::uint32_t enclosing,
                        std::uint64_t place) {
  const BreakpointSet* set = set_.load(std::memory_order_acquire);
  if (!set || thread.set == set) return;
  const BreakpointSet* known = thread.set;
  take_over(thread, *set);
  const SourceLocation here = location_of(location);
  for (std::size_t i = 0; i < set->size(); ++i) {
    const protocol::Breakpoint& source = set->at(i).source;
    if (source.kind != BreakpointKind::line || source.line != here.line || source.cell != here.cell) continue;
    bool fresh = true;
    for (std::size_t old = 0; known && old < known->size(); ++old)
      fresh = fresh && known->at(old).source.id != source.id;
    if (fresh) thread.passes[i] = {place, enclosing, true, thread.passes[i].ops};
  }
}

std::optional<BreakStop> Breakpoints::before(BreakThread& thread, const BreakEvent& event, BreakWait& wait) {
  const BreakpointSet* set = set_.load(std::memory_order_acquire);
  if (!set) return std::nullopt;
  if (thread.set != set) take_over(thread, *set);
  const bool stands = event.kind == EventKind::op || event.kind == EventKind::vjp;
  const std::uint32_t came_from = thread.last_location;
  if (is_on_line(event.kind)) thread.last_location = event.location;
  const BreakpointSet::Mask mask =
      set->candidates(event.kind, event.op, event.custom_gradient, event.backward, event.location);
  const BreakpointSet::Mask begins =
      stands && cells_pending_.load(std::memory_order_relaxed) != 0 ? cells_pending_.exchange(0) : 0;
  if ((mask | begins) == 0) return std::nullopt;
  std::optional<BreakStop> stop;
  BreakCheck check({values_, tensors_, series_}, *set, event);
  for (std::size_t i = 0; i < set->size(); ++i) {
    const bool begin = (begins >> i & 1) != 0;
    if (!begin && (mask >> i & 1) == 0) continue;
    CompiledBreakpoint& breakpoint = set->at(i);
    const bool line = breakpoint.source.kind == BreakpointKind::line;
    if (line) {
      // The host does not report the lines of a graph's nodes, nor those of calls inside it.
      if (!is_on_line(event.kind) || (breakpoint.before_line && lines_are_told() && !location_is_given()))
        continue;
      BreakThread::Pass& pass = thread.passes[i];
      const bool again =
          pass.enclosing != event.enclosing ||
          (!is_of_playback(event) && (came_from != event.location || pass.first_place == event.place));
      if (stands) ++pass.ops;
      if (again) pass = {event.place, event.enclosing, false, pass.ops};
      // A call may begin a pass, but conditions and texts that take an op wait for the ops of the line.
      if (pass.hit || (!stands && breakpoint.at_ops_of_line)) continue;
    }
    const Verdict verdict = breakpoint.needs_end ? Verdict::unknown : check.verdict(breakpoint);
    if (verdict == Verdict::unknown) {
      wait.set = set;
      wait.mask |= BreakpointSet::Mask{1} << i;
    }
    if (verdict != Verdict::yes || said_before_line(breakpoint, check)) continue;
    if (line) thread.passes[i].hit = true;
    check.hit(breakpoint, stop);
  }
  return stop;
}

std::optional<BreakStop> Breakpoints::after(const BreakEvent& event, const BreakWait& wait) {
  std::optional<BreakStop> stop;
  BreakCheck check({values_, tensors_, series_}, *wait.set, event);
  for (std::size_t i = 0; i < wait.set->size(); ++i)
    if ((wait.mask >> i & 1) != 0 && check.verdict(wait.set->at(i)) == Verdict::yes &&
        !said_before_line(wait.set->at(i), check))
      check.hit(wait.set->at(i), stop);
  return stop;
}

std::optional<BreakStop> Breakpoints::at_line(BreakThread& thread, const BreakEvent& event, LineRun& run) {
  const BreakpointSet* set = set_.load(std::memory_order_acquire);
  if (!set) return std::nullopt;
  if (thread.set != set) take_over(thread, *set);
  run = {set, event.location, {}};
  std::optional<BreakStop> stop;
  BreakCheck check({values_, tensors_, series_}, *set, event);
  const SourceLocation here = location_of(event.location);
  for (std::size_t i = 0; i < set->size(); ++i) {
    CompiledBreakpoint& breakpoint = set->at(i);
    const protocol::Breakpoint& source = breakpoint.source;
    if (source.kind != BreakpointKind::line || source.line != here.line || source.cell != here.cell) continue;
    if (breakpoint.before_line) {
      if (check.verdict(breakpoint) == Verdict::yes) check.hit(breakpoint, stop);
      continue;
    }
    LineRun::Waiting waiting{i, thread.passes[i].ops, 0, false};
    // What the condition takes beside an op is read before the line, as where the text takes none.
    if (!breakpoint.condition_takes_op) {
      const bool holds = check.verdict(breakpoint) == Verdict::yes;
      if (check.misses_name()) check.hit(breakpoint, stop);
      waiting.holds = holds && !check.misses_name();
      waiting.series_position = check.series_position();
    }
    run.waiting.push_back(waiting);
  }
  return stop;
}

void Breakpoints::left_line(BreakThread& thread, const BreakEvent& event, const LineRun& run) {
  const BreakpointSet* set = set_.load(std::memory_order_acquire);
  if (!set) return;
  if (thread.set != set) take_over(thread, *set);
  BreakCheck check({values_, tensors_, series_}, *set, event);
  for (const LineRun::Waiting& waiting : run.waiting) {
    // The user may have changed it meanwhile: then it waits for the next run.
    const auto& memory = run.set->at(waiting.breakpoint).memory;
    std::size_t now = 0;
    while (now < set->size() && set->at(now).memory != memory) ++now;
    if (now == set->size() || !set->at(now).at_ops_of_line) continue;
    CompiledBreakpoint& breakpoint = set->at(now);
    if (std::exchange(thread.passes[now].ops, waiting.ops) != waiting.ops) continue;
    if (!breakpoint.condition_takes_op && !waiting.holds) continue;
    memory->without_op.fetch_add(1);
    if (!breakpoint.condition_takes_op) check.hit_without_op(breakpoint, waiting.series_position);
  }
}

std::optional<BreakStop> Breakpoints::assigned(const BreakEvent& event) {
  const BreakpointSet* set = set_.load(std::memory_order_acquire);
  if (!set || set->writers() == 0) return std::nullopt;
  return after(event, {set, set->writers()});
}

bool Breakpoints::watches_failures() const {
  const BreakpointSet* set = set_.load(std::memory_order_acquire);
  return set && set->failures() != 0;
}

BreakWait Breakpoints::refused(const BreakEvent& event) const {
  const BreakpointSet* set = set_.load(std::memory_order_acquire);
  if (!set) return {};
  return {set, set->failures() & set->candidates(event.kind, event.op, event.custom_gradient, event.backward,
                                                 event.location)};
}

// ---- by the user ----

std::vector<protocol::BreakpointState> Breakpoints::set(const protocol::SetBreakpoints& wanted) {
  std::vector<protocol::BreakpointState> states = set_here(wanted);
  lines_version_.fetch_add(1, std::memory_order_release);
  if (const auto changed = host_program().lines_changed) changed();
  return states;
}

std::vector<protocol::BreakpointState> Breakpoints::set_here(const protocol::SetBreakpoints& wanted) {
  const std::lock_guard lock(mutex_);
  std::vector<protocol::BreakpointState> states;
  const BreakpointSet* before = sets_.empty() ? nullptr : sets_.back().get();
  auto fresh = std::make_unique<BreakpointSet>(wanted, runs_, before, series_.size(), states);
  cells_pending_.store(0);  // bits of the previous set
  set_.store(fresh->size() > 0 ? fresh.get() : nullptr, std::memory_order_release);
  sets_.push_back(std::move(fresh));
  return states;
}

std::vector<std::pair<std::string, std::uint32_t>> Breakpoints::lines() const {
  const std::lock_guard lock(mutex_);
  if (sets_.empty()) return {};
  return sets_.back()->lines();
}

std::vector<protocol::BreakpointHits> Breakpoints::hits() const {
  const std::lock_guard lock(mutex_);
  return sets_.empty() ? std::vector<protocol::BreakpointHits>{} : sets_.back()->hits();
}

std::uint64_t Breakpoints::bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& set : sets_) bytes += set->bytes();
  return bytes;
}

void Breakpoints::cell_started(const std::string& cell) {
  BreakpointSet* set = set_.load(std::memory_order_acquire);
  cells_pending_.store(set ? set->of_cell(cell) : 0);
  if (set) set->forget_locations();
}

}  // namespace tapedeck
