#include "engine/record/recorder.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "engine/ops/core/foreign.h"
#include "engine/record/recorder_thread.h"
#include "engine/record/trace/clock.h"
#include "engine/record/trace/interner.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/record/trace/thread_record.h"

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

BreakEvent seen_by_breakpoints(const Event& event, const RecordHead& head, std::uint32_t number,
                               std::uint32_t enclosing) {
  BreakEvent seen;
  seen.kind = event.kind;
  seen.op = head.op;
  seen.name = head.name();
  seen.custom_gradient = head.custom_gradient;
  seen.backward = head.backward;
  seen.depth = head.depth;
  seen.thread = head.thread;
  seen.number = number;
  seen.forward = head.forward;
  seen.scope = head.scope;
  seen.location = head.location;
  seen.call = head.call();
  seen.enclosing = enclosing;
  seen.place = last_place();
  seen.inputs = event.inputs;
  seen.specs = event.outputs;
  return seen;
}

/// Of another framework's backward pass: the program's own code runs the op, in a hook.
bool is_of_hook(const Event& event) {
  return event.kind == EventKind::op && event.custom_gradient;
}

}  // namespace

Recorder::Recorder(const RecorderOptions& options) : Recorder(options, nullptr) {}

Recorder::Recorder(const RecorderOptions& options, std::unique_ptr<TraceSource> file)
    : file_(std::move(file)),
      serial_(++last_serial),
      keep_values_(options.keep_values),
      origin_(clock::ticks()),
      first_record_(options.first_record),
      started_unix_ms_(unix_ms()),
      trace_(options.record_limit, record_room(options.keeping.budget_bytes), options.first_record),
      values_(options.keeping, trace_.tensors()),
      // Keeps everything in a file, whatever the budget.
      data_flow_(file_ ? UINT64_MAX : record_room(options.keeping.budget_bytes)),
      health_sampler_({trace_, values_, data_flow_}, health_),
      breakpoints_(values_, trace_.tensors(), series_, cell_runs_) {
  bookkeeping_bytes();
}

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
  // The listener stays when recording stops, for the storages that it has seen.
  if (on) set_storage_listener(&lives_);
  set_observer(on ? this : nullptr);
  if (!on) gate_.command(GateCommand::run);
  note_news();
}

std::vector<std::pair<std::int64_t, std::int64_t>> Recorder::unrecorded(std::size_t known) const {
  const std::lock_guard lock(unrecorded_mutex_);
  return {unrecorded_.begin() + static_cast<std::ptrdiff_t>(std::min(known, unrecorded_.size())),
          unrecorded_.end()};
}

void Recorder::release_values() {
  trace_.tensors().lose();
  values_.clear();
  note_news();
}

std::uint64_t Recorder::values_lost() const {
  const std::uint64_t lost = values_.lost();
  const bool forgot = trace_.oldest_kept() > first_record_ || data_flow_.newest_forgotten() != 0;
  return lost || forgot ? 1 + values_.changes() + trace_.oldest_kept() + data_flow_.newest_forgotten() : 0;
}

std::int64_t Recorder::now() const {
  return clock::ticks() - origin_;
}

void Recorder::set_budget(std::uint64_t bytes) {
  if (file_) return values_.set_budget(bytes);
  data_flow_.set_most_bytes(record_room(bytes));
  trace_.set_most_bytes(record_room(bytes));
  values_.set_bookkeeping(bookkeeping_bytes());
  values_.set_budget(bytes);
  next_count_.store(0);  // data of dropped records is freed at the next op
  note_news();
}

void Recorder::set_news_listener(std::function<void()> listener) {
  const std::lock_guard lock(listener_mutex_);
  news_listener_ = std::move(listener);
}

void Recorder::tell_news() {
  if (!awaited_.exchange(false)) return;
  const std::lock_guard lock(listener_mutex_);
  if (news_listener_) news_listener_();
}

void Recorder::set_replay_on_cpu(bool on) {
  if (replay_on_cpu_.exchange(on) != on) values_.let_recomputed_go();
  note_news();
}

