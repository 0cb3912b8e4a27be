// Stops of the program by breakpoints and the gate, before and after events.
#include <algorithm>
#include <utility>

#include "engine/ops/core/observer.h"
#include "engine/record/breakpoints/host_program.h"
#include "engine/record/recorder.h"
#include "engine/record/recorder_thread.h"
#include "engine/record/trace/clock.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck {
namespace {

/// This thread may wait at the gate while it lives.
class WaitScope {
 public:
  WaitScope(GateWaits& waits, std::uint16_t thread, std::int64_t from) : waits_(waits), thread_(thread) {
    waits_.begun(thread_, from);
  }
  ~WaitScope() { waits_.ended(thread_); }
  WaitScope(const WaitScope&) = delete;

 private:
  GateWaits& waits_;
  const std::uint16_t thread_;
};

/// Whether such a VJP, or one inside of which this is, is shown on the line of its forward op.
bool is_on_forward_line(const Trace& trace, std::uint32_t forward, std::uint32_t location) {
  RecordView record;
  return forward != 0 && trace.read(forward, record) && record.head.location == location;
}

/// Where the program is, for a step by lines. VJPs of PyTorch's nodes, and what runs inside, are shown on the
/// lines of their forward ops, but the program is at its backward(). `open`: what has not ended, the
/// innermost last; `forward`: of a VJP, its own.
std::uint32_t line_of_step(const auto& open, const Trace& trace, std::uint32_t forward,
                           std::uint32_t location) {
  bool elsewhere = is_on_forward_line(trace, forward, location);
  for (std::size_t i = open.size(); i-- > 0;) {
    if (open[i].kind == EventKind::playback) return elsewhere ? open[i].site.location : location;
    if (open[i].kind == EventKind::vjp && open[i].site.location == location)
      elsewhere = elsewhere || is_on_forward_line(trace, open[i].forward, location);
  }
  return location;
}

/// Whether the playback itself runs this, and no code of the program: VJPs, sums, arrivals of gradients.
/// `line`: of its step. A VJP is the last one in `open`.
bool is_run_by_playback(const auto& open, const Event& event, std::uint32_t line) {
  const std::size_t around = event.kind == EventKind::op ? 1 : 2;
  if (open.size() < around || open[open.size() - around].kind != EventKind::playback) return false;
  return event.kind == EventKind::op    ? !event.custom_gradient
         : event.kind == EventKind::vjp ? line == open[open.size() - around].site.location
                                        : false;
}

}  // namespace

void Recorder::come_to_stop(Thread& thread, const Event& event, const GatePoint& point,
                            std::optional<BreakEvent>& seen, bool stands) {
  std::optional<BreakStop> stop;
  if (seen) {
    seen->number = point.number;
    BreakWait wait;
    try {
      stop = breakpoints_.before(thread.breaks, *seen, wait);
    } catch (const std::exception& error) {  // an interrupt, or out of memory: the event does not run
      end(point.number, {}, error.what());
      throw;
    }
    if (wait.mask != 0) thread.watched.push_back({*seen, wait});
  }
  if (stop || (stands && gate_.armed())) ask_gate(thread, event, point, stop ? &*stop : nullptr);
}

void Recorder::ask_gate(Thread& thread, const Event& event, const GatePoint& point, const BreakStop* stop) {
  if (!event.outputs.empty()) trace_.set_pending_outputs(point.number, event.outputs);
  if (!event.wanted.empty()) trace_.set_pending_wanted(point.number, event.wanted);
  if (stop) trace_.set_state(point.number, RecordState::pending);
  GatePoint at = point;
  const bool of_hook = event.kind == EventKind::op && event.custom_gradient;
  if (!of_hook)
    at.location = line_of_step(
        thread.open, trace_,
        event.kind == EventKind::vjp ? static_cast<std::uint32_t>(event.forward_record) : 0, point.location);
  // Where the host tells of lines, a step to the next one ends at the program's own code alone.
  const bool is_no_line =
      lines_are_told() && gate_.left_line() != 0 && is_run_by_playback(thread.open, event, at.location);
  const std::int64_t before = now();
  const WaitScope waiting(gate_waits_, thread.index, before);
  try {
    if (stop)
      gate_.stop(at, *stop);
    else if (!is_no_line)
      gate_.pass(at);
  } catch (const Interrupted& interrupted) {
    std::erase_if(thread.watched, [&](const auto& one) { return one.event.number == point.number; });
    end(point.number, {}, interrupted.what());
    throw;
  }
  breakpoints_.stood(thread.breaks, point.location, point.enclosing, last_place());
  went_on();
  thread.last_waited = point.number;
  thread.last_wait = now() - before;
  thread.waited += thread.last_wait;
  note_wait(thread, point.number, before, before + thread.last_wait);
  trace_.set_state(point.number, RecordState::running);
}

// An armed gate that lets an op pass takes negligible time.
void Recorder::note_wait(const Thread& thread, std::uint32_t number, std::int64_t from, std::int64_t to) {
  constexpr std::int64_t least_ns = 10'000;
  if (clock::nanoseconds(to - from) >= least_ns) gate_waits_.add({thread.index, number, from, to});
}

