#include "engine/debug/health/steps.h"

#include <algorithm>
#include <utility>

#include "engine/record/health_gauges.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t step_index_records = 8192;
constexpr std::size_t most_assignments = std::size_t{1} << 17;

}  // namespace

void HealthSteps::take_playback(std::uint32_t record) {
  if (open_) {
    begun_ = {steps_.back().last + 1, record, 0};
    open_ = false;
  } else if (begun_.playback == 0) {
    begun_.playback = record;
  }
  sources_.clear();
  while (!asked_.empty() && asked_.front().playback < record) asked_.pop_front();
  if (asked_.empty() || asked_.front().playback != record) return;
  sources_.insert(asked_.front().sources.begin(), asked_.front().sources.end());
}

void HealthSteps::take_update(std::uint32_t record) {
  if (open_) {
    steps_.back().last = std::max(steps_.back().last, record);
    return;
  }
  if (begun_.playback == 0 || record < begun_.playback) return;
  begun_.last = record;
  if (begun_.first == 0) begun_.first = 1;
  steps_.push_back(begun_);
  begun_ = {};
  open_ = true;
}

bool HealthSteps::made_by_update(std::uint64_t tensor) const {
  const std::uint32_t producer = recorder_.trace().tensors().get(tensor).producer();
  bool update = false;
  if (producer != 0)
    recorder_.trace().glance(producer, producer, [&](const RecordGlance& record) {
      update = record.number == producer && record.head.op && record.head.kind == EventKind::op &&
               update_gradient_place(*record.head.op) != 0;
    });
  return update;
}

void HealthSteps::take_assignments(std::uint32_t before) {
  while (!assignments_.empty() && assignments_.front().after < before) {
    const Assignment assignment = assignments_.front();
    assignments_.pop_front();
    const auto [value, fresh] = values_.try_emplace(assignment.variable, assignment.leaf);
    const std::uint64_t old = fresh ? 0 : std::exchange(value->second, assignment.leaf);
    if (fresh) continue;
    // The second assignment to a variable after a playback begins at a value that is no source.
    std::uint64_t source = sources_.contains(old) ? old : 0;
    if (source == 0 && open_)
      for (const HandUpdate& earlier : hand_updates(steps_.size()))
        if (earlier.variable == assignment.variable) source = earlier.before;
    if (source == 0 || made_by_update(assignment.value)) continue;
    take_update(assignment.after);
    if (open_)
      by_hand_[steps_.size()].push_back({assignment.variable, source, assignment.leaf, assignment.after});
  }
}

void HealthSteps::extend(const CancelFlag* cancel) {
  const Trace& trace = recorder_.trace();
  for (;;) {
    const std::vector<Assignment> more = recorder_.handoffs().assignments_after(last_leaf_, most_assignments);
    if (more.empty()) break;
    assignments_.insert(assignments_.end(), more.begin(), more.end());
    last_leaf_ = more.back().leaf;
  }
  const std::uint32_t newest = trace.newest();
  for (Asked& asked : recorder_.handoffs().asked_after(last_asked_, most_assignments)) {
    last_asked_ = std::max(last_asked_, asked.playback);
    asked_.push_back(std::move(asked));
  }
  next_ = std::max(next_, trace.oldest_kept());
  std::vector<Event> events;
  while (next_ <= newest) {
    check_cancelled(cancel);
    events.clear();
    const std::uint32_t last = std::min(newest, next_ + step_index_records - 1);
    const std::uint32_t after = trace.glance(next_, last, [&](const RecordGlance& record) {
      if (record.head.kind == EventKind::playback)
        events.push_back({record.number, true});
      else if (record.head.kind == EventKind::op && update_gradient_place(*record.head.op) != 0)
        events.push_back({record.number, false});
    });
    if (after <= next_) break;  // its thread writes it just now
    for (const Event& event : events) {
      take_assignments(event.record);
      event.playback ? take_playback(event.record) : take_update(event.record);
    }
    next_ = after;
  }
  take_assignments(next_);
}

std::size_t HealthSteps::step_of(std::uint32_t record) const {
  const auto found = std::ranges::lower_bound(steps_, record, {}, &HealthStep::last);
  return static_cast<std::size_t>(found - steps_.begin()) + 1;
}

std::vector<HandUpdate> HealthSteps::hand_updates(std::size_t number) const {
  const auto found = by_hand_.find(number);
  return found == by_hand_.end() ? std::vector<HandUpdate>{} : found->second;
}

}  // namespace tapedeck::debug
