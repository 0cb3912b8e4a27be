#include "inspector/model/session/record_cache.h"

#include <algorithm>

namespace tapedeck::inspector {

using protocol::Record;
using protocol::RecordState;

namespace {

/// A request for a few records too many is cheaper than one more request.
constexpr std::uint64_t joined_gap = 16;

template <class Function>
void for_each_tensor(const Record& record, Function function) {
  for (const auto& input : record.inputs)
    if (input.id) function(input);
  for (const auto& output : record.outputs)
    if (output.id) function(output);
}

}  // namespace

void RecordCache::clear() {
  pages_.clear();
  tensors_.clear();
  open_.clear();
  size_ = 0;
}

void RecordCache::set_limit(std::size_t records) {
  limit_ = records;
  evict();
}

void RecordCache::mention(const Record& record) {
  for_each_tensor(record, [&](const protocol::TensorInfo& tensor) {
    Mention& known = tensors_[tensor.id];
    if (known.count++ == 0) {
      known.info = tensor;
      return;
    }
    if (known.info.name.empty()) known.info.name = tensor.name;
    if (known.info.preview.empty()) known.info.preview = tensor.preview;
    if (!known.info.producer) known.info.producer = tensor.producer;
  });
}

void RecordCache::forget(const Record& record) {
  for_each_tensor(record, [&](const protocol::TensorInfo& tensor) {
    const auto known = tensors_.find(tensor.id);
    if (known != tensors_.end() && --known->second.count == 0) tensors_.erase(known);
  });
  open_.erase(record.number);
}

void RecordCache::insert(std::vector<Record> records) {
  for (Record& record : records) {
    if (record.number == 0) continue;
    Page& page = pages_[page_of(record.number)];
    page.used = ++clock_;
    auto& slot = page.entries[(record.number - 1) % page_size];
    if (slot) {
      forget(*slot);
    } else {
      ++page.filled;
      ++size_;
    }
    slot = std::move(record);
    mention(*slot);
    if (slot->state == RecordState::pending || slot->state == RecordState::running ||
        slot->work == protocol::WorkTime::pending)
      open_.insert(slot->number);
  }
  evict();
}

const Record* RecordCache::find(std::uint64_t number) const {
  if (number == 0) return nullptr;
  const auto page = pages_.find(page_of(number));
  if (page == pages_.end()) return nullptr;
  const auto& slot = page->second.entries[(number - 1) % page_size];
  return slot ? &*slot : nullptr;
}

const Record* RecordCache::touch(std::uint64_t number) {
  if (number == 0) return nullptr;
  const auto page = pages_.find(page_of(number));
  if (page == pages_.end()) return nullptr;
  page->second.used = ++clock_;
  return find(number);
}

const protocol::TensorInfo* RecordCache::tensor(std::uint64_t id) const {
  const auto known = tensors_.find(id);
  return known == tensors_.end() ? nullptr : &known->second.info;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> RecordCache::missing(
    std::uint64_t page, std::uint64_t newest, const std::set<std::uint64_t>& stale) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;
  const std::uint64_t last = std::min(newest, (page + 1) * page_size);
  for (std::uint64_t number = page * page_size + 1; number <= last; ++number) {
    if (find(number) && !stale.contains(number)) continue;
    if (!runs.empty() && number - runs.back().second <= joined_gap) {
      runs.back().second = number;
    } else {
      runs.emplace_back(number, number);
    }
  }
  return runs;
}

void RecordCache::evict() {
  while (size_ > limit_ && pages_.size() > 1) {
    const auto oldest = std::min_element(pages_.begin(), pages_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    });
    for (const auto& slot : oldest->second.entries)
      if (slot) forget(*slot);
    size_ -= oldest->second.filled;
    pages_.erase(oldest);
  }
}

}  // namespace tapedeck::inspector