/// The VJP that gave the last part of it, or the sum after that: the last op that the playback ran for it.
std::uint32_t Recorder::finisher_of(const FinishedGradient& gradient, std::uint32_t playback) const {
  const auto vjp = static_cast<std::uint32_t>(gradient.record);
  const auto maker = static_cast<std::uint32_t>(trace_.tensors().get(gradient.gradient).producer());
  RecordView record;
  const bool by_playback = maker > vjp && trace_.read(maker, record) && record.head.parent == playback;
  return by_playback ? maker : vjp != 0 ? vjp : playback;
}

void Recorder::finished(const FinishedGradient& gradient) {
  if (!gate_.armed()) return;
  Thread& thread = this_thread();
  if (thread.open.empty() || thread.open.back().kind != EventKind::playback || thread.open.back().hides_ops)
    return;
  if (lines_are_told() && gate_.left_line() != 0) return;  // it is no line
  const Open& playback = thread.open.back();
  const GatePoint point{finisher_of(gradient, playback.number),
                        playback.site.location,
                        playback.enclosing,
                        0,
                        {gradient.source, gradient.gradient, gradient.rows, gradient.place, gradient.places}};
  const std::int64_t before = now();
  const WaitScope waiting(gate_waits_, thread.index, before);
  if (!gate_.pass(point)) return;
  breakpoints_.stood(thread.breaks, point.location, point.enclosing, last_place());
  const std::int64_t after = now();
  thread.waited += after - before;
  note_wait(thread, point.number, before, after);
  went_on();
}

void Recorder::stop_after(Thread& thread, std::uint32_t number, std::span<const Tensor> outputs,
                          const char* error) {
  while (!thread.watched.empty() && thread.watched.back().event.number > number) thread.watched.pop_back();
  if (thread.watched.empty() || thread.watched.back().event.number != number) return;
  auto [event, wait] = std::move(thread.watched.back());
  thread.watched.pop_back();
  RecordView record;
  if (!trace_.read(number, record)) return;
  event.outputs = outputs;
  event.ended = true;
  event.error = error;
  event.duration_known = record.device.state == WorkTime::host || record.device.state == WorkTime::known;
  event.duration_ns = record.duration_ns;
  // A VJP fails because of an op inside it, and a playback because of its VJP.
  const bool shown =
      error && (thread.failure_shown > number || std::string_view(error) == Interrupted().what());
  if (!error || !shown) thread.failure_shown = 0;
  if (shown) return;
  if (const auto stop = breakpoints_.after(event, wait)) {
    if (error) thread.failure_shown = number;
    wait_after(thread, event, *stop);
  }
}

void Recorder::went_on() {
  if (const auto goes_on = host_program().goes_on) goes_on();
}

LineRun Recorder::at_line(std::uint32_t location) {
  LineRun run;
  if (current_observer() == nullptr || !recording()) return run;
  Thread& thread = this_thread();
  const Open* parent = thread.open.empty() ? nullptr : &thread.open.back();
  if (parent && parent->hides_ops) return run;
  BreakEvent event;
  event.location = location;
  event.thread = thread.index;
  event.depth = static_cast<std::uint16_t>(thread.open.size());
  event.enclosing = parent ? parent->enclosing : 0;
  const std::optional<BreakStop> stop = breakpoints_.at_line(thread.breaks, event, run);
  if (!stop && gate_.left_line() == 0) return run;
  const std::int64_t before = now();
  const WaitScope waiting(gate_waits_, thread.index, before);
  const GatePoint point{0, location, event.enclosing};
  if (!(stop ? gate_.stop(point, *stop) : gate_.pass(point))) return run;
  const std::int64_t after = now();
  thread.waited += after - before;
  note_wait(thread, trace_.newest(), before, after);
  went_on();
  return run;
}

void Recorder::left_line(const LineRun& run, bool suspended) {
  if (current_observer() == nullptr || !recording()) return;
  Thread& thread = this_thread();
  BreakEvent event;
  event.location = run.location;
  event.thread = thread.index;
  event.no_op = suspended ? "no op on this line so far" : "no op on this line";
  breakpoints_.left_line(thread.breaks, event, run);
}

void Recorder::wait_after(Thread& thread, const BreakEvent& event, const BreakStop& stop) {
  const bool of_hook = event.kind == EventKind::op && event.custom_gradient;
  const std::uint32_t line =
      of_hook ? event.location
              : line_of_step(thread.open, trace_, event.kind == EventKind::vjp ? event.forward : 0,
                             event.location);
  const std::int64_t before = now();
  const WaitScope waiting(gate_waits_, thread.index, before);
  gate_.stop({event.number, line, event.enclosing}, stop);
  breakpoints_.stood(thread.breaks, event.location, event.enclosing, event.place);
  went_on();
  const std::int64_t after = now();
  thread.waited += after - before;
  note_wait(thread, event.number, before, after);
}

}  // namespace tapedeck
