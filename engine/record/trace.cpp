#include "engine/record/trace.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <thread>

#include "engine/record/background_thread.h"
#include "engine/record/clock.h"
#include "engine/record/interner.h"
#include "engine/record/trace_source.h"

namespace tapedeck {
namespace {

constexpr std::uint32_t chunk_size = Trace::page_size;
constexpr std::size_t places = 4;
constexpr std::size_t most_errors = 10000;      // whose texts are kept
constexpr std::size_t longest_error = 1 << 12;  // bytes

Interner<std::string>& names() {
  static Interner<std::string> interner(std::uint64_t{32} << 20, "(names full)");
  return interner;
}

// Of a trace that is read from a file: with a million records all are there, about 200 MB.
constexpr std::size_t most_loaded = 96;

std::uint64_t id_of(const Tensor& tensor) {
  return tensor ? tensor.id() : 0;
}
std::uint64_t id_of(std::uint64_t id) {
  return id;
}

/// Ids, in the places of the record where they fit, else in memory of their own at the first of them.
template <class T>
std::uint64_t store_ids(std::uint64_t* at, std::size_t available, std::span<const T> tensors) {
  std::uint64_t* target = at;
  if (tensors.size() > available) {
    target = new std::uint64_t[tensors.size()];
    *at = reinterpret_cast<std::uint64_t>(target);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) target[i] = id_of(tensors[i]);
  return target == at ? 0 : tensors.size() * sizeof(std::uint64_t);
}

const std::uint64_t* ids(const std::uint64_t* at, std::size_t available, std::size_t count) {
  return count <= available ? at : reinterpret_cast<const std::uint64_t*>(*at);
}

}  // namespace

struct Trace::Slot {
  RecordHead head;
  std::int64_t duration = 0;  // ticks
  std::uint32_t inputs = 0, outputs = 0;
  std::uint64_t tensors[places] = {};

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

/// Two megabytes of zeros from the system, one huge page where it has them: a fault for every 4 kB would cost
/// as much as writing the records. A slot is constructed when its record begins.
class Trace::Chunk {
 public:
  static Chunk* make();
  /// Makes the system provide the memory now.
  void touch() {
    for (std::size_t i = 0; i < sizeof(slots_); i += 4096)
      const_cast<volatile std::byte&>(slots_[i]) = std::byte{0};
  }
  static void destroy(Chunk* chunk);

  /// Tensors that were there before any of its records have ids up to this.
  std::uint64_t newest_tensor_before = 0;
  /// Of ids that have memory of their own.
  std::atomic<std::uint64_t> extra_bytes{0};
  /// Of a chunk that was read from a file: its errors by record; with 0 what is wrong with the whole page.
  /// nullptr where there are none.
  std::map<std::uint32_t, std::string>* errors = nullptr;
  const std::string* error_of(std::uint32_t number) const {
    if (!errors) return nullptr;
    auto found = errors->find(number);
    if (found == errors->end()) found = errors->find(0);
    return found == errors->end() ? nullptr : &found->second;
  }

  Slot& slot(std::uint32_t number) {
    return *std::launder(reinterpret_cast<Slot*>(slots_ + sizeof(Slot) * (number % chunk_size)));
  }
  void construct(std::uint32_t number) { new (slots_ + sizeof(Slot) * (number % chunk_size)) Slot; }
  void publish(std::uint32_t number, RecordState state) {
    states_[number % chunk_size].store(static_cast<std::uint8_t>(state) + 1, std::memory_order_release);
  }
  /// Nothing where the record is not written yet.
  std::optional<RecordState> state(std::uint32_t number) const {
    const std::uint8_t stored = states_[number % chunk_size].load(std::memory_order_acquire);
    return stored == 0 ? std::nullopt : std::optional(static_cast<RecordState>(stored - 1));
  }

