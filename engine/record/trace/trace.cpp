#include "engine/record/trace/trace.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <thread>

#include "engine/record/background_thread.h"
#include "engine/record/trace/clock.h"
#include "engine/record/trace/interner.h"
#include "engine/record/trace/trace_chunk.h"

namespace tapedeck {
namespace {

constexpr std::size_t most_errors = 10000;      // whose texts are kept
constexpr std::size_t longest_error = 1 << 12;  // bytes
constexpr std::uint32_t fewest_chunks = 3;      // are kept, however many bytes they take

Interner<std::string>& names() {
  static Interner<std::string> interner(std::uint64_t{32} << 20, "(names full)");
  return interner;
}

}  // namespace

Trace::Trace(std::uint64_t limit, std::uint64_t most_bytes, std::uint32_t first)
    : limit_(std::max<std::uint64_t>(limit, Chunk::size)),
      most_bytes_(most_bytes),
      chunks_(std::make_unique<std::atomic<Chunk*>[]>(newest_possible / Chunk::size + 1)),
      next_(first),
      finished_(first - 1),
      oldest_(first) {}

Trace::~Trace() {
  if (preparer_.joinable()) {
    {
      const std::lock_guard lock(spare_mutex_);
      stopping_ = true;
    }
    spare_wanted_.notify_all();
    preparer_.join();
  }
  Chunk::destroy(spare_.load());
  for (std::uint32_t i = oldest_ / Chunk::size; i <= newest() / Chunk::size; ++i)
    Chunk::destroy(chunks_[i].load());
}

void Trace::prepare_chunks() {
  std::unique_lock lock(spare_mutex_);
  while (true) {
    spare_wanted_.wait(lock, [this] { return wants_spare_ || stopping_; });
    if (stopping_) return;
    wants_spare_ = false;
    if (spare_.load()) continue;
    lock.unlock();
    Chunk* chunk = nullptr;
    try {
      chunk = Chunk::make();
      chunk->touch();
    } catch (const std::bad_alloc&) {  // the thread that needs it reports this
    }
    lock.lock();
    spare_.store(chunk, std::memory_order_release);
  }
}

Trace::Chunk* Trace::chunk_of(std::uint32_t number) const {
  return chunks_[number / Chunk::size].load(std::memory_order_acquire);
}

Trace::Chunk& Trace::make_chunk(std::uint32_t number) {
  Chunk* fresh = spare_.exchange(nullptr, std::memory_order_acq_rel);
  if (!fresh) fresh = Chunk::make();
  fresh->newest_tensor_before = detail::newest_tensor_id();
  Chunk* there = nullptr;
  if (!chunks_[number / Chunk::size].compare_exchange_strong(there, fresh)) {
    Chunk::destroy(fresh);
    return *there;
  }
  {
    const std::lock_guard lock(spare_mutex_);
    wants_spare_ = true;
    if (!preparer_.joinable()) preparer_ = start_background_thread([this] { prepare_chunks(); });
  }
  spare_wanted_.notify_one();
  ++chunk_count_;
  if (passes_limits()) forget_oldest();
  return *fresh;
}

bool Trace::passes_limits() const {
  const std::uint64_t count = chunk_count_.load();
  return count * Chunk::size >= limit_ + 2 * Chunk::size || (count > fewest_chunks && bytes() > most_bytes_);
}

void Trace::set_most_bytes(std::uint64_t bytes) {
  most_bytes_.store(bytes, std::memory_order_relaxed);
  while (passes_limits()) forget_oldest();
}

void Trace::forget_oldest() {
  const std::unique_lock lock(reclaim_);
  if (!passes_limits()) return;  // another thread was faster
  const std::uint32_t first = oldest_.load();
  Chunk* chunk = chunks_[first / Chunk::size].exchange(nullptr);
  const std::uint32_t next = (first / Chunk::size + 1) * Chunk::size;
  oldest_.store(next);
  if (const Chunk* kept = chunks_[next / Chunk::size].load())
    oldest_tensor_.store(kept->newest_tensor_before + 1);
  tensors_.forget(oldest_tensor_.load(), next);
  if (!chunk) return;
  --chunk_count_;
  extra_bytes_.fetch_sub(chunk->extra_bytes.load());
  Chunk::destroy(chunk);
  const std::lock_guard rare(rare_mutex_);
  errors_.erase(errors_.begin(), errors_.lower_bound(next));
  std::erase_if(pending_, [next](const auto& entry) { return entry.first < next; });
}

void Trace::add_extra(Chunk& chunk, std::uint64_t bytes) {
  chunk.extra_bytes.fetch_add(bytes, std::memory_order_relaxed);
  extra_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

std::uint32_t Trace::begin(RecordHead&& head, std::span<const Tensor> inputs, RecordState state) {
  // Not incremented when all are used up, because numbers would eventually wrap around to 0.
  if (full()) return newest_possible + 1;
  const std::uint32_t number = next_.fetch_add(1, std::memory_order_acq_rel);
  if (number > newest_possible) return newest_possible + 1;
  Chunk* there = chunk_of(number);
  Chunk& chunk = there ? *there : make_chunk(number);
  chunk.construct(number);
  Slot& slot = chunk.slot(number);
  slot.head = std::move(head);
  if (const std::uint64_t extra = slot.set_inputs(inputs)) add_extra(chunk, extra);
  chunk.publish(number, state);
  return number;
}

// A long playback may outlive its own record: a dropped slot is ignored, one that may be dropped is locked.
std::shared_lock<std::shared_mutex> Trace::hold_if_old(std::uint32_t number) const {
  return number + (fewest_chunks - 2) * Chunk::size < newest() ? std::shared_lock(reclaim_)
                                                               : std::shared_lock<std::shared_mutex>();
}

void Trace::set_state(std::uint32_t number, RecordState state) {
  if (number > newest_possible) return;
  const auto held = hold_if_old(number);
  if (Chunk* chunk = chunk_of(number)) chunk->publish(number, state);
  if (state == RecordState::pending) return;
  const std::lock_guard lock(rare_mutex_);
  pending_.erase(number);
}

void Trace::set_pending_outputs(std::uint32_t number, std::span<const TensorSpec> specs) {
  if (number > newest_possible) return;
  const std::lock_guard lock(rare_mutex_);
  pending_[number].outputs = TensorSpecs(specs.begin(), specs.end());
}

void Trace::set_pending_wanted(std::uint32_t number, std::span<const bool> wanted) {
  if (number > newest_possible) return;
  const std::lock_guard lock(rare_mutex_);
  pending_[number].wanted.assign(wanted.begin(), wanted.end());
}

void Trace::end(std::uint32_t number, std::span<const Tensor> outputs, const char* error, std::int64_t now,
                std::int64_t waited) {
  if (number > newest_possible) return;
  const auto held = hold_if_old(number);
  Chunk* chunk = chunk_of(number);
  if (!chunk) return;
  Slot& slot = chunk->slot(number);
  slot.duration = now - slot.head.start - waited;
  if (const std::uint64_t extra = slot.set_outputs(outputs)) add_extra(*chunk, extra);
  if (error) {
    const std::lock_guard lock(rare_mutex_);
    errors_[number] = std::string(error).substr(0, longest_error);
    if (errors_.size() > most_errors) errors_.erase(errors_.begin());
  }
  chunk->publish(number, error ? RecordState::failed : RecordState::done);
  ended_.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t newest = finished_.load(std::memory_order_relaxed);
  while (newest < number && !finished_.compare_exchange_weak(newest, number, std::memory_order_acq_rel)) {
  }
}

void Trace::begin_device_work(std::uint32_t number, std::uint8_t gpu) {
  if (number > newest_possible) return;
  const auto held = hold_if_old(number);
  Chunk* chunk = chunk_of(number);
  if (!chunk) return;
  device_pending_.fetch_add(1, std::memory_order_relaxed);
  if (const std::uint64_t extra = chunk->set_device_time(number, {.state = WorkTime::pending, .gpu = gpu}))
    add_extra(*chunk, extra);
}

void Trace::set_device_time(std::uint32_t number, const DeviceTime& time) const {
  device_pending_.fetch_sub(1, std::memory_order_relaxed);
  device_told_.fetch_add(1, std::memory_order_relaxed);
  const std::shared_lock lock(reclaim_);
  if (number < oldest_kept()) return;
  if (Chunk* chunk = chunk_of(number)) chunk->set_device_time(number, time);
}

bool Trace::read(std::uint32_t number, RecordView& view) const {
  if (number == 0 || number > newest()) return false;
  std::shared_lock<std::shared_mutex> lock;
  Chunk* chunk = hold(number, lock);
  if (number < oldest_kept()) return false;
  // Its thread took the number and is still writing the record, for some nanoseconds.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (!chunk || !chunk->state(number)) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::yield();
    chunk = chunk_of(number);
  }
  const Slot& slot = chunk->slot(number);
  view.number = number;
  view.state = *chunk->state(number);
  view.head = slot.head;
  view.start_ns = clock::nanoseconds(slot.head.start);
  view.inputs.assign(slot.input_ids(), slot.input_ids() + slot.inputs);
  view.outputs.clear();
  view.pending_outputs.clear();
  view.pending_wanted.clear();
  view.error.clear();
  view.device = chunk->device_time(number);
  view.call_ns = view.work_start_ns = view.duration_ns = 0;
  if (view.device.state == WorkTime::known) {
    view.work_start_ns = clock::nanoseconds(view.device.start);
    view.duration_ns = clock::nanoseconds(view.device.duration);
  }
  if (view.state == RecordState::done || view.state == RecordState::failed) {
    view.call_ns = clock::nanoseconds(slot.duration);
    if (view.device.state == WorkTime::host) {
      view.work_start_ns = view.start_ns;
      view.duration_ns = view.call_ns;
    }
    view.outputs.assign(slot.output_ids(), slot.output_ids() + slot.outputs);
  }
  if (const std::string* error = chunk->error_of(number)) {
    if (view.state == RecordState::failed) view.error = *error;
    return true;
  }
  const std::lock_guard rare(rare_mutex_);
  if (const auto found = errors_.find(number); view.state == RecordState::failed && found != errors_.end())
    view.error = found->second;
  else if (view.state == RecordState::failed)
    view.error = "(the text of this error was dropped: there were too many)";
  if (const auto found = pending_.find(number);
      view.state == RecordState::pending && found != pending_.end()) {
    view.pending_outputs = found->second.outputs;
    view.pending_wanted = found->second.wanted;
  }
  return true;
}

std::uint32_t Trace::scope_of(std::uint32_t number) const {
  if (number == 0 || number > newest_possible) return 0;
  std::shared_lock<std::shared_mutex> held;
  if (source_)
    hold(number, held);
  else
    held = hold_if_old(number);
  if (number < oldest_kept()) return 0;
  Chunk* chunk = chunk_of(number);
  return chunk && chunk->state(number) ? chunk->slot(number).head.scope : 0;
}

std::uint32_t Trace::glance(std::uint32_t first, std::uint32_t last,
                            const std::function<void(const RecordGlance&)>& visit) const {
  if (!source_) {
    const std::shared_lock lock(reclaim_);
    return glance_held(first, last, visit);
  }
  first = std::max({first, oldest_kept(), 1u});
  last = std::min(last, newest());
  for (std::uint32_t number = first; number <= last;) {
    std::shared_lock<std::shared_mutex> lock;
    hold(number, lock);
    number = glance_held(number, std::min(last, number / Chunk::size * Chunk::size + Chunk::size - 1), visit);
  }
  return std::max(first, last + 1);
}

std::uint32_t Trace::glance_held(std::uint32_t first, std::uint32_t last,
                                 const std::function<void(const RecordGlance&)>& visit) const {
  first = std::max({first, oldest_kept(), 1u});
  last = std::min(last, newest());
  for (std::uint32_t number = first; number <= last; ++number) {
    Chunk* chunk = chunk_of(number);
    const auto state = chunk ? chunk->state(number) : std::nullopt;
    if (!state) return number;
    const Slot& slot = chunk->slot(number);
    const bool ended = *state == RecordState::done || *state == RecordState::failed;
    visit({number,
           slot.head,
           *state,
           ended ? slot.duration : 0,
           chunk->device_time(number),
           {slot.input_ids(), slot.inputs},
           {ended ? slot.output_ids() : nullptr, ended ? slot.outputs : 0}});
  }
  return std::max(first, last + 1);
}

std::uint64_t Trace::bytes() const {
  return chunk_count_.load() * sizeof(Chunk) + extra_bytes_.load() + tensors_.bytes();
}

std::string RecordView::name() const {
  return head.op ? head.op->name : name_of(head.name());
}

namespace {

/// What a record without an op has in one number: most of them are called from few places.
struct NamedCall {
  std::uint32_t name = 0, call = 0;
  bool operator==(const NamedCall&) const = default;
};
struct HashNamedCall {
  std::size_t operator()(const NamedCall& pair) const { return std::size_t{pair.name} << 32 ^ pair.call; }
};
Interner<NamedCall, HashNamedCall>& named_calls() {
  static Interner<NamedCall, HashNamedCall> interner(std::uint64_t{32} << 20);
  return interner;
}
constexpr std::uint32_t has_call = 1u << 31;  // a number of named_calls(), else of a name alone

}  // namespace

void RecordHead::set_label(std::uint32_t name, std::uint32_t call) {
  label = op ? call : name;
  if (op || call == 0) return;
  if (const std::uint32_t pair = named_calls().intern({name, call})) label = pair | has_call;
}

std::uint32_t RecordHead::name() const {
  if (op) return 0;
  return label & has_call ? named_calls().at(label & ~has_call).name : label;
}

std::uint32_t RecordHead::call() const {
  if (op) return label;
  return label & has_call ? named_calls().at(label & ~has_call).call : 0;
}

std::uint32_t intern_name(std::string_view name) {
  return names().intern(std::string(name));
}
std::string name_of(std::uint32_t number) {
  return names().at(number);
}

protocol::RecordKind record_kind(EventKind kind) {
  constexpr protocol::RecordKind kinds[] = {protocol::RecordKind::op, protocol::RecordKind::custom,
                                            protocol::RecordKind::playback, protocol::RecordKind::vjp,
                                            protocol::RecordKind::call};
  return kinds[static_cast<std::size_t>(kind)];
}

}  // namespace tapedeck
