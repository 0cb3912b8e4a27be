// Held values, and the statistics of dropped ones.
#include <unordered_set>

#include "engine/record/trace/trace_source.h"
#include "engine/record/values/values.h"

namespace tapedeck {

Tensor Values::held(std::uint64_t id) const {
  const TensorOrigin origin = table_.get(id);
  if (!origin.known()) return {};
  if (origin.is_small_leaf()) {
    if (Tensor value = small_leaves_.get(origin.small_leaf_index(), spec_of(origin.spec()))) return value;
    const TensorOrigin now = table_.get(id);  // it may have moved between the two
    return now.is_small_leaf() ? small_leaves_.get(now.small_leaf_index(), spec_of(now.spec())) : Tensor();
  }
  if (Tensor value = recent_.get(id, spec_of(origin.spec()))) return value;
  {
    const std::lock_guard lock(mutex_);
    for (const auto* map : {&leaves_, &pinned_, &everything_index_, &checkpoints_, &recomputed_})
      if (const auto found = map->find(id); found != map->end()) return found->second.tensor(id);
    for (const Held& entry : window_)
      if (entry.id == id) return entry.value.tensor(id);
    if (Tensor value = versions_.held(id)) return value;
  }
  return source_ && origin.stored() ? source_->value(id) : Tensor();
}

std::vector<std::uint64_t> Values::held_ids() const {
  std::unordered_set<std::uint64_t> ids;
  const std::lock_guard lock(mutex_);
  for (const auto* map : {&leaves_, &pinned_, &everything_index_, &checkpoints_})
    for (const auto& [id, unused] : *map) ids.insert(id);
  for (const Held& entry : window_) ids.insert(entry.id);
  for (const std::uint64_t id : versions_.ids()) ids.insert(id);
  return {ids.begin(), ids.end()};
}

Tensor Values::small_value(std::uint64_t id) const {
  const TensorOrigin origin = table_.get(id);
  if (!origin.known()) return {};
  return origin.is_small_leaf() ? held(id) : recent_.get(id, spec_of(origin.spec()));
}

std::vector<std::pair<std::uint64_t, Summary>> Values::dropped() const {
  const std::lock_guard lock(mutex_);
  return {dropped_.begin(), dropped_.end()};
}

void Values::restore_dropped(std::uint64_t id, const Summary& summary) {
  const std::lock_guard lock(mutex_);
  if (dropped_.try_emplace(id, summary).second) dropped_order_.push_back(id);
}

void Values::restore_leaves_dropped(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  leaves_dropped_ = count;
}

std::optional<Summary> Values::statistics_of_dropped(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = dropped_.find(id);
  return found == dropped_.end() ? std::nullopt : std::optional(found->second);
}

std::uint32_t Values::name(std::uint64_t id) const {
  return table_.get(id).named() ? table_.name(id) : 0;
}

KeepingOptions Values::options() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

std::uint64_t Values::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return all_bytes();
}

std::uint64_t Values::recomputed_bytes() const {
  const std::lock_guard lock(mutex_);
  return recomputed_bytes_;
}

std::uint64_t Values::lost() const {
  const std::lock_guard lock(mutex_);
  return leaves_dropped_ + cleared_;
}

std::uint64_t Values::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_ + versions_.thinned();
}

std::vector<std::uint64_t> Values::lasting_ids() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> ids = versions_.staying_ids();
  for (const auto* map : {&leaves_, &pinned_, &everything_index_, &checkpoints_})
    for (const auto& [id, unused] : *map) ids.push_back(id);
  return ids;
}

std::size_t Values::checkpoint_count() const {
  const std::lock_guard lock(mutex_);
  return checkpoints_.size();
}

std::vector<std::uint64_t> Values::version_ids() const {
  const std::lock_guard lock(mutex_);
  return versions_.ids();
}

std::uint64_t Values::leaves_dropped() const {
  const std::lock_guard lock(mutex_);
  return leaves_dropped_;
}

}  // namespace tapedeck
