#include "engine/record/small_values.h"

#include <cstring>

namespace tapedeck {
namespace {

using Words = std::array<std::uint64_t, small_bytes / 8>;

std::size_t word_count(std::size_t bytes) {
  return (bytes + 7) / 8;
}

constexpr std::uint64_t busy = ~std::uint64_t{0};

Words words_of(const Tensor& tensor) {
  Words words{};
  if (tensor.bytes() > 0) std::memcpy(words.data(), tensor.raw(), tensor.bytes());
  return words;
}

Tensor tensor_of(const std::uint64_t* words, const RecordedSpec& spec) {
  Tensor tensor = Tensor::allocate(spec.dtype, spec.shape);
  if (tensor.bytes() > 0) std::memcpy(tensor.storage()->data(), words, tensor.bytes());
  return tensor;
}

}  // namespace

bool is_small(const Tensor& tensor) {
  return tensor.bytes() <= small_bytes && tensor.contiguous() && tensor.device().kind == DeviceKind::cpu;
}

RecentSmallValues::RecentSmallValues(std::size_t count) : entries_(count) {}

void RecentSmallValues::put(const Tensor& tensor) {
  Entry& entry = entries_[tensor.id() % entries_.size()];
  // Two threads may meet here when their ids are `count` apart; whoever comes second lets its value go.
  if (entry.id.exchange(busy, std::memory_order_acquire) == busy) return;
  const Words words = words_of(tensor);
  for (std::size_t i = 0; i < word_count(tensor.bytes()); ++i)
    entry.words[i].store(words[i], std::memory_order_release);
  entry.id.store(tensor.id(), std::memory_order_release);
}

Tensor RecentSmallValues::get(std::uint64_t id, const RecordedSpec& spec) const {
  const Entry& entry = entries_[id % entries_.size()];
  if (entry.id.load(std::memory_order_acquire) != id) return {};
  Words words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = entry.words[i].load(std::memory_order_acquire);
  // Whoever read a word of a later value sees, by that word's order, that the id is no longer this one.
  if (entry.id.load(std::memory_order_relaxed) != id) return {};
  return tensor_of(words.data(), spec);
}

std::optional<std::uint32_t> SmallLeaves::put(const Tensor& tensor) {
  const Words words = words_of(tensor);
  const std::size_t count = word_count(tensor.bytes());
  const std::lock_guard lock(mutex_);
  if (chunks_.empty() || used_ + count > chunk_words) {
    if ((chunks_.size() + 1) * chunk_words > std::size_t{1} << 31) return std::nullopt;
    chunks_.push_back(std::make_unique<Chunk>());
    used_ = 0;
  }
  std::memcpy(chunks_.back()->data() + used_, words.data(), count * 8);
  const std::size_t index = (chunks_.size() - 1) * chunk_words + used_;
  used_ += count;
  return static_cast<std::uint32_t>(index);
}

std::uint64_t SmallLeaves::bytes() const {
  const std::lock_guard lock(mutex_);
  return chunks_.size() * sizeof(Chunk);
}

Tensor SmallLeaves::get(std::uint32_t index, const RecordedSpec& spec) const {
  const std::lock_guard lock(mutex_);
  return tensor_of(chunks_.at(index / chunk_words)->data() + index % chunk_words, spec);
}

}  // namespace tapedeck
