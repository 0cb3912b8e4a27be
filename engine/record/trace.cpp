#include "engine/record/trace.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/record/interner.h"

namespace tapedeck {
namespace {

constexpr std::uint32_t chunk_size = 4096;
constexpr std::uint8_t unwritten = 255;
constexpr std::size_t places = 4;

Interner<std::string>& names() {
  static Interner<std::string> interner;
  return interner;
}

/// Ids, in the places of the record where they fit, else in memory of their own at the first of them.
std::uint64_t store_ids(std::uint64_t* at, std::size_t available, std::span<const Tensor> tensors) {
  std::uint64_t* target = at;
  if (tensors.size() > available) {
    target = new std::uint64_t[tensors.size()];
    *at = reinterpret_cast<std::uint64_t>(target);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) target[i] = tensors[i] ? tensors[i].id() : 0;
  return target == at ? 0 : tensors.size() * sizeof(std::uint64_t);
}

const std::uint64_t* ids(const std::uint64_t* at, std::size_t available, std::size_t count) {
  return count <= available ? at : reinterpret_cast<const std::uint64_t*>(*at);
}

}  // namespace

struct Trace::Slot {
  RecordHead head;
  std::int64_t duration_ns = 0;
  std::uint32_t inputs = 0, outputs = 0;
  std::uint64_t tensors[places] = {};
  std::atomic<std::uint8_t> state{unwritten};

