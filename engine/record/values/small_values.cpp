#include "engine/record/values/small_values.h"

#include <algorithm>
#include <cstring>

namespace tapedeck {
namespace {

using Words = std::array<std::uint64_t, small_bytes / 8>;

std::size_t word_count(std::size_t bytes) {
  return (bytes + 7) / 8;
}

constexpr std::uint64_t busy = ~std::uint64_t{0};

Words words_of(const void* bytes, std::size_t size) {
  Words words{};
  if (size > 0) std::memcpy(words.data(), bytes, size);
  return words;
}

Tensor tensor_of(const std::uint64_t* words, const RecordedSpec& spec) {
  Tensor tensor = Tensor::allocate(spec.dtype, spec.shape);
  if (tensor.bytes() > 0) std::memcpy(tensor.storage()->data(), words, tensor.bytes());
  return tensor;
}

}  // namespace

bool is_small(const Tensor& tensor) {
  return tensor.bytes() <= small_bytes && tensor.dtype() != DType::string && tensor.contiguous() &&
         tensor.device().kind == DeviceKind::cpu;
}

RecentSmallValues::RecentSmallValues(std::size_t count) : entries_(count) {}

void RecentSmallValues::put(const Tensor& tensor) {
  put(tensor.id(), tensor.raw(), tensor.bytes());
}

void RecentSmallValues::put(std::uint64_t id, const void* bytes, std::size_t size) {
  Entry& entry = entries_[id % entries_.size()];
  // Two threads may meet here when their ids are `count` apart; the second one drops its value.
  if (entry.id.exchange(busy, std::memory_order_acquire) == busy) return;
  const Words words = words_of(bytes, size);
  for (std::size_t i = 0; i < word_count(size); ++i)
    entry.words[i].store(words[i], std::memory_order_release);
  entry.id.store(id, std::memory_order_release);
}

Tensor RecentSmallValues::get(std::uint64_t id, const RecordedSpec& spec) const {
  const Entry& entry = entries_[id % entries_.size()];
  if (entry.id.load(std::memory_order_acquire) != id) return {};
  Words words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = entry.words[i].load(std::memory_order_acquire);
  // A reader that got a word of a later value sees, by the memory order, that the id has changed.
  if (entry.id.load(std::memory_order_relaxed) != id) return {};
  return tensor_of(words.data(), spec);
}

std::optional<std::uint32_t> SmallLeaves::put(std::uint64_t id, const Tensor& tensor) {
  return put(id, tensor.raw(), tensor.bytes());
}

std::optional<std::uint32_t> SmallLeaves::put(std::uint64_t id, const void* bytes, std::size_t size) {
  const Words words = words_of(bytes, size);
  const std::lock_guard lock(mutex_);
  return add(id, words.data(), word_count(size));
}

std::optional<std::uint32_t> SmallLeaves::add(std::uint64_t id, const std::uint64_t* words,
                                              std::size_t count) {
  if (chunks_.empty() || chunks_.back()->used + count > chunk_words) {
    if (chunks_.size() + 1 >= most_chunks) return std::nullopt;
    if (!chunks_.empty()) full_bytes_ += bytes_of(*chunks_.back());
    chunks_.push_back(std::make_unique<Chunk>());
  }
  Chunk& chunk = *chunks_.back();
  const std::size_t at = chunk.used;
  std::memcpy(chunk.words.data() + at, words, count * 8);
  chunk.used += count;
  chunk.newest_id = std::max(chunk.newest_id, id);
  chunk.kept.push_back({id, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(count)});
  // Numbers of chunks wrap around to 0: so many never exist at once.
  return static_cast<std::uint32_t>((first_ + chunks_.size() - 1) % most_chunks * chunk_words + at);
}

void SmallLeaves::forget(std::uint64_t below) {
  const std::lock_guard lock(mutex_);
  // Values that are still known move to the end, after newer ones: each chunk is scanned once per round.
  for (std::size_t turns = chunks_.size(); turns > 1 && chunks_.front()->newest_id < below; --turns) {
    const std::unique_ptr<Chunk> old = std::move(chunks_.front());
    const auto number = static_cast<std::uint32_t>(first_ % most_chunks);
    full_bytes_ -= bytes_of(*old);
    chunks_.pop_front();
    ++first_;
    for (const Kept& kept : old->kept) {
      const TensorOrigin origin = table_.get(kept.id);
      if (!origin.is_small_leaf() || origin.small_leaf_index() != number * chunk_words + kept.first) continue;
      const auto index = add(kept.id, old->words.data() + kept.first, kept.count);
      if (index) table_.set(kept.id, origin.at_index(*index));
    }
  }
}

std::uint64_t SmallLeaves::bytes() const {
  const std::lock_guard lock(mutex_);
  return full_bytes_ + (chunks_.empty() ? 0 : bytes_of(*chunks_.back()));
}

Tensor SmallLeaves::get(std::uint32_t index, const RecordedSpec& spec) const {
  const std::lock_guard lock(mutex_);
  const std::size_t place = (index / chunk_words + most_chunks - first_ % most_chunks) % most_chunks;
  return place < chunks_.size() ? tensor_of(chunks_[place]->words.data() + index % chunk_words, spec)
                                : Tensor();
}

}  // namespace tapedeck
