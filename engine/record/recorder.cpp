#include "engine/record/recorder.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "engine/record/clock.h"
#include "engine/record/interner.h"
#include "engine/record/scope.h"
#include "engine/record/source_location.h"
#include "engine/record/tensor_specs.h"

namespace tapedeck {
namespace {

std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::atomic<std::uint64_t> last_serial{0};

/// Of the budget.
std::uint64_t record_room(std::uint64_t budget_bytes) {
  return std::max(budget_bytes / 2, std::uint64_t{64} << 20);
}

constexpr std::uint32_t records_between_counts = 1 << 14;

}  // namespace

/// A custom gradient, playback or VJP that has begun and not ended.
struct Recorder::Open {
  std::uint32_t number = 0;
  EventKind kind = EventKind::custom;
  bool backward = false;
  bool hides_ops = false;       ///< a built-in VJP, or inside one: its ops are no stops
  std::uint32_t forward = 0;    ///< what the ops inside are the VJP of
  std::uint32_t enclosing = 0;  ///< the innermost playback or custom gradient, itself included
  std::uint32_t location = 0;
  std::int64_t waited_before = 0;
  std::uint32_t scope = 0;         ///< of its record
  std::uint32_t scope_around = 0;  ///< of the program when it began
};

struct Recorder::Thread {
  std::uint64_t serial = 0;
  std::uint16_t index = 0;
  std::vector<Open> open;
  std::int64_t waited = 0;  ///< at the gate, in all; ticks
  std::uint32_t last_waited = 0;
  std::int64_t last_wait = 0;
  // Of the op that began last: what end() needs to know of its begin.
  std::uint32_t began = 0;      ///< its number
  std::int64_t began_at = 0;    ///< ticks
  std::uint64_t inputs_ns = 0;  ///< the longest replay of its inputs
  BreakThread breaks;
  /// What breakpoints look at again when it has ended.
  struct Watched {
    BreakEvent event;
    BreakWait wait;
  };
  std::vector<Watched> watched;
  /// The record at whose failure it stopped: those around it fail of the same.
  std::uint32_t failure_shown = 0;
  // Of the op that began last, where Health looks at it.
  HealthSampler::Wants sampled = HealthSampler::Wants::nothing;
  ActivationCall call;
  Tensors update_inputs;
};

namespace {

BreakEvent seen_by_breakpoints(const Event& event, const RecordHead& head, std::uint32_t number,
                               std::uint32_t enclosing) {
  BreakEvent seen;
  seen.kind = event.kind;
  seen.op = head.op;
  seen.name = head.name;
  seen.custom_gradient = head.custom_gradient;
  seen.backward = head.backward;
  seen.depth = head.depth;
  seen.thread = head.thread;
  seen.number = number;
  seen.forward = head.forward;
  seen.scope = head.scope;
  seen.location = head.location;
  seen.enclosing = enclosing;
  seen.place = last_place();
  seen.inputs = event.inputs;
  seen.specs = event.outputs;
  return seen;
}

}  // namespace

Recorder::Recorder(const RecorderOptions& options) : Recorder(options, nullptr) {}

Recorder::Recorder(const RecorderOptions& options, std::unique_ptr<TraceSource> file)
    : file_(std::move(file)),
      serial_(++last_serial),
      keep_values_(options.keep_values),
      origin_(clock::ticks()),
      started_unix_ms_(unix_ms()),
      trace_(options.record_limit, record_room(options.keeping.budget_bytes), options.first_record),
      values_(options.keeping, trace_.tensors()),
      health_sampler_({trace_, values_, handoffs_}, health_),
      breakpoints_(values_, trace_.tensors(), series_) {}

Recorder::~Recorder() {
  set_recording(false);
  if (storage_listener() == &lives_) set_storage_listener(nullptr);
}

void Recorder::set_recording(bool on) {
  if (file_ || recording_.exchange(on) == on) return;
  {
    const std::lock_guard lock(unrecorded_mutex_);
    if (on)
      unrecorded_.emplace_back(stopped_at_, now_ns());
    else
      stopped_at_ = now_ns();
  }
  // What it saw while it recorded it goes on to hear of.
  if (on) set_storage_listener(&lives_);
  set_observer(on ? this : nullptr);
  if (!on) gate_.command(GateCommand::run);
}

std::vector<std::pair<std::int64_t, std::int64_t>> Recorder::unrecorded(std::size_t known) const {
  const std::lock_guard lock(unrecorded_mutex_);
  return {unrecorded_.begin() + static_cast<std::ptrdiff_t>(std::min(known, unrecorded_.size())),
          unrecorded_.end()};
}

void Recorder::let_values_go() {
  trace_.tensors().lose();
  values_.clear();
}

std::int64_t Recorder::now() const {
  return clock::ticks() - origin_;
}

void Recorder::set_budget(std::uint64_t bytes) {
  trace_.set_most_bytes(record_room(bytes));
  values_.set_budget(bytes);
}

std::uint64_t Recorder::bookkeeping_bytes() const {
  return trace_.bytes() + memory_.bytes() + values_.small_bytes() + series_.bytes() + pictures_.bytes() +
         health_.bytes() + breakpoints_.bytes() + interned_bytes.load() + (file_ ? file_->cached_bytes() : 0);
}

std::int64_t Recorder::now_ns() const {
  return clock::nanoseconds(now());
}

Recorder::Thread& Recorder::this_thread() {
  // A plain pointer is read without a call; its owner ends with the thread.
  static constinit thread_local Thread* current = nullptr;
  if (current && current->serial == serial_) [[likely]]
    return *current;
  static thread_local std::unique_ptr<Thread> owner;
  owner = std::make_unique<Thread>();
  owner->serial = serial_;
  owner->index = static_cast<std::uint16_t>(threads_.fetch_add(1));
  current = owner.get();
  return *current;
}

RecordHead Recorder::head_of(const Event& event, const Open* parent, const Thread& thread) const {
  RecordHead head;
  head.kind = event.kind;
  head.op = event.op;
  if (!event.op) head.name = intern_name(event.name);
  head.custom_gradient = event.custom_gradient || event.kind == EventKind::custom;
  head.backward = event.kind == EventKind::playback || (parent && parent->backward);
  head.depth = static_cast<std::uint16_t>(thread.open.size());
  head.thread = thread.index;
  head.parent = parent ? parent->number : 0;
  head.forward = event.kind == EventKind::vjp ? static_cast<std::uint32_t>(event.forward_record)
                 : parent                     ? parent->forward
                                              : 0;
  head.tape = static_cast<std::uint32_t>(event.tape);
  // What goes backwards belongs to the layer that went forwards, unless a gradient's author opens a scope.
  head.scope = current_scope();
  if (event.kind == EventKind::vjp)
    head.scope = trace_.scope_of(static_cast<std::uint32_t>(event.forward_record));
  else if (parent && parent->backward && parent->scope_around == head.scope)
    head.scope = parent->scope;
  // All ops of a built-in VJP come from the one line that played the tape.
  head.location = parent && parent->hides_ops ? parent->location : capture_location();
  if (event.attributes) head.attributes = *event.attributes;
  head.start = now();
  return head;
}

// A tensor that no record made was there before the recording, or comes from where no observer looks.
void Recorder::note_inputs(std::span<const Tensor> inputs, Thread& thread) {
  thread.inputs_ns = 0;
  TensorTable& table = trace_.tensors();
  for (const Tensor& input : inputs) {
    if (!input) continue;
    const TensorOrigin origin = table.get(input.id());
    // Of what the program still has the maker's record may have been forgotten: it comes as a leaf.
    const bool orphan = origin.producer() != 0 && origin.producer() < trace_.oldest_kept();
    if (orphan) [[unlikely]]
      table.set(input.id(), origin.with_lost());
    if (keep_values_ && (!origin.known() || origin.lost() || orphan))
      add_leaf(input, 0);
    else
      thread.inputs_ns = std::max(thread.inputs_ns, table.replay_ns(input.id()));
    // Before the record begins, and the table forgets what no kept record takes.
    table.note_user(input.id(), trace_.newest() + 1);
  }
}

// Now and then: what belongs to records that went goes, too.
void Recorder::count_bookkeeping(std::uint32_t number) {
  next_count_.store(number + records_between_counts, std::memory_order_relaxed);
  const std::uint32_t oldest = trace_.oldest_kept();
  if (forgotten_to_.exchange(oldest) != oldest) {
    values_.forget(trace_.oldest_tensor());
    memory_.forget(oldest, trace_.tensors());
  }
  values_.set_bookkeeping(bookkeeping_bytes());
}

void Recorder::add_leaf(const Tensor& tensor, std::uint32_t name) {
  const bool is_new = !trace_.tensors().get(tensor.id()).known();
  values_.add_leaf(tensor, name);
  if (is_new) lives_.note_leaf(tensor);
}

void Recorder::keep_result(const Tensor& output, std::uint64_t replay_ns) {
  values_.add_result(output, gate_.armed());
  if (values_.needs_checkpoint(output, replay_ns))
    values_.add_checkpoint(output);
  else
    trace_.tensors().set_replay_ns(output.id(), replay_ns);
}

void Recorder::sample_before(Thread& thread, const Event& event, const RecordHead& head) {
  thread.sampled = health_sampler_.wants(event, head.backward);
  if (thread.sampled == HealthSampler::Wants::nothing) return;
  thread.call = {0, event.op, event.inputs.empty() ? 0 : event.inputs[0].id(), 0, head.scope, head.location};
  // With an observer no update writes in place, so these handles change nothing.
  if (thread.sampled == HealthSampler::Wants::update)
    thread.update_inputs.assign(event.inputs.begin(), event.inputs.end());
}

void Recorder::sample_after(Thread& thread, std::uint32_t number, std::span<const Tensor> outputs,
                            bool playback) {
  if (playback) return health_sampler_.playback_ended(number, outputs);
  const auto wants = std::exchange(thread.sampled, HealthSampler::Wants::nothing);
  const Tensors inputs = std::exchange(thread.update_inputs, {});
  thread.call.record = number;
  thread.call.output = outputs.empty() ? 0 : outputs[0].id();
  health_sampler_.ended(wants, thread.call, inputs, outputs);
}

std::uint64_t Recorder::begin(const Event& event) {
  if (trace_.full()) [[unlikely]]
    set_recording(false);
  Thread& thread = this_thread();
  const Open* parent = thread.open.empty() ? nullptr : &thread.open.back();
  RecordHead head = head_of(event, parent, thread);
  note_inputs(event.inputs, thread);
  const std::int64_t start = head.start;
  const std::uint32_t location = head.location;
  const std::uint32_t enclosing = parent ? parent->enclosing : 0;
  // A stop is an op, unless a built-in VJP or the playback itself runs it (sums of gradients); or a VJP. The
  // ops inside of custom gradients are stops.
  const bool hidden =
      parent && (parent->hides_ops || (event.kind == EventKind::op && parent->kind == EventKind::playback));
  const bool stands = !hidden && (event.kind == EventKind::op || event.kind == EventKind::vjp);
  const bool breaks = !hidden && breakpoints_.concern(thread.breaks, event.kind, head.op,
                                                      head.custom_gradient, head.backward, location);
  const bool asks = stands && gate_.armed();
  std::optional<BreakEvent> seen;
  if (breaks) seen = seen_by_breakpoints(event, head, 0, enclosing);

  if (health_sampler_.on() && event.kind == EventKind::op) [[unlikely]]
    sample_before(thread, event, head);

  if (event.kind == EventKind::op) {
    const std::uint32_t number =
        trace_.begin(std::move(head), event.inputs, asks ? RecordState::pending : RecordState::running);
    thread.began = number;
    thread.began_at = start;
    if (number >= next_count_.load(std::memory_order_relaxed)) [[unlikely]]
      count_bookkeeping(number);
    if (memory_.wants_sample(number)) [[unlikely]]
      memory_.add_sample({number, bytes_of_onlookers()});
    if ((breaks || asks) && number <= Trace::newest_possible)
      come_to_stop(thread, event, {number, location, enclosing}, seen, stands);
    return number;
  }
  Open open{0,         event.kind, head.backward, false,      head.forward,
            enclosing, location,   thread.waited, head.scope, current_scope()};
  open.hides_ops = (parent && parent->hides_ops) || (event.kind == EventKind::vjp && !event.custom_gradient);
  open.number =
      trace_.begin(std::move(head), event.inputs, asks ? RecordState::pending : RecordState::running);
  if (event.kind == EventKind::playback) {
    handoffs_.add(Asked{open.number, {event.sources.begin(), event.sources.end()}});
    if (health_sampler_.on()) health_sampler_.playback_begins(open.number, location, event.inputs);
  }
  if (!open.hides_ops) open.enclosing = open.number;
  thread.open.push_back(open);
  if ((breaks || asks) && open.number <= Trace::newest_possible)
    come_to_stop(thread, event, {open.number, location, enclosing}, seen, stands);
  return open.number;
}

void Recorder::come_to_stop(Thread& thread, const Event& event, const GatePoint& point,
                            std::optional<BreakEvent>& seen, bool stands) {
  std::optional<BreakStop> stop;
  if (seen) {
    seen->number = point.number;
    BreakWait wait;
    try {
      stop = breakpoints_.before(thread.breaks, *seen, wait);
    } catch (const std::exception& error) {  // an interrupt, no memory: what began does not run
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
  const std::int64_t before = now();
  try {
    if (stop)
      gate_.stop(point, *stop);
    else
      gate_.pass(point);
  } catch (const Interrupted& interrupted) {
    std::erase_if(thread.watched, [&](const auto& one) { return one.event.number == point.number; });
    end(point.number, {}, interrupted.what());
    throw;
  }
  breakpoints_.stood(thread.breaks, point.location, point.enclosing, last_place());
  thread.last_waited = point.number;
  thread.last_wait = now() - before;
  thread.waited += thread.last_wait;
  note_wait(thread, point.number, before, before + thread.last_wait);
  trace_.set_state(point.number, RecordState::running);
}

// An armed gate that lets an op pass takes no time that anybody would miss.
void Recorder::note_wait(const Thread& thread, std::uint32_t number, std::int64_t from, std::int64_t to) {
  constexpr std::int64_t least_ns = 10'000;
  if (clock::nanoseconds(to - from) >= least_ns) gate_waits_.add({thread.index, number, from, to});
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
  event.duration_ns = record.duration_ns;
  // A VJP fails of what failed inside of it, and a playback of its VJP.
  const bool shown =
      error && (thread.failure_shown > number || std::string_view(error) == Interrupted().what());
  if (!error || !shown) thread.failure_shown = 0;
  if (shown) return;
  if (const auto stop = breakpoints_.after(event, wait)) {
    if (error) thread.failure_shown = number;
    wait_after(thread, event, *stop);
  }
}

void Recorder::wait_after(Thread& thread, const BreakEvent& event, const BreakStop& stop) {
  const std::int64_t before = now();
  gate_.stop({event.number, event.location, event.enclosing}, stop);
  breakpoints_.stood(thread.breaks, event.location, event.enclosing, event.place);
  const std::int64_t after = now();
  thread.waited += after - before;
  note_wait(thread, event.number, before, after);
}

void Recorder::end(std::uint64_t record, std::span<const Tensor> outputs, const char* error) {
  Thread& thread = this_thread();
  const auto number = static_cast<std::uint32_t>(record);
  const bool is_recorded = number <= Trace::newest_possible;
  bool is_op = true, is_playback = false;
  std::int64_t waited = thread.last_waited == number ? thread.last_wait : 0;
  for (std::size_t i = thread.open.size(); i-- > 0;) {
    if (thread.open[i].number != number) continue;
    is_op = false;
    is_playback = thread.open[i].kind == EventKind::playback;
    waited = thread.waited - thread.open[i].waited_before;
    thread.open.resize(i);
    break;
  }
  const std::int64_t ended = now();
  // Even the smallest op takes about 2 µs when it runs again: its record is read, its inputs are found.
  constexpr std::int64_t least_ns = 2000;
  std::uint64_t replay_ns = least_ns;
  if (thread.began == number)
    replay_ns = thread.inputs_ns + static_cast<std::uint64_t>(std::max(
                                       least_ns, clock::nanoseconds(ended - thread.began_at - waited)));
  for (const Tensor& output : outputs) {
    if (!is_recorded || !output || trace_.tensors().get(output.id()).known()) continue;
    if (!is_op) {  // made inside, but by no op: it cannot be had again
      if (keep_values_) add_leaf(output, 0);
      continue;
    }
    trace_.tensors().set(output.id(), TensorOrigin::made_by(number, spec_number(output)));
    lives_.note_result(output);
    if (keep_values_) keep_result(output, replay_ns);
  }
  trace_.end(number, outputs, error, ended, waited);
  const bool samples = is_op && thread.began == number && thread.sampled != HealthSampler::Wants::nothing;
  if ((samples || (is_playback && health_sampler_.on())) && is_recorded && !error) [[unlikely]]
    sample_after(thread, number, outputs, is_playback);
  else if (samples)
    thread.sampled = HealthSampler::Wants::nothing;
  if (!is_op && gate_.armed()) gate_.ended(number);
  if (!thread.watched.empty()) [[unlikely]]
    stop_after(thread, number, outputs, error);
}

void Recorder::refused(const Event& event, const char* error) {
  if (!breakpoints_.watches_failures()) return;
  Thread& thread = this_thread();
  const Open* parent = thread.open.empty() ? nullptr : &thread.open.back();
  if (parent && parent->hides_ops) return;
  RecordHead head = head_of(event, parent, thread);
  note_inputs(event.inputs, thread);  // what did not fit is looked at
  BreakEvent seen = seen_by_breakpoints(event, head, 0, parent ? parent->enclosing : 0);
  seen.number = trace_.begin(std::move(head), event.inputs, RecordState::running);
  const BreakWait wait = breakpoints_.refused(seen);
  if (wait.mask != 0) thread.watched.push_back({seen, wait});
  end(seen.number, {}, error);
}

void Recorder::leaf(const Tensor& tensor, std::string_view name) {
  if (keep_values_ && tensor) add_leaf(tensor, name.empty() ? 0 : intern_name(name));
}

void Recorder::assigned(const Tensor& tensor, const Tensor& value, std::uint64_t variable,
                        std::uint64_t since) {
  const std::uint32_t location = capture_location();
  handoffs_.add({tensor.id(), value.id(), variable, since, location, trace_.newest()});
  memory_.add({tensor.id(), variable, trace_.newest(), MemoryEventKind::assigned});
  if (health_sampler_.on()) health_sampler_.assigned(tensor, value, variable, trace_.newest());
  if (!breakpoints_.any()) return;
  BreakEvent event;
  event.location = location;
  event.number = trace_.newest();
  event.written = values_.name(tensor.id());
  event.outputs = std::span(&tensor, 1);
  event.ended = true;
  const auto stop = event.written && event.number ? breakpoints_.assigned(event) : std::nullopt;
  if (stop) wait_after(this_thread(), event, *stop);
}

void Recorder::assigned_by_debugger(const Tensor& now, std::string_view name, const Tensor& value,
                                    std::uint64_t variable) {
  leaf(now, name);
  handoffs_.add({now.id(), value.id(), variable, value.id(), 0, trace_.newest()});
  memory_.add({now.id(), variable, trace_.newest(), MemoryEventKind::assigned});
}

void Recorder::left(const Tensor& tensor) {
  handoffs_.add(Departure{tensor.id(), detail::newest_tensor_id(), capture_location()});
}

void Recorder::variable_gone(std::uint64_t variable) {
  memory_.add({variable, 0, trace_.newest(), MemoryEventKind::variable_gone});
}

void Recorder::taped(std::uint64_t record, std::uint64_t tape) {
  memory_.add({record, tape, trace_.newest(), MemoryEventKind::taped});
}

void Recorder::tape_used_up(std::uint64_t tape) {
  memory_.add({tape, 0, trace_.newest(), MemoryEventKind::tape_used_up});
}

void Recorder::tape_emptied(std::uint64_t tape) {
  memory_.add({tape, 0, trace_.newest(), MemoryEventKind::tape_emptied});
}

void Recorder::begin_cell(const std::string& cell) {
  {
    const std::lock_guard lock(cell_mutex_);
    running_cell_ = cell;
  }
  cell_runs_.begin(cell, trace_.newest() + 1, now_ns());
  breakpoints_.cell_started(cell);
  gate_.cell_started();
}

void Recorder::end_cell(bool failed) {
  {
    const std::lock_guard lock(cell_mutex_);
    running_cell_.clear();
  }
  cell_runs_.end(trace_.newest(), now_ns(), failed);
  ++cells_ended_;
  memory_.add({0, 0, trace_.newest(), MemoryEventKind::cell_ended});
  if (health_sampler_.on()) health_sampler_.flush();
  breakpoints_.cell_ended();
  gate_.cell_ended();
}

std::string Recorder::running_cell() const {
  const std::lock_guard lock(cell_mutex_);
  return running_cell_;
}

void Recorder::add_scalar(const std::string& series, double step, double value) {
  series_.add(series, step, value, trace_.newest());
}

bool Recorder::add_health(const std::string& name, double value) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == name.size()) return false;
  HealthSubject subject;
  subject.kind = HealthKind::published;
  subject.name = name.substr(0, slash);
  subject.location = capture_location();
  health_.put(health_.subject(subject), name.substr(slash + 1), {trace_.newest(), value});
  return true;
}

bool Recorder::add_picture(protocol::Picture picture) {
  picture.record = trace_.newest();
  return pictures_.add(std::move(picture));
}

}  // namespace tapedeck