  /// One place always stays for the outputs.
  static constexpr std::size_t input_places = places - 1;
  std::size_t used_places() const { return inputs <= input_places ? inputs : 1; }
  const std::uint64_t* input_ids() const { return ids(tensors, input_places, inputs); }
  const std::uint64_t* output_ids() const {
    return ids(tensors + used_places(), places - used_places(), outputs);
  }
  ~Slot() {
    if (inputs > input_places) delete[] input_ids();
    if (outputs > places - used_places()) delete[] output_ids();
  }
};

struct Trace::Chunk {
  Slot slots[chunk_size];
};

Trace::Trace(std::uint64_t limit)
    : limit_(std::max<std::uint64_t>(limit, 2 * chunk_size)),
      chunks_(std::make_unique<std::atomic<Chunk*>[]>(newest_possible / chunk_size + 1)) {}

Trace::~Trace() {
  for (std::uint32_t i = 0; i <= newest() / chunk_size; ++i) delete chunks_[i].load();
}

Trace::Slot* Trace::slot(std::uint32_t number) const {
  Chunk* chunk = chunks_[number / chunk_size].load(std::memory_order_acquire);
  return chunk ? &chunk->slots[number % chunk_size] : nullptr;
}

Trace::Slot& Trace::make_slot(std::uint32_t number) {
  if (Slot* there = slot(number)) return *there;
  auto fresh = std::make_unique<Chunk>();
  Chunk* expected = nullptr;
  if (chunks_[number / chunk_size].compare_exchange_strong(expected, fresh.get())) {
    expected = fresh.release();
    if (++chunk_count_ * chunk_size >= limit_ + 2 * chunk_size) forget_oldest();
  }
  return expected->slots[number % chunk_size];
}

void Trace::forget_oldest() {
  const std::unique_lock lock(reclaim_);
  const std::uint32_t first = oldest_.load();
  Chunk* chunk = chunks_[first / chunk_size].exchange(nullptr);
  const std::uint32_t next = (first / chunk_size + 1) * chunk_size;
  oldest_.store(next);
  if (!chunk) return;
  --chunk_count_;
  delete chunk;
  const std::lock_guard rare(rare_mutex_);
  std::erase_if(errors_, [next](const auto& entry) { return entry.first < next; });
  std::erase_if(pending_, [next](const auto& entry) { return entry.first < next; });
}

std::uint32_t Trace::begin(RecordHead&& head, std::span<const Tensor> inputs, RecordState state) {
  const std::uint32_t number = next_.fetch_add(1, std::memory_order_acq_rel);
  if (number > newest_possible) return newest_possible + 1;
  Slot& slot = make_slot(number);
  slot.head = std::move(head);
  slot.inputs = static_cast<std::uint32_t>(inputs.size());
  if (const std::uint64_t extra = store_ids(slot.tensors, Slot::input_places, inputs))
    extra_bytes_.fetch_add(extra, std::memory_order_relaxed);
  slot.state.store(static_cast<std::uint8_t>(state), std::memory_order_release);
  return number;
}

// A long playback may outlive its own record: a slot that is gone is left alone, one that may go is held.
std::shared_lock<std::shared_mutex> Trace::hold_if_old(std::uint32_t number) const {
  return number + limit_ / 2 < newest() ? std::shared_lock(reclaim_) : std::shared_lock<std::shared_mutex>();
}

void Trace::set_state(std::uint32_t number, RecordState state) {
  const auto held = hold_if_old(number);
  if (Slot* there = slot(number))
    there->state.store(static_cast<std::uint8_t>(state), std::memory_order_release);
  if (state == RecordState::pending) return;
  const std::lock_guard lock(rare_mutex_);
  pending_.erase(number);
}

void Trace::set_pending_outputs(std::uint32_t number, std::span<const TensorSpec> specs) {
  const std::lock_guard lock(rare_mutex_);
  pending_[number] = TensorSpecs(specs.begin(), specs.end());
}

void Trace::end(std::uint32_t number, std::span<const Tensor> outputs, const char* error, std::int64_t now_ns,
                std::int64_t waited_ns) {
  if (number > newest_possible) return;
  const auto held = hold_if_old(number);
  Slot* there = slot(number);
  if (!there) return;
  there->duration_ns = now_ns - there->head.start_ns - waited_ns;
  there->outputs = static_cast<std::uint32_t>(outputs.size());
  const std::size_t used = there->used_places();
  if (const std::uint64_t extra = store_ids(there->tensors + used, places - used, outputs))
    extra_bytes_.fetch_add(extra, std::memory_order_relaxed);
  if (error) {
    const std::lock_guard lock(rare_mutex_);
    errors_[number] = error;
  }
  const auto state = error ? RecordState::failed : RecordState::done;
  there->state.store(static_cast<std::uint8_t>(state), std::memory_order_release);
  std::uint32_t newest = finished_.load(std::memory_order_relaxed);
  while (newest < number && !finished_.compare_exchange_weak(newest, number, std::memory_order_acq_rel)) {
  }
}

EventKind Trace::kind(std::uint32_t number) const {
  const auto held = hold_if_old(number);
  const Slot* there = slot(number);
  return there ? there->head.kind : EventKind::op;
}

bool Trace::read(std::uint32_t number, RecordView& view) const {
  if (number == 0 || number > newest()) return false;
  const std::shared_lock lock(reclaim_);
  if (number < oldest_kept()) return false;
  const Slot* there = slot(number);
  // Its thread took the number and has not written all of it yet: that is a matter of nanoseconds.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (!there || there->state.load(std::memory_order_acquire) == unwritten) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::yield();
    there = slot(number);
  }
  view.number = number;
  view.state = static_cast<RecordState>(there->state.load(std::memory_order_acquire));
  view.head = there->head;
  view.inputs.assign(there->input_ids(), there->input_ids() + there->inputs);
  view.outputs.clear();
  view.pending_outputs.clear();
  view.error.clear();
  view.duration_ns = 0;
  if (view.state == RecordState::done || view.state == RecordState::failed) {
    view.duration_ns = there->duration_ns;
    view.outputs.assign(there->output_ids(), there->output_ids() + there->outputs);
  }
  const std::lock_guard rare(rare_mutex_);
  if (const auto found = errors_.find(number); view.state == RecordState::failed && found != errors_.end())
    view.error = found->second;
  if (const auto found = pending_.find(number); view.state == RecordState::pending && found != pending_.end())
    view.pending_outputs = found->second;
  return true;
}

std::uint64_t Trace::bytes() const {
  return chunk_count_.load() * sizeof(Chunk) + extra_bytes_.load() + tensors_.bytes();
}

std::string RecordView::name() const {
  return head.op ? head.op->name : name_of(head.name);
}

std::uint32_t intern_name(std::string_view name) {
  return names().intern(std::string(name));
}
std::string name_of(std::uint32_t number) {
  return names().at(number);
}

}  // namespace tapedeck
