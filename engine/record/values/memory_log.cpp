#include "engine/record/values/memory_log.h"

#include <algorithm>

namespace tapedeck {

void MemoryLog::add(const MemoryEvent& event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(event);
}

std::uint64_t MemoryLog::first() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

std::vector<MemoryEvent> MemoryLog::read(std::uint64_t& position, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  std::vector<MemoryEvent> found;
  if (position == 0) found = old_;
  position = std::max(position, first_);
  const auto begin = static_cast<std::size_t>(position - first_);
  const std::size_t end = std::min(events_.size(), begin + limit);
  if (begin < end)
    found.insert(found.end(), events_.begin() + static_cast<std::ptrdiff_t>(begin),
                 events_.begin() + static_cast<std::ptrdiff_t>(end));
  position += end - std::min(begin, end);
  return found;
}

void MemoryLog::forget(std::uint32_t oldest_record, const TensorTable& table) {
  const auto useful = [&](const MemoryEvent& event) {
    const bool of_tensor = event.kind == MemoryEventKind::arrived || event.kind == MemoryEventKind::assigned;
    return of_tensor && table.get(event.subject).known();
  };
  const std::lock_guard lock(mutex_);
  std::erase_if(old_, [&](const MemoryEvent& event) { return !useful(event); });
  for (; !events_.empty() && events_.front().after + 1 < oldest_record; events_.pop_front(), ++first_)
    if (useful(events_.front())) old_.push_back(events_.front());
  std::erase_if(sizes_, [&](const auto& entry) { return !table.get(entry.first).known(); });
  size_count_ = sizes_.size();
}

void MemoryLog::set_size(std::uint64_t root, std::uint64_t bytes, bool borrowed) {
  const std::lock_guard lock(mutex_);
  sizes_.insert_or_assign(root, Size{bytes, borrowed});
  size_count_ = sizes_.size();
}

std::vector<std::pair<std::uint64_t, MemoryLog::Size>> MemoryLog::sizes() const {
  const std::lock_guard lock(mutex_);
  return {sizes_.begin(), sizes_.end()};
}

MemoryLog::Size MemoryLog::size(std::uint64_t root, std::uint64_t tensor_bytes) const {
  if (size_count_.load(std::memory_order_relaxed) == 0) return {tensor_bytes, false};
  const std::lock_guard lock(mutex_);
  const auto found = sizes_.find(root);
  return found == sizes_.end() ? Size{tensor_bytes, false} : found->second;
}

void MemoryLog::add_sample(const RecorderSample& sample) {
  const std::lock_guard lock(mutex_);
  if (!samples_.empty() && samples_.back().record >= sample.record) return;
  samples_.push_back(sample);
  if (samples_.size() >= most_samples) {
    for (std::size_t i = 0; i < samples_.size() / 2; ++i) samples_[i] = samples_[2 * i + 1];
    samples_.resize(samples_.size() / 2);
    spacing_ *= 2;
  }
  next_sample_.store(sample.record + spacing_, std::memory_order_relaxed);
}

std::vector<RecorderSample> MemoryLog::samples() const {
  const std::lock_guard lock(mutex_);
  return samples_;
}

std::uint64_t MemoryLog::bytes() const {
  constexpr std::uint64_t bytes_of_size = 56;
  const std::lock_guard lock(mutex_);
  return (events_.size() + old_.capacity()) * sizeof(MemoryEvent) + sizes_.size() * bytes_of_size +
         samples_.capacity() * sizeof(RecorderSample);
}

}  // namespace tapedeck
