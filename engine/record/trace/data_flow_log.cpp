#include "engine/record/trace/data_flow_log.h"

#include <algorithm>
#include <iterator>

namespace tapedeck {
namespace {

/// Drops leading entries that are `old` unless they are `useful`; those stay in front.
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

void DataFlowLog::set_most_bytes(std::uint64_t bytes) {
  constexpr std::size_t fewest_assignments = 1 << 18, fewest_others = 1 << 16;
  const auto within = [bytes](std::uint64_t share, std::size_t size, std::size_t fewest) {
    return std::max<std::size_t>(bytes / share / size, fewest);
  };
  const std::lock_guard lock(mutex_);
  assignments_limit_ = within(4, sizeof(Assignment), fewest_assignments);
  external_reads_limit_ = within(16, sizeof(ExternalRead), fewest_others);
  requests_limit_ = within(8, 2 * sizeof(RequestedGradients), fewest_others);
}

void DataFlowLog::drop_assignment() {
  newest_forgotten_ = std::max(newest_forgotten_, assignments_.front().leaf);
  assignments_.pop_front();
}

void DataFlowLog::drop_request() {
  source_count_ -= requests_.front().sources.size();
  requests_.pop_front();
}

void DataFlowLog::forget(std::uint32_t oldest_record, const TensorTable& table) {
  const std::lock_guard lock(mutex_);
  const auto is_present = [this](const Assignment& one) {
    const auto newest = newest_.find(one.variable);
    return newest != newest_.end() && newest->second == one.leaf;
  };
  forget_old(
      assignments_, [&](const Assignment& one) { return one.after + 1 < oldest_record; },
      [&](const Assignment& one) { return table.get(one.leaf).known() || is_present(one); },
      [this] { drop_assignment(); });
  std::erase_if(external_reads_, [&](const ExternalRead& one) { return !table.get(one.tensor).known(); });
  while (!requests_.empty() && requests_.front().playback < oldest_record) drop_request();
}

std::uint64_t DataFlowLog::bytes() const {
  const std::lock_guard lock(mutex_);
  constexpr std::uint64_t bytes_of_newest = 40;
  return newest_.size() * bytes_of_newest + assignments_.size() * sizeof(Assignment) +
         external_reads_.size() * sizeof(ExternalRead) + requests_.size() * sizeof(RequestedGradients) +
         source_count_ * sizeof(std::uint64_t);
}

void DataFlowLog::add(const Assignment& assignment) {
  const std::lock_guard lock(mutex_);
  std::uint64_t& newest = newest_[assignment.variable];
  newest = std::max(newest, assignment.leaf);
  if (assignments_.empty() || assignments_.back().leaf < assignment.leaf) {
    assignments_.push_back(assignment);
  } else {  // another thread was faster
    const auto place = std::ranges::lower_bound(assignments_, assignment.leaf, {}, &Assignment::leaf);
    if (place->leaf != assignment.leaf) assignments_.insert(place, assignment);
  }
  if (assignments_.size() > assignments_limit_) drop_assignment();
}

void DataFlowLog::variable_gone(std::uint64_t variable) {
  const std::lock_guard lock(mutex_);
  newest_.erase(variable);
}

void DataFlowLog::add(const ExternalRead& external_read) {
  const std::lock_guard lock(mutex_);
  external_reads_.push_back(external_read);
  if (external_reads_.size() > external_reads_limit_) external_reads_.pop_front();
}

void DataFlowLog::add(RequestedGradients asked) {
  const std::lock_guard lock(mutex_);
  source_count_ += asked.sources.size();
  if (requests_.empty() || requests_.back().playback < asked.playback)
    requests_.push_back(std::move(asked));
  else  // another thread was faster
    requests_.insert(std::ranges::upper_bound(requests_, asked.playback, {}, &RequestedGradients::playback),
                     std::move(asked));
  if (requests_.size() > requests_limit_) drop_request();
}

std::optional<Assignment> DataFlowLog::assignment_of(std::uint64_t leaf) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::lower_bound(assignments_, leaf, {}, &Assignment::leaf);
  return found == assignments_.end() || found->leaf != leaf ? std::nullopt : std::optional(*found);
}

std::uint64_t DataFlowLog::newest_forgotten() const {
  const std::lock_guard lock(mutex_);
  return newest_forgotten_;
}

std::set<std::uint64_t> DataFlowLog::values_of(std::uint64_t variable) const {
  const std::lock_guard lock(mutex_);
  std::set<std::uint64_t> values;
  for (const Assignment& assignment : assignments_)
    if (assignment.variable == variable) values.insert(values.end(), assignment.leaf);
  return values;
}

std::optional<std::uint64_t> DataFlowLog::value_before(std::uint64_t variable, std::uint64_t record) const {
  const std::lock_guard lock(mutex_);
  auto one = std::ranges::partition_point(
      assignments_, [&](const Assignment& assignment) { return assignment.after < record; });
  while (one != assignments_.begin())
    if ((--one)->variable == variable) return one->leaf;
  return newest_forgotten_ == 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
}

std::vector<ExternalRead> DataFlowLog::external_reads() const {
  const std::lock_guard lock(mutex_);
  return {external_reads_.rbegin(), external_reads_.rend()};
}

std::vector<std::uint64_t> DataFlowLog::sources_of(std::uint32_t playback) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::lower_bound(requests_, playback, {}, &RequestedGradients::playback);
  return found == requests_.end() || found->playback != playback ? std::vector<std::uint64_t>{}
                                                                 : found->sources;
}

std::vector<Assignment> DataFlowLog::assignments_after(std::uint64_t leaf, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  std::vector<Assignment> found;
  for (auto at = std::ranges::upper_bound(assignments_, leaf, {}, &Assignment::leaf);
       at != assignments_.end() && found.size() < limit; ++at)
    found.push_back(*at);
  return found;
}

std::vector<RequestedGradients> DataFlowLog::requests_after(std::uint32_t playback, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  std::vector<RequestedGradients> found;
  for (auto at = std::ranges::upper_bound(requests_, playback, {}, &RequestedGradients::playback);
       at != requests_.end() && found.size() < limit; ++at)
    found.push_back(*at);
  return found;
}

std::uint32_t DataFlowLog::playback_for(std::uint64_t source) const {
  const std::lock_guard lock(mutex_);
  for (auto asked = requests_.rbegin(); asked != requests_.rend(); ++asked)
    if (std::find(asked->sources.begin(), asked->sources.end(), source) != asked->sources.end())
      return asked->playback;
  return 0;
}

std::uint32_t DataFlowLog::newest_playback() const {
  const std::lock_guard lock(mutex_);
  return requests_.empty() ? 0 : requests_.back().playback;
}

std::vector<Assignment> DataFlowLog::assignments() const {
  const std::lock_guard lock(mutex_);
  return {assignments_.begin(), assignments_.end()};
}

std::vector<RequestedGradients> DataFlowLog::gradient_requests() const {
  const std::lock_guard lock(mutex_);
  return {requests_.begin(), requests_.end()};
}

void DataFlowLog::restore_newest_forgotten(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  newest_forgotten_ = std::max(newest_forgotten_, id);
}

}  // namespace tapedeck
