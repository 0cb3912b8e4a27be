#include "engine/record/recorder.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "engine/record/clock.h"
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
};

Recorder::Recorder(const RecorderOptions& options)
    : serial_(++last_serial),
      keep_values_(options.keep_values),
      origin_(clock::ticks()),
      started_unix_ms_(unix_ms()),
      trace_(options.record_limit),
      values_(options.keeping, trace_.tensors()) {}

Recorder::~Recorder() {
  set_recording(false);
}

void Recorder::set_recording(bool on) {
  if (recording_.exchange(on) == on) return;
  set_observer(on ? this : nullptr);
  if (!on) gate_.command(GateCommand::run);
}

std::int64_t Recorder::now() const {
  return clock::ticks() - origin_;
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
  head.scope = current_scope();
  // All ops of a built-in VJP come from the one line that played the tape.
  head.location = parent && parent->hides_ops ? parent->location : capture_location();
  if (event.attributes) head.attributes = *event.attributes;
  head.start = now();
  return head;
}

// A tensor that no record made was there before the recording, or comes from where no observer looks.
void Recorder::note_inputs(std::span<const Tensor> inputs, Thread& thread) {
  thread.inputs_ns = 0;
  if (!keep_values_) return;
  for (const Tensor& input : inputs) {
    if (!input) continue;
    if (!trace_.tensors().get(input.id()).known())
      values_.add_leaf(input, 0);
    else
      thread.inputs_ns = std::max(thread.inputs_ns, trace_.tensors().replay_ns(input.id()));
  }
}

void Recorder::keep_result(const Tensor& output, std::uint64_t replay_ns) {
  values_.add_result(output, gate_.armed());
  if (values_.needs_checkpoint(output, replay_ns))
    values_.add_checkpoint(output);
  else
    trace_.tensors().set_replay_ns(output.id(), replay_ns);
}

std::uint64_t Recorder::begin(const Event& event) {
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
  const bool stop = !hidden && (event.kind == EventKind::op || event.kind == EventKind::vjp);
  const bool asks = stop && gate_.armed();

  if (event.kind == EventKind::op) {
    const std::uint32_t number =
        trace_.begin(std::move(head), event.inputs, asks ? RecordState::pending : RecordState::running);
    thread.began = number;
    thread.began_at = start;
    if (asks) ask_gate(thread, event, number, enclosing, location);
    return number;
  }
  Open open{0, event.kind, head.backward, false, head.forward, enclosing, location, thread.waited};
  open.hides_ops = (parent && parent->hides_ops) || (event.kind == EventKind::vjp && !event.custom_gradient);
  open.number =
      trace_.begin(std::move(head), event.inputs, asks ? RecordState::pending : RecordState::running);
  if (!open.hides_ops) open.enclosing = open.number;
  thread.open.push_back(open);
  if (asks) ask_gate(thread, event, open.number, enclosing, location);
  return open.number;
}

void Recorder::ask_gate(Thread& thread, const Event& event, std::uint32_t number, std::uint32_t enclosing,
                        std::uint32_t location) {
  if (!event.outputs.empty()) trace_.set_pending_outputs(number, event.outputs);
  const std::int64_t before = now();
  try {
    gate_.pass({number, location, enclosing});
  } catch (const Interrupted& interrupted) {
    end(number, {}, interrupted.what());
    throw;
  }
  thread.last_waited = number;
  thread.last_wait = now() - before;
  thread.waited += thread.last_wait;
  trace_.set_state(number, RecordState::running);
}

void Recorder::end(std::uint64_t record, std::span<const Tensor> outputs, const char* error) {
  Thread& thread = this_thread();
  const auto number = static_cast<std::uint32_t>(record);
  bool is_op = true;
  std::int64_t waited = thread.last_waited == number ? thread.last_wait : 0;
  for (std::size_t i = thread.open.size(); i-- > 0;) {
    if (thread.open[i].number != number) continue;
    is_op = false;
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
    if (!output || trace_.tensors().get(output.id()).known()) continue;
    if (!is_op) {  // made inside, but by no op: it cannot be had again
      if (keep_values_) values_.add_leaf(output, 0);
      continue;
    }
    trace_.tensors().set(output.id(), TensorOrigin::made_by(number, spec_number(output)));
    if (keep_values_) keep_result(output, replay_ns);
  }
  trace_.end(number, outputs, error, ended, waited);
  if (!is_op && gate_.armed()) gate_.ended(number);
}

void Recorder::leaf(const Tensor& tensor, std::string_view name) {
  if (keep_values_ && tensor) values_.add_leaf(tensor, name.empty() ? 0 : intern_name(name));
}

void Recorder::assigned(const Tensor& tensor, const Tensor& value, std::uint64_t variable,
                        std::uint64_t since) {
  handoffs_.add({tensor.id(), value.id(), variable, since, capture_location(), trace_.newest()});
}

void Recorder::left(const Tensor& tensor) {
  handoffs_.add(Departure{tensor.id(), detail::newest_tensor_id(), capture_location()});
}

void Recorder::begin_cell(const std::string& cell) {
  {
    const std::lock_guard lock(cell_mutex_);
    running_cell_ = cell;
  }
  gate_.cell_started();
}

void Recorder::end_cell() {
  {
    const std::lock_guard lock(cell_mutex_);
    running_cell_.clear();
  }
  ++cells_ended_;
  gate_.cell_ended();
}

std::string Recorder::running_cell() const {
  const std::lock_guard lock(cell_mutex_);
  return running_cell_;
}

void Recorder::add_scalar(const std::string& series, double step, double value) {
  series_.add(series, step, value, trace_.newest());
}

}  // namespace tapedeck
