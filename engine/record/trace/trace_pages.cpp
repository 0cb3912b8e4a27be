// A trace that is read from a file, page by page.
#include <algorithm>
#include <memory>
#include <utility>

#include "engine/record/trace/trace_chunk.h"
#include "engine/record/trace/trace_source.h"

namespace tapedeck {
namespace {

/// Chunks: with a million records all are there, about 200 MB.
constexpr std::size_t most_loaded = 96;

}  // namespace

void Trace::read_from(TraceSource& source, const TraceExtent& extent) {
  source_ = &source;
  tensors_.read_from(&source);
  oldest_ = extent.oldest;
  next_ = extent.newest + 1;
  finished_ = extent.finished;
  ended_ = extent.ended;
  oldest_tensor_ = extent.oldest_tensor;
}

/// The chunk of a record, which `lock` keeps alive; reads it from the file if necessary. The caller holds no
/// lock of the trace, unless it does not need chunks of other pages.
Trace::Chunk* Trace::hold(std::uint32_t number, std::shared_lock<std::shared_mutex>& lock) const {
  while (true) {
    lock = std::shared_lock(reclaim_);
    Chunk* chunk = number < oldest_kept() ? nullptr : chunk_of(number);
    if (chunk || !source_ || number < oldest_kept() || number > newest()) return chunk;
    lock.unlock();
    load(number / Chunk::size);
  }
}

void Trace::load(std::uint32_t index) const {
  const std::lock_guard loading(loading_);
  if (chunks_[index].load(std::memory_order_acquire)) return;
  std::unique_ptr<Chunk, void (*)(Chunk*)> fresh(Chunk::make(), &Chunk::destroy);
  const std::uint32_t first = std::max(oldest_kept(), index * Chunk::size);
  const std::uint32_t last = std::min(newest(), index * Chunk::size + Chunk::size - 1);
  const auto put = [&](StoredRecord&& record) {
    fresh->construct(record.number);
    Slot& slot = fresh->slot(record.number);
    slot.head = std::move(record.head);
    slot.duration = record.duration;
    if (record.device.state != WorkTime::host)
      fresh->extra_bytes += fresh->set_device_time(record.number, record.device);
    fresh->publish(record.number, record.state);  // from here on destroy() frees its ids
    const auto all = [](const TensorIds& ids) { return std::span(ids.data(), ids.size()); };
    fresh->extra_bytes += slot.set_inputs(all(record.inputs));
    fresh->extra_bytes += slot.set_outputs(all(record.outputs));
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
      record.head.label = damaged;
      put(std::move(record));
    }
    fresh->errors = new std::map<std::uint32_t, std::string>{{0, problem}};
  }
  ++chunk_count_;
  extra_bytes_.fetch_add(fresh->extra_bytes.load());
  chunks_[index].store(fresh.release(), std::memory_order_release);
  loaded_.push_back(index);
  drop_loaded();
}

// If a reader is active, leaves it for the next call: the reader may be this very thread.
void Trace::drop_loaded() const {
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

}  // namespace tapedeck