 private:
  std::atomic<std::uint8_t> states_[chunk_size];  ///< 0: not written; else the state, plus 1
  alignas(Slot) std::byte slots_[sizeof(Slot) * chunk_size];
};

constexpr std::size_t huge_page = std::size_t{2} << 20;

Trace::Chunk* Trace::Chunk::make() {
  static_assert(sizeof(Chunk) <= huge_page && sizeof(Chunk) > huge_page / 8 * 7);
  void* mapped = ::mmap(nullptr, 2 * huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const bytes = static_cast<std::byte*>(mapped);
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(mapped) % huge_page) % huge_page;
  if (before > 0) ::munmap(bytes, before);
  ::munmap(bytes + before + huge_page, huge_page - before);
  ::madvise(bytes + before, huge_page, MADV_HUGEPAGE);
  return reinterpret_cast<Chunk*>(bytes + before);
}

void Trace::Chunk::destroy(Chunk* chunk) {
  if (!chunk) return;
  for (std::uint32_t i = 0; i < chunk_size; ++i)
    if (chunk->state(i)) chunk->slot(i).~Slot();
  delete chunk->errors;
  ::munmap(chunk, huge_page);
}

Trace::Trace(std::uint64_t limit, std::uint64_t most_bytes, std::uint32_t first)
    : limit_(std::max<std::uint64_t>(limit, chunk_size)),
      most_bytes_(most_bytes),
      chunks_(std::make_unique<std::atomic<Chunk*>[]>(newest_possible / chunk_size + 1)),
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
  for (std::uint32_t i = oldest_ / chunk_size; i <= newest() / chunk_size; ++i)
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
    } catch (const std::bad_alloc&) {  // then whoever needs it says so
    }
    lock.lock();
    spare_.store(chunk, std::memory_order_release);
  }
}

Trace::Chunk* Trace::chunk_of(std::uint32_t number) const {
  return chunks_[number / chunk_size].load(std::memory_order_acquire);
}

Trace::Chunk& Trace::make_chunk(std::uint32_t number) {
  Chunk* fresh = spare_.exchange(nullptr, std::memory_order_acq_rel);
  if (!fresh) fresh = Chunk::make();
  fresh->newest_tensor_before = detail::newest_tensor_id();
  Chunk* there = nullptr;
  if (!chunks_[number / chunk_size].compare_exchange_strong(there, fresh)) {
    Chunk::destroy(fresh);
    return *there;
  }
  {
    const std::lock_guard lock(spare_mutex_);
    wants_spare_ = true;
    if (!preparer_.joinable()) preparer_ = start_background_thread([this] { prepare_chunks(); });
  }
  spare_wanted_.notify_one();
  const std::uint64_t count = ++chunk_count_;
  if (count * chunk_size >= limit_ + 2 * chunk_size || (count > 3 && bytes() > most_bytes_)) forget_oldest();
  return *fresh;
}

void Trace::forget_oldest() {
  const std::unique_lock lock(reclaim_);
  const std::uint32_t first = oldest_.load();
  Chunk* chunk = chunks_[first / chunk_size].exchange(nullptr);
  const std::uint32_t next = (first / chunk_size + 1) * chunk_size;
  oldest_.store(next);
  if (const Chunk* kept = chunks_[next / chunk_size].load())
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
  // Not counted on where all are used up, or numbers would begin at 0 again some day.
  if (full()) return newest_possible + 1;
  const std::uint32_t number = next_.fetch_add(1, std::memory_order_acq_rel);
  if (number > newest_possible) return newest_possible + 1;
  Chunk* there = chunk_of(number);
  Chunk& chunk = there ? *there : make_chunk(number);
  chunk.construct(number);
  Slot& slot = chunk.slot(number);
  slot.head = std::move(head);
  slot.inputs = static_cast<std::uint32_t>(inputs.size());
  if (const std::uint64_t extra = store_ids(slot.tensors, Slot::input_places, inputs))
    add_extra(chunk, extra);
  chunk.publish(number, state);
  return number;
}

