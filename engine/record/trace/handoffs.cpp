#include "engine/record/trace/handoffs.h"

#include <algorithm>
#include <iterator>

namespace tapedeck {
namespace {

/// Those in front that are `old` go, unless they are `useful`: those stay in front.
template <class Item, class IsOld, class IsUseful, class Drop>
void forget_old(std::deque<Item>& items, IsOld&& is_old, IsUseful&& is_useful, Drop&& drop) {
  std::vector<Item> kept;
  while (!items.empty() && is_old(items.front())) {
    if (is_useful(items.front())) {
      kept.push_back(std::move(items.front()));
      items.pop_front();
    } else {
      drop();
    }
  }
  items.insert(items.begin(), std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
}

}  // namespace

void Handoffs::set_most_bytes(std::uint64_t bytes) {
  constexpr std::size_t fewest_assignments = 1 << 18, fewest_others = 1 << 16;
  const auto within = [bytes](std::uint64_t share, std::size_t size, std::size_t fewest) {
    return std::max<std::size_t>(bytes / share / size, fewest);
  };
  const std::lock_guard lock(mutex_);
  assignments_limit_ = within(4, sizeof(Assignment), fewest_assignments);
  departures_limit_ = within(16, sizeof(Departure), fewest_others);
  asked_limit_ = within(8, 2 * sizeof(Asked), fewest_others);
}

void Handoffs::drop_assignment() {
  newest_forgotten_ = std::max(newest_forgotten_, assignments_.front().leaf);
  assignments_.pop_front();
}

void Handoffs::drop_asked() {
  source_count_ -= asked_.front().sources.size();
  asked_.pop_front();
}

void Handoffs::forget(std::uint32_t oldest_record, const TensorTable& table) {
  const std::lock_guard lock(mutex_);
  const auto is_present = [this](const Assignment& one) {
    const auto newest = newest_.find(one.variable);
    return newest != newest_.end() && newest->second == one.leaf;
  };
  forget_old(
      assignments_, [&](const Assignment& one) { return one.after + 1 < oldest_record; },
      [&](const Assignment& one) { return table.get(one.leaf).known() || is_present(one); },
      [this] { drop_assignment(); });
  std::erase_if(departures_, [&](const Departure& one) { return !table.get(one.tensor).known(); });
  while (!asked_.empty() && asked_.front().playback < oldest_record) drop_asked();
}

std::uint64_t Handoffs::bytes() const {
  const std::lock_guard lock(mutex_);
  constexpr std::uint64_t bytes_of_newest = 40;
  return newest_.size() * bytes_of_newest + assignments_.size() * sizeof(Assignment) +
         departures_.size() * sizeof(Departure) + asked_.size() * sizeof(Asked) +
         source_count_ * sizeof(std::uint64_t);
}

void Handoffs::add(const Assignment& assignment) {
  const std::lock_guard lock(mutex_);
  std::uint64_t& newest = newest_[assignment.variable];
  newest = std::max(newest, assignment.leaf);
  if (assignments_.empty() || assignments_.back().leaf < assignment.leaf) {
    assignments_.push_back(assignment);
  } else {  // another thread was quicker
    const auto place = std::ranges::lower_bound(assignments_, assignment.leaf, {}, &Assignment::leaf);
    if (place->leaf != assignment.leaf) assignments_.insert(place, assignment);
  }
  if (assignments_.size() > assignments_limit_) drop_assignment();
}

void Handoffs::variable_gone(std::uint64_t variable) {
  const std::lock_guard lock(mutex_);
  newest_.erase(variable);
}

void Handoffs::add(const Departure& departure) {
  const std::lock_guard lock(mutex_);
  departures_.push_back(departure);
  if (departures_.size() > departures_limit_) departures_.pop_front();
}

void Handoffs::add(Asked asked) {
  const std::lock_guard lock(mutex_);
  source_count_ += asked.sources.size();
  if (asked_.empty() || asked_.back().playback < asked.playback)
    asked_.push_back(std::move(asked));
  else  // another thread was quicker
    asked_.insert(std::ranges::upper_bound(asked_, asked.playback, {}, &Asked::playback), std::move(asked));
  if (asked_.size() > asked_limit_) drop_asked();
}

std::optional<Assignment> Handoffs::assignment_of(std::uint64_t leaf) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::lower_bound(assignments_, leaf, {}, &Assignment::leaf);
  return found == assignments_.end() || found->leaf != leaf ? std::nullopt : std::optional(*found);
}

std::uint64_t Handoffs::newest_forgotten() const {
  const std::lock_guard lock(mutex_);
  return newest_forgotten_;
}

std::set<std::uint64_t> Handoffs::values_of(std::uint64_t variable) const {
  const std::lock_guard lock(mutex_);
  std::set<std::uint64_t> values;
  for (const Assignment& assignment : assignments_)
    if (assignment.variable == variable) values.insert(values.end(), assignment.leaf);
  return values;
}

std::optional<std::uint64_t> Handoffs::value_before(std::uint64_t variable, std::uint64_t record) const {
  const std::lock_guard lock(mutex_);
  auto one = std::ranges::partition_point(
      assignments_, [&](const Assignment& assignment) { return assignment.after < record; });
  while (one != assignments_.begin())
    if ((--one)->variable == variable) return one->leaf;
  return newest_forgotten_ == 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
}

std::vector<Departure> Handoffs::departures() const {
  const std::lock_guard lock(mutex_);
  return {departures_.rbegin(), departures_.rend()};
}

std::vector<std::uint64_t> Handoffs::sources_of(std::uint32_t playback) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::lower_bound(asked_, playback, {}, &Asked::playback);
  return found == asked_.end() || found->playback != playback ? std::vector<std::uint64_t>{} : found->sources;
}

std::vector<Assignment> Handoffs::assignments_after(std::uint64_t leaf, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  std::vector<Assignment> found;
  for (auto at = std::ranges::upper_bound(assignments_, leaf, {}, &Assignment::leaf);
       at != assignments_.end() && found.size() < limit; ++at)
    found.push_back(*at);
  return found;
}

std::vector<Asked> Handoffs::asked_after(std::uint32_t playback, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  std::vector<Asked> found;
  for (auto at = std::ranges::upper_bound(asked_, playback, {}, &Asked::playback);
       at != asked_.end() && found.size() < limit; ++at)
    found.push_back(*at);
  return found;
}

std::uint32_t Handoffs::playback_for(std::uint64_t source) const {
  const std::lock_guard lock(mutex_);
  for (auto asked = asked_.rbegin(); asked != asked_.rend(); ++asked)
    if (std::find(asked->sources.begin(), asked->sources.end(), source) != asked->sources.end())
      return asked->playback;
  return 0;
}

std::uint32_t Handoffs::newest_playback() const {
  const std::lock_guard lock(mutex_);
  return asked_.empty() ? 0 : asked_.back().playback;
}

std::vector<Assignment> Handoffs::assignments() const {
  const std::lock_guard lock(mutex_);
  return {assignments_.begin(), assignments_.end()};
}

std::vector<Asked> Handoffs::asked() const {
  const std::lock_guard lock(mutex_);
  return {asked_.begin(), asked_.end()};
}

void Handoffs::restore_newest_forgotten(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  newest_forgotten_ = std::max(newest_forgotten_, id);
}

}  // namespace tapedeck
