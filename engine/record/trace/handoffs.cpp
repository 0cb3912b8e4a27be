#include "engine/record/trace/handoffs.h"

#include <algorithm>
#include <iterator>

namespace tapedeck {

void Handoffs::add(const Assignment& assignment) {
  const std::lock_guard lock(mutex_);
  if (assignments_.empty() || assignments_.back().leaf < assignment.leaf) {
    assignments_.push_back(assignment);
  } else {  // another thread was quicker
    const auto place = std::ranges::lower_bound(assignments_, assignment.leaf, {}, &Assignment::leaf);
    if (place->leaf != assignment.leaf) assignments_.insert(place, assignment);
  }
  if (assignments_.size() <= assignments_limit) return;
  newest_forgotten_ = std::max(newest_forgotten_, assignments_.front().leaf);
  assignments_.pop_front();
}

void Handoffs::add(const Departure& departure) {
  const std::lock_guard lock(mutex_);
  departures_.push_back(departure);
  if (departures_.size() > limit) departures_.pop_front();
}

void Handoffs::add(Asked asked) {
  const std::lock_guard lock(mutex_);
  asked_.push_back(std::move(asked));
  if (asked_.size() > limit) asked_.pop_front();
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
  for (auto asked = asked_.rbegin(); asked != asked_.rend(); ++asked)
    if (asked->playback == playback) return asked->sources;
  return {};
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
  // Those of several threads stand out of order by a few.
  auto at = asked_.end();
  while (at != asked_.begin() && std::prev(at)->playback > playback) --at;
  std::vector<Asked> found;
  for (; at != asked_.end() && found.size() < limit; ++at) found.push_back(*at);
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
