#include "engine/record/versions.h"

#include <algorithm>
#include <utility>

namespace tapedeck {

void Versions::add(const Version& version, KeptValue value, std::int64_t now_ns, bool stays,
                   Released& released) {
  const std::int64_t least =
      std::max(interval_ns_, static_cast<std::int64_t>(generation_bytes_) * ns_per_byte_);
  if (generation_ == 0 || (now_ns - began_ns_) / scale_ >= least) {
    ++generation_;
    began_ns_ = now_ns;
    generation_bytes_ = 0;
  }
  Owner& owner = owners_[version.variable];
  if (const auto before = entries_.find(owner.newest);
      before != entries_.end() && before->second.generation == 0)
    release(before, released);
  Entry entry{std::move(value), version.made_of, version.variable, 0};
  const std::uint64_t size = entry.value.bytes();
  if (stays || owner.generation < generation_) {
    entry.generation = owner.generation = generation_;
    generation_bytes_ += size;
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
  if (generation_ <= 1) return false;
  // Generations 1, 3, 5 … stay, as 1, 2, 3 …
  const auto renumbered = [](std::uint64_t generation) { return (generation + 1) / 2; };
  const std::size_t before = released.size();
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    Entry& one = entry->second;
    if (one.generation == 0) {
      ++entry;
      continue;
    }
    const bool stays = one.generation % 2 == 1;
    one.generation = stays ? renumbered(one.generation) : 0;
    const auto owner = owners_.find(one.variable);
    const bool newest = owner != owners_.end() && owner->second.newest == entry->first;
    if (stays || newest)
      ++entry;
    else
      entry = release(entry, released);
  }
  for (auto& [unused, owner] : owners_) owner.generation = renumbered(owner.generation);
  generation_ = renumbered(generation_);
  constexpr std::int64_t most = std::int64_t{1} << 20;
  if (scale_ < most) scale_ *= 2;
  return released.size() > before;
}

void Versions::forget(std::uint64_t below, const TensorTable& table, Released& released) {
  for (auto entry = entries_.begin(); entry != entries_.end() && entry->first < below;)
    entry = table.get(entry->first).known() ? std::next(entry) : release(entry, released);
}

void Versions::clear(Released& released) {
  for (auto& [unused, entry] : entries_) released.push_back(std::move(entry.value));
  entries_.clear();
  made_of_.clear();
  owners_.clear();
  bytes_ = generation_bytes_ = generation_ = 0;
  scale_ = 1;
}

std::vector<std::uint64_t> Versions::ids() const {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, unused] : entries_) ids.push_back(id);
  return ids;
}

}  // namespace tapedeck
