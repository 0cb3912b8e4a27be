#include "engine/debug/profile/pauses.h"

#include <algorithm>

namespace tapedeck::debug {

void Intervals::add(Interval interval) {
  if (!all_.empty()) interval.from = std::max(interval.from, all_.back().to);
  if (interval.from < interval.to) all_.push_back(interval);
}

std::vector<Interval>::const_iterator Intervals::from(std::int64_t time) const {
  return std::partition_point(all_.begin(), all_.end(),
                              [time](const Interval& one) { return one.to <= time; });
}

std::int64_t Intervals::within(std::int64_t first, std::int64_t last) const {
  std::int64_t sum = 0;
  for (auto at = from(first); at != all_.end() && at->from < last; ++at)
    sum += std::min(at->to, last) - std::max(at->from, first);
  return sum;
}

std::int64_t Intervals::end_of(std::int64_t start, std::int64_t duration) const {
  std::int64_t end = start + duration;
  for (auto at = from(start); at != all_.end() && at->from < end; ++at)
    end += at->to - std::max(at->from, start);
  return end;
}

std::int64_t Pauses::reached(std::uint16_t thread, std::int64_t now) const {
  const auto found = waiting.find(thread);
  return found == waiting.end() ? now : std::min(now, found->second);
}

std::int64_t Pauses::gate_within(std::uint16_t thread, std::int64_t from, std::int64_t to) const {
  const std::int64_t reach = std::max(from, reached(thread, to));
  return at_gate(thread).within(from, reach) + std::max<std::int64_t>(0, to - reach);
}

const Intervals& Pauses::at_gate(std::uint16_t thread) const {
  static const Intervals none;
  const auto found = gate.find(thread);
  return found == gate.end() ? none : found->second;
}

}  // namespace tapedeck::debug