std::uint64_t Recorder::bookkeeping_bytes() const {
  const std::uint64_t beside_records =
      data_flow_.bytes() + memory_.bytes() + values_.small_bytes() + series_.bytes() + pictures_.bytes() +
      health_.bytes() + breakpoints_.bytes() + interned_bytes.load() + (file_ ? file_->cached_bytes() : 0);
  beside_records_.store(beside_records, std::memory_order_relaxed);
  return trace_.bytes() + beside_records;
}

std::uint64_t Recorder::bytes() const {
  return values_.held_bytes() + bookkeeping_bytes();
}

RecorderSample Recorder::sample(std::uint32_t number) const {
  return {number, values_.held_bytes() + trace_.bytes() + beside_records_.load(std::memory_order_relaxed)};
}

std::int64_t Recorder::now_ns() const {
  return clock::nanoseconds(now());
}

Recorder::Thread& Recorder::this_thread() {
  // A plain pointer is read without a call; its owner ends with the thread.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Thread* current = nullptr;
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
  head.custom_gradient = event.custom_gradient || event.kind == EventKind::custom;
  head.backward = event.kind == EventKind::playback || event.backward || (parent && parent->backward);
  head.depth = static_cast<std::uint16_t>(thread.open.size());
  head.thread = thread.index;
  head.parent = parent ? parent->number : 0;
  head.forward = event.kind == EventKind::vjp ? static_cast<std::uint32_t>(event.forward_record)
                 : parent                     ? parent->forward
                                              : 0;
  head.tape = static_cast<std::uint32_t>(event.tape);
  // Backward ops belong to the forward op's layer, unless a gradient's author opens a scope.
  head.scope = current_scope();
  if (event.kind == EventKind::vjp)
    head.scope = trace_.scope_of(static_cast<std::uint32_t>(event.forward_record));
  else if (parent && parent->backward && parent->scope_around == head.scope)
    head.scope = parent->scope;
  // All ops of a built-in VJP come from the one line that played the tape, but for those of a hook of the
  // program.
  const CallSite site =
      parent && parent->hides_ops && !is_of_hook(event) ? parent->site : capture_call_site();
  head.location = site.location;
  head.set_label(event.op ? 0 : intern_name(event.name), site.call);
  if (event.attributes) head.attributes = *event.attributes;
  head.start = now();
  return head;
}

// A tensor that no record made is older than the recording, or was made unobserved.
void Recorder::note_inputs(std::span<const Tensor> inputs, Thread& thread) {
  thread.inputs_ns = 0;
  TensorTable& table = trace_.tensors();
  for (const Tensor& input : inputs) {
    if (!input) continue;
    const TensorOrigin origin = table.get(input.id());
    // The record that made a tensor may have been forgotten while the program still holds it: it becomes a
    // leaf.
    const bool orphan = (origin.producer() != 0 && origin.producer() < trace_.oldest_kept()) ||
                        (origin.is_version() && input.id() < old_versions_.load(std::memory_order_relaxed));
    if (orphan) [[unlikely]]
      table.set(input.id(), origin.with_lost());
    if (keep_values_ && (!origin.known() || origin.lost() || orphan))
      add_leaf(input, 0);
    else
      thread.inputs_ns = std::max(thread.inputs_ns, table.replay_ns(input.id()));
    // Before the record begins, because the table forgets tensors that no kept record takes.
    table.note_user(input.id(), trace_.newest() + 1);
  }
}

// Occasionally drops the data of dropped records, too.
void Recorder::count_bookkeeping(std::uint32_t number) {
  next_count_.store(number + records_between_counts, std::memory_order_relaxed);
  collect_device_times();
  const std::uint32_t oldest = trace_.oldest_kept();
  if (forgotten_to_.exchange(oldest) != oldest) {
    const std::uint64_t oldest_tensor = trace_.oldest_tensor();
    values_.forget(oldest_tensor);
    // The inputs of such a version may already be gone.
    constexpr std::uint64_t share = 16;
    old_versions_.store(oldest_tensor + (detail::newest_tensor_id() - oldest_tensor) / share,
                        std::memory_order_relaxed);
    memory_.forget(oldest, trace_.tensors());
    data_flow_.forget(oldest, trace_.tensors());
  }
  values_.set_bookkeeping(bookkeeping_bytes());
}