// A long playback may outlive its own record: a slot that is gone is left alone, one that may go is held.
std::shared_lock<std::shared_mutex> Trace::hold_if_old(std::uint32_t number) const {
  return number + limit_ / 2 < newest() ? std::shared_lock(reclaim_) : std::shared_lock<std::shared_mutex>();
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
  slot.outputs = static_cast<std::uint32_t>(outputs.size());
  const std::size_t used = slot.used_places();
  if (const std::uint64_t extra = store_ids(slot.tensors + used, places - used, outputs))
    add_extra(*chunk, extra);
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

void Trace::read_from(TraceSource& source, const TraceExtent& extent) {
  source_ = &source;
  tensors_.read_from(&source);
  oldest_ = extent.oldest;
  next_ = extent.newest + 1;
  finished_ = extent.finished;
  ended_ = extent.ended;
  oldest_tensor_ = extent.oldest_tensor;
}

/// The chunk of a record, which stays as long as `lock` holds it; that of a file is read where it is not
/// there yet. The caller holds no lock of the trace, unless it can do without the chunk of another page.
Trace::Chunk* Trace::hold(std::uint32_t number, std::shared_lock<std::shared_mutex>& lock) const {
  while (true) {
    lock = std::shared_lock(reclaim_);
    Chunk* chunk = number < oldest_kept() ? nullptr : chunk_of(number);
    if (chunk || !source_ || number < oldest_kept() || number > newest()) return chunk;
    lock.unlock();
    load(number / chunk_size);
  }
}

void Trace::load(std::uint32_t index) const {
  const std::lock_guard loading(loading_);
  if (chunks_[index].load(std::memory_order_acquire)) return;
  std::unique_ptr<Chunk, void (*)(Chunk*)> fresh(Chunk::make(), &Chunk::destroy);
  const std::uint32_t first = std::max(oldest_kept(), index * chunk_size);
  const std::uint32_t last = std::min(newest(), index * chunk_size + chunk_size - 1);
  const auto put = [&](StoredRecord&& record) {
    fresh->construct(record.number);
    Slot& slot = fresh->slot(record.number);
    slot.head = std::move(record.head);
    slot.duration = record.duration;
    slot.inputs = static_cast<std::uint32_t>(record.inputs.size());
    fresh->publish(record.number, record.state);  // from here on destroy() lets its ids go
    const auto store = [&](std::size_t used, std::size_t available, const TensorIds& ids) {
      fresh->extra_bytes += store_ids(slot.tensors + used, available, std::span(ids.data(), ids.size()));
    };
    store(0, Slot::input_places, record.inputs);
    slot.outputs = static_cast<std::uint32_t>(record.outputs.size());
    store(slot.used_places(), places - slot.used_places(), record.outputs);
    if (record.error.empty()) return;
    if (!fresh->errors) fresh->errors = new std::map<std::uint32_t, std::string>;
    fresh->errors->emplace(record.number, std::move(record.error));
  };
  std::string problem;
  if (!source_->records(first, last, put, problem)) {
    static const std::uint32_t damaged = intern_name("damaged");
    for (std::uint32_t number = first; number <= last; ++number) {
      StoredRecord record;
      record.number = number;
      record.state = RecordState::failed;
      record.head.kind = EventKind::custom;
      record.head.name = damaged;
      put(std::move(record));
    }
    fresh->errors = new std::map<std::uint32_t, std::string>{{0, problem}};
  }
  ++chunk_count_;
  extra_bytes_.fetch_add(fresh->extra_bytes.load());
  chunks_[index].store(fresh.release(), std::memory_order_release);
  loaded_.push_back(index);
  let_go_loaded();
}

// Where somebody is reading just now it waits for the next time: that one may be this very thread.
void Trace::let_go_loaded() const {
  if (loaded_.size() <= most_loaded) return;
  const std::unique_lock lock(reclaim_, std::try_to_lock);
  if (!lock) return;
  for (; loaded_.size() > most_loaded; loaded_.pop_front()) {
    Chunk* chunk = chunks_[loaded_.front()].exchange(nullptr);
    --chunk_count_;
    extra_bytes_.fetch_sub(chunk->extra_bytes.load());
    Chunk::destroy(chunk);
  }
}

bool Trace::read(std::uint32_t number, RecordView& view) const {
  if (number == 0 || number > newest()) return false;
  std::shared_lock<std::shared_mutex> lock;
  Chunk* chunk = hold(number, lock);
  if (number < oldest_kept()) return false;
  // Its thread took the number and has not written all of it yet: that is a matter of nanoseconds.
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
  view.duration_ns = 0;
  if (view.state == RecordState::done || view.state == RecordState::failed) {
    view.duration_ns = clock::nanoseconds(slot.duration);
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
    view.error = "(the text of this error had to go: there were too many)";
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
    number = glance_held(number, std::min(last, number / chunk_size * chunk_size + chunk_size - 1), visit);
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
           {slot.input_ids(), slot.inputs},
           {ended ? slot.output_ids() : nullptr, ended ? slot.outputs : 0}});
  }
  return std::max(first, last + 1);
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

protocol::RecordKind record_kind(EventKind kind) {
  constexpr protocol::RecordKind kinds[] = {protocol::RecordKind::op, protocol::RecordKind::custom,
                                            protocol::RecordKind::playback, protocol::RecordKind::vjp};
  return kinds[static_cast<std::size_t>(kind)];
}

}  // namespace tapedeck
