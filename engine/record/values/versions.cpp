#include "engine/record/values/versions.h"

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
             std::max(pace_.interval_ns, static_cast<std::int64_t>(current.bytes) * pace_.ns_per_byte)) {
    generations_[number + 1].began_ns = now_ns;
    // A dropped one leaves its memory to the new one. Only occasionally does one take new memory.
    const std::int64_t recorded_ns = now_ns - generations_.begin()->second.began_ns;
    const std::int64_t paid = static_cast<std::int64_t>(bytes_) - pace_.free_bytes;
    if (paid * pace_.fresh_ns_per_byte > recorded_ns) thin(released);
  }
  auto& [number, current] = *generations_.rbegin();
  Owner& owner = owners_[version.variable];
  release_newest(owner, released);
  const std::uint64_t size = value.bytes();
  bytes_ += size;
  if (stays || owner.generation < number) {
    owner.generation = number;
    current.bytes += size;
    current.ids.push_back(version.id);
    made_of_.insert_or_assign(version.made_of, version.id);
    staying_.insert_or_assign(version.id, Entry{std::move(value), version.made_of, version.variable});
  } else {
    owner.newest = {std::move(value), version.made_of, version.variable};
  }
  owner.newest_id = version.id;
}

void Versions::release_newest(Owner& owner, Released& released) {
  newest_by_id_.clear();
  owner.newest_id = 0;
  if (!owner.newest.value) return;
  bytes_ -= owner.newest.value.bytes();
  released.push_back(std::exchange(owner.newest.value, {}));
}

Versions::Entries::iterator Versions::release(Entries::iterator entry, Released& released) {
  const auto known = made_of_.find(entry->second.made_of);
  if (known != made_of_.end() && known->second == entry->first) made_of_.erase(known);
  const auto owner = owners_.find(entry->second.variable);
  if (owner != owners_.end() && owner->second.newest_id == entry->first) {
    owner->second.newest = std::move(entry->second);
    newest_by_id_.clear();
  } else {
    bytes_ -= entry->second.value.bytes();
    released.push_back(std::move(entry->second.value));
  }
  return staying_.erase(entry);
}

Tensor Versions::held(std::uint64_t id) const {
  const auto made = made_of_.find(id);
  const auto found = staying_.find(made == made_of_.end() ? id : made->second);
  if (found != staying_.end()) return found->second.value.tensor(id);
  if (newest_by_id_.empty())
    for (const auto& [variable, owner] : owners_)
      if (owner.newest.value)
        newest_by_id_[owner.newest_id] = newest_by_id_[owner.newest.made_of] = &owner.newest;
  const auto newest = newest_by_id_.find(id);
  return newest == newest_by_id_.end() ? Tensor() : newest->second->value.tensor(id);
}

void Versions::release_newest(std::uint64_t variable, Released& released) {
  if (const auto owner = owners_.find(variable); owner != owners_.end())
    release_newest(owner->second, released);
}

void Versions::variable_gone(std::uint64_t variable, Released& released) {
  const auto owner = owners_.find(variable);
  if (owner == owners_.end()) return;
  release_newest(owner->second, released);
  owners_.erase(owner);
}

bool Versions::thin(Released& released) {
  if (generations_.size() < 3) return false;
  const std::int64_t newest_ns = generations_.rbegin()->second.began_ns;
  // The recomputation distance that dropping it would leave, relative to its age.
  auto missed_least = generations_.end();
  double least = std::numeric_limits<double>::infinity();
  for (auto one = std::next(generations_.begin()); std::next(one) != generations_.end(); ++one) {
    const auto gap = static_cast<double>(std::next(one)->second.began_ns - std::prev(one)->second.began_ns);
    const double missed = gap / static_cast<double>(newest_ns - one->second.began_ns + 1);
    if (missed >= least) continue;
    least = missed;
    missed_least = one;
  }
  for (const std::uint64_t id : missed_least->second.ids)
    if (const auto entry = staying_.find(id); entry != staying_.end()) release(entry, released);
  generations_.erase(missed_least);
  ++thinned_;
  return true;
}

void Versions::forget(std::uint64_t below, const TensorTable& table, Released& released) {
  for (auto entry = staying_.begin(); entry != staying_.end() && entry->first < below;)
    entry = table.get(entry->first).known() ? std::next(entry) : release(entry, released);
  for (auto& [variable, owner] : owners_)
    if (owner.newest.value && owner.newest_id < below && !table.get(owner.newest_id).known())
      release_newest(owner, released);
  const auto is_empty = [&](const Generation& generation) {
    return std::ranges::none_of(generation.ids, [&](std::uint64_t id) { return staying_.contains(id); });
  };
  while (generations_.size() > 1 && is_empty(generations_.begin()->second))
    generations_.erase(generations_.begin());
}

void Versions::clear(Released& released) {
  for (auto& [variable, owner] : owners_) release_newest(owner, released);
  for (auto& [unused, entry] : staying_) released.push_back(std::move(entry.value));
  staying_.clear();
  made_of_.clear();
  owners_.clear();
  generations_.clear();
  bytes_ = 0;
}

std::vector<std::uint64_t> Versions::ids() const {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, unused] : staying_) ids.push_back(id);
  for (const auto& [variable, owner] : owners_)
    if (owner.newest.value) ids.push_back(owner.newest_id);
  std::ranges::sort(ids);
  return ids;
}

std::vector<std::uint64_t> Versions::staying_ids() const {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, entry] : staying_) {
    ids.push_back(id);
    ids.push_back(entry.made_of);
  }
  return ids;
}

}  // namespace tapedeck
