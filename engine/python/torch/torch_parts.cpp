#include "engine/python/torch/torch_parts.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tapedeck::python::torch {
namespace {

constexpr std::size_t most_parts = 1024;  // of one memory

/// Whether it is every byte between its first and its last.
bool is_dense(const MemoryPlace& place) {
  const ByteRange range = byte_range(place);
  return range.high - range.low ==
         element_count(place.shape) * static_cast<std::int64_t>(item_size(place.dtype));
}

bool overlaps(const ByteRange& a, const ByteRange& b) {
  return a.low < b.high && b.low < a.high;
}

}  // namespace

void StorageParts::end_generation(std::vector<MemoryPart> seen) {
  for (const MemoryPart& part : seen) {
    if (!is_dense(part.place)) continue;
    const ByteRange over = byte_range(part.place);
    std::erase_if(parts_, [&](const MemoryPart& older) {
      const ByteRange range = byte_range(older.place);
      return over.low <= range.low && range.high <= over.high;
    });
  }
  std::move(seen.begin(), seen.end(), std::back_inserter(parts_));
  if (parts_.size() <= most_parts) return;
  parts_.erase(parts_.begin(), parts_.end() - static_cast<std::ptrdiff_t>(most_parts));
  cut_ = true;
}

SharedPlace StorageParts::below(const MemoryPlace& place, const std::vector<MemoryPart>& now) const {
  SharedPlace shared{place, {}, cut_};
  const ByteRange range = byte_range(place);
  for (const auto* parts : {&parts_, &now})
    for (const MemoryPart& part : *parts)
      if (overlaps(byte_range(part.place), range)) shared.parts.push_back(part);
  return shared;
}

}  // namespace tapedeck::python::torch
