#include "engine/record/versions.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tapedeck {

void Versions::add(const Version& version, KeptValue value, std::int64_t now_ns, bool stays,
                   Released& released) {
  if (generations_.empty()) {
    generations_[1].began_ns = now_ns;
  } else if (const auto& [number, current] = *generations_.rbegin();
             now_ns - current.began_ns >=
             std::max(interval_ns_, static_cast<std::int64_t>(current.bytes) * ns_per_byte_)) {
    generations_[number + 1].began_ns = now_ns;
  }
  auto& [number, current] = *generations_.rbegin();
  Owner& owner = owners_[version.variable];
  let_go(owner.newest, released);
  Entry entry{std::move(value), version.made_of, version.variable, 0};
  const std::uint64_t size = entry.value.bytes();
  if (stays || owner.generation < number) {
    entry.generation = owner.generation = number;
    current.bytes += size;
    current.ids.push_back(version.id);
  }
  owner.newest = version.id;
  bytes_ += size;
  made_of_.insert_or_assign(version.made_of, version.id);
  entries_.insert_or_assign(version.id, std::move(entry));
}

Versions::Entries::iterator Versions::release(Entries::iterator entry, Released& released) {
  bytes_ -= entry->second.value.bytes();
  const auto known = made_of_.find(entry->second.made_of);
  if (known != made_of_.end() && known->second == entry->first) made_of_.erase(known);
  const auto owner = owners_.find(entry->second.variable);
  if (owner != owners_.end() && owner->second.newest == entry->first) owner->second.newest = 0;
  released.push_back(std::move(entry->second.value));
  return entries_.erase(entry);
}

Tensor Versions::held(std::uint64_t id) const {
  const auto made = made_of_.find(id);
  const auto found = entries_.find(made == made_of_.end() ? id : made->second);
  return found == entries_.end() ? Tensor() : found->second.value.tensor(id);
}

void Versions::let_go(std::uint64_t id, Released& released) {
  const auto found = entries_.find(id);
  if (found != entries_.end() && found->second.generation == 0) release(found, released);
}

void Versions::variable_gone(std::uint64_t variable, Released& released) {
  const auto owner = owners_.find(variable);
  if (owner == owners_.end()) return;
  let_go(owner->second.newest, released);
  owners_.erase(variable);
}

bool Versions::thin(Released& released) {
  if (generations_.size() < 3) return false;
  const std::int64_t newest_ns = generations_.rbegin()->second.began_ns;
  // How long the way would be that its going leaves, for its age.
  auto missed_least = generations_.end();
  double least = std::numeric_limits<double>::infinity();
  for (auto one = std::next(generations_.begin()); std::next(one) != generations_.end(); ++one) {
    const auto gap = static_cast<double>(std::next(one)->second.began_ns - std::prev(one)->second.began_ns);
    const double missed = gap / static_cast<double>(newest_ns - one->second.began_ns + 1);
    if (missed >= least) continue;
    least = missed;
    missed_least = one;
  }
  for (const std::uint64_t id : missed_least->second.ids) {
    const auto entry = entries_.find(id);
    if (entry == entries_.end()) continue;
    entry->second.generation = 0;
    const auto owner = owners_.find(entry->second.variable);
    if (owner == owners_.end() || owner->second.newest != id) release(entry, released);
  }
  generations_.erase(missed_least);
  return true;
}

void Versions::forget(std::uint64_t below, const TensorTable& table, Released& released) {
  for (auto entry = entries_.begin(); entry != entries_.end() && entry->first < below;)
    entry = table.get(entry->first).known() ? std::next(entry) : release(entry, released);
  const auto is_empty = [&](const Generation& generation) {
    return std::ranges::none_of(generation.ids, [&](std::uint64_t id) { return entries_.contains(id); });
  };
  while (generations_.size() > 1 && is_empty(generations_.begin()->second))
    generations_.erase(generations_.begin());
}

void Versions::clear(Released& released) {
  for (auto& [unused, entry] : entries_) released.push_back(std::move(entry.value));
  entries_.clear();
  made_of_.clear();
  owners_.clear();
  generations_.clear();
  bytes_ = 0;
}

std::vector<std::uint64_t> Versions::ids() const {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, unused] : entries_) ids.push_back(id);
  return ids;
}

}  // namespace tapedeck