void Recorder::add_leaf(const Tensor& tensor, std::uint32_t name) {
  // One of another framework whose value the engine cannot have (missing_values.h).
  if (!tensor.storage()) {
    trace_.tensors().set(tensor.id(), TensorOrigin::leaf(spec_number(tensor)).with_lost());
    return;
  }
  const bool is_new = !trace_.tensors().get(tensor.id()).known();
  values_.add_leaf(tensor, name);
  if (is_new) lives_.note_leaf(tensor);
}

void Recorder::keep_result(const Tensor& output, std::uint64_t replay_ns) {
  values_.add_result(output, gate_.armed());
  if (!values_.needs_checkpoint(output, replay_ns) || !values_.add_checkpoint(output, now_ns()))
    trace_.tensors().set_replay_ns(output.id(), replay_ns);
}

void Recorder::sample_before(Thread& thread, const Event& event, const RecordHead& head) {
  thread.sampled = health_sampler_.wants(event, head.backward);
  if (thread.sampled == HealthSampler::Wants::nothing) return;
  thread.call = {0, event.op, event.inputs.empty() ? 0 : event.inputs[0].id(), 0, head.scope, head.location};
  // A value with another reference is not overwritten.
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
  // A stop is an op, unless a built-in VJP or the playback itself runs it (and no hook of the program's); a
  // VJP; a sum of gradients; and a call of a graph function. The ops inside of custom gradients and of such
  // calls are stops.
  const bool by_playback = parent && event.kind == EventKind::op && parent->kind == EventKind::playback;
  const bool hidden =
      parent && !is_of_hook(event) && (parent->hides_ops || (by_playback && !is_stop_of_playback(*event.op)));
  const bool gave_up = std::exchange(thread.gave_up, false);
  const bool waits = !hidden && !gave_up;
  const bool is_call = event.kind == EventKind::call && !event.part;
  const bool stands = waits && (event.kind == EventKind::op || event.kind == EventKind::vjp || is_call);
  const bool breaks =
      waits && !event.part &&
      breakpoints_.concern(thread.breaks, event.kind, head.op, head.custom_gradient, head.backward, location);
  const bool asks = stands && gate_.armed();
  std::optional<BreakEvent> seen;
  if (breaks) {
    seen = seen_by_breakpoints(event, head, 0, enclosing);
    seen->sums_gradients = by_playback && !is_of_hook(event);
  }

  if (health_sampler_.on() && event.kind == EventKind::op) [[unlikely]]
    sample_before(thread, event, head);

  if (event.kind == EventKind::op) {
    ++thread.ops;
    const std::uint32_t number =
        trace_.begin(std::move(head), event.inputs, asks ? RecordState::pending : RecordState::running);
    note_news();
    thread_record() = {number, thread.index};
    thread.began = number;
    thread.began_at = start;
    if (number >= next_count_.load(std::memory_order_relaxed)) [[unlikely]]
      count_bookkeeping(number);
    if (memory_.wants_sample(number)) [[unlikely]]
      memory_.add_sample(sample(number));
    if ((breaks || asks) && number <= Trace::newest_possible)
      come_to_stop(thread, event, {number, location, enclosing}, seen, stands);
    if (event.device.kind == DeviceKind::gpu) [[unlikely]]
      begin_device_work(thread, number, event.device);
    return number;
  }
  Open open{0,
            event.kind,
            head.backward,
            false,
            head.forward,
            enclosing,
            {location, head.call()},
            thread.waited,
            head.scope,
            current_scope(),
            thread.ops};
  open.hides_ops = (parent && parent->hides_ops) || (event.kind == EventKind::vjp && !event.custom_gradient);
  open.number =
      trace_.begin(std::move(head), event.inputs, asks ? RecordState::pending : RecordState::running);
  note_news();
  thread_record() = {open.number, thread.index};
  if (event.kind == EventKind::call) calls_recorded_.fetch_add(1, std::memory_order_relaxed);
  if (event.kind == EventKind::playback) {
    data_flow_.add(RequestedGradients{open.number, {event.sources.begin(), event.sources.end()}});
    if (health_sampler_.on()) health_sampler_.playback_begins(open.number, location, event.inputs);
  }
  if (!open.hides_ops && !event.part) open.enclosing = open.number;
  thread.open.push_back(open);
  if ((breaks || asks) && open.number <= Trace::newest_possible)
    come_to_stop(thread, event, {open.number, location, enclosing, 0, {}, is_call}, seen, stands);
  return open.number;
}

