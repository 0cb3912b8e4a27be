#include "engine/debug/profile/sums.h"

namespace tapedeck::debug {

void ClassSums::add(const ClassSums& other) {
  calls += other.calls;
  total += other.total;
  self += other.self;
  flops += other.flops;
  bytes += other.bytes;
  pending += other.pending;
  lost += other.lost;
  if (other.max > max || slowest == 0) {
    max = other.max;
    slowest = other.slowest;
  }
}

void DeviceSums::add(const DeviceSums& other) {
  for (std::size_t i = 0; i < by_role.size(); ++i) by_role[i] += other.by_role[i];
  calls += other.calls;
  pending += other.pending;
  lost += other.lost;
}

void GapSums::add(const GapSums& other) {
  count += other.count;
  total += other.total;
  if (other.max <= max && record != 0) return;
  max = other.max;
  record = other.record;
}

void ThreadSums::add(const ThreadSums& other) {
  for (std::size_t i = 0; i < by_role.size(); ++i) by_role[i] += other.by_role[i];
  gaps += other.gaps;
  calls += other.calls;
}

ClassSums& Sums::of(std::uint32_t kind) {
  const auto [found, is_new] = places_.try_emplace(kind, static_cast<std::uint32_t>(kinds.size()));
  if (is_new) {
    kinds.push_back(kind);
    sums.emplace_back();
  }
  return sums[found->second];
}

const ClassSums* Sums::find(std::uint32_t kind) const {
  const auto found = places_.find(kind);
  return found == places_.end() ? nullptr : &sums[found->second];
}

void Sums::add(const Sums& other) {
  for (std::size_t i = 0; i < other.kinds.size(); ++i) of(other.kinds[i]).add(other.sums[i]);
  for (const auto& [key, sums_of_gap] : other.gaps) gaps[key].add(sums_of_gap);
  for (const auto& [thread, sums_of_thread] : other.threads) threads[thread].add(sums_of_thread);
  for (const auto& [gpu, sums_of_device] : other.devices) devices[gpu].add(sums_of_device);
}

}  // namespace tapedeck::debug