void Recorder::end(std::uint64_t record, std::span<const Tensor> outputs, const char* error) {
  Thread& thread = this_thread();
  const auto number = static_cast<std::uint32_t>(record);
  if (!thread.on_devices.empty()) [[unlikely]]
    end_device_work(thread, number);
  const bool is_recorded = number <= Trace::newest_possible;
  bool is_op = true, is_playback = false;
  std::uint64_t ops = 0;  // inside
  std::int64_t waited = thread.last_waited == number ? thread.last_wait : 0;
  for (std::size_t i = thread.open.size(); i-- > 0;) {
    if (thread.open[i].number != number) continue;
    is_op = false;
    is_playback = thread.open[i].kind == EventKind::playback;
    waited = thread.waited - thread.open[i].waited_before;
    ops = thread.ops - thread.open[i].ops_before;
    const bool is_call = thread.open[i].kind == EventKind::call && thread.open[i].enclosing == number;
    if (is_call) Breakpoints::call_ended(thread.breaks, thread.open[i].site.location);
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
    if (!is_op) {  // made inside, but by no op: it cannot be recomputed
      if (keep_values_) add_leaf(output, 0);
      continue;
    }
    trace_.tensors().set(output.id(), TensorOrigin::made_by(number, spec_number(output)));
    if (!output.storage()) continue;
    lives_.note_result(output);
    if (keep_values_) keep_result(output, replay_ns);
  }
  trace_.end(number, outputs, error, ended, waited);
  note_news();
  const bool samples = is_op && thread.began == number && thread.sampled != HealthSampler::Wants::nothing;
  if ((samples || (is_playback && health_sampler_.on())) && is_recorded && !error) [[unlikely]]
    sample_after(thread, number, outputs, is_playback);
  else if (samples)
    thread.sampled = HealthSampler::Wants::nothing;
  if (!is_op && gate_.armed())
    gate_.ended(number, [&] { return said_of_call(number, ops, error != nullptr); });
  if (!thread.watched.empty()) [[unlikely]]
    stop_after(thread, number, outputs, error);
}

std::string Recorder::said_of_call(std::uint32_t number, std::uint64_t ops, bool failed) const {
  RecordView record;
  if (!trace_.read(number, record) || record.head.kind != EventKind::call) return {};
  const std::string name = record.name();
  const std::string count = std::to_string(ops) + (ops == 1 ? " op" : " ops");
  return name.substr(0, name.find('(')) + (failed ? " failed after " : " ran, ") + count;
}

void Recorder::refused(const Event& event, const char* error) {
  Thread& thread = this_thread();
  thread.gave_up = false;
  if (!breakpoints_.watches_failures()) return;
  const Open* parent = thread.open.empty() ? nullptr : &thread.open.back();
  if (parent && parent->hides_ops) return;
  RecordHead head = head_of(event, parent, thread);
  note_inputs(event.inputs, thread);  // values that did not fit are viewed
  BreakEvent seen = seen_by_breakpoints(event, head, 0, parent ? parent->enclosing : 0);
  seen.number = trace_.begin(std::move(head), event.inputs, RecordState::running);
  const BreakWait wait = breakpoints_.refused(seen);
  if (wait.mask != 0) thread.watched.push_back({seen, wait});
  end(seen.number, {}, error);
}

}  // namespace tapedeck
