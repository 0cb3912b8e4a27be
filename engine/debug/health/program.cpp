// Which steps of a run are read for what their ops say, and what is known of custom gradients.
#include <algorithm>

#include "engine/debug/health/health.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_steps_read = 8, most_facts_kept = 512, most_checked_kept = 1000;

/// The VJP that the user wrote: the record's own, or that of the op that it is.
std::optional<CheckedGradient> custom_vjp(const Trace& trace, std::uint64_t number) {
  RecordView vjp, forward;
  if (number == 0 || !trace.read(static_cast<std::uint32_t>(number), vjp)) return std::nullopt;
  if (!vjp.head.custom_gradient || vjp.head.kind != EventKind::vjp) return std::nullopt;
  if (!trace.read(vjp.head.forward, forward)) return std::nullopt;
  CheckedGradient found;
  found.record = number;
  found.name = forward.name();
  found.location = forward.head.location;
  return found;
}

}  // namespace

std::uint64_t HealthReader::version() const {
  const std::lock_guard lock(gone_mutex_);
  return recorder_.health().version() + checked_.size();
}

void HealthReader::checked(const protocol::Why& question, const protocol::Because& answer) {
  std::vector<std::uint64_t> records;
  for (const protocol::Reason& reason : answer.reasons)
    if (reason.record) records.push_back(*reason.record);
  if (question.record) records.push_back(*question.record);
  std::vector<CheckedGradient> found;
  for (const std::uint64_t record : records) {
    auto one = custom_vjp(recorder_.trace(), record);
    if (!one || std::ranges::find(found, one->record, &CheckedGradient::record) != found.end()) continue;
    // What could not be compared was not checked.
    bool compared = false;
    for (const protocol::Reason& reason : answer.reasons) {
      if (reason.record != record) continue;
      compared |= reason.role == "wrong" || reason.role == "right";
      one->wrong |= reason.role == "wrong";
    }
    if (!compared) continue;
    one->sentence = answer.sentence;
    found.push_back(std::move(*one));
  }
  const std::lock_guard lock(gone_mutex_);
  if (checked_.size() + found.size() > most_checked_kept) return;
  checked_.insert(checked_.end(), found.begin(), found.end());
}

std::optional<StepToRead> HealthReader::step_to_read(const Run& run, std::size_t number) {
  const std::lock_guard lock(steps_mutex_);
  const TrainingStep& step = steps_.at(number);
  StepToRead found;
  // What other cells did before this one is no part of its first step.
  found.first = std::max(step.first, number == run.first ? static_cast<std::uint32_t>(run.told.first) : 0u);
  found.last = step.last;
  found.by_hand = steps_.hand_updates(number);
  if (number > run.first) found.playback_before = steps_.at(number - 1).playback;
  if (found.first < recorder_.trace().oldest_kept() || found.first > found.last) return std::nullopt;
  return found;
}

/// Sampled ones, spread over the run, those before others that were read already. While the program runs, one
/// new one at most.
std::vector<std::size_t> HealthReader::steps_to_read(const Run& run, bool rests) {
  const std::vector<std::size_t> sampled(run.sampled.begin(), run.sampled.end());
  const std::size_t count = std::min(most_steps_read, sampled.size());
  std::vector<std::size_t> found;
  const std::lock_guard lock(gone_mutex_);
  const auto known = [&](std::size_t step) {
    const auto at = facts_.find(step);
    return at != facts_.end() && (at->second.whole || !rests);
  };
  bool fresh = false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = count == 1 ? 0 : i * (sampled.size() - 1) / (count - 1);
    const std::size_t reach = count == 1 ? 0 : sampled.size() / (2 * count);
    std::size_t step = sampled[place];
    for (std::size_t off = 0; off <= reach; ++off) {
      const std::size_t below = sampled[place - std::min(place, off)];
      const std::size_t above = sampled[std::min(place + off, sampled.size() - 1)];
      if (!known(below) && !known(above)) continue;
      step = known(below) ? below : above;
      break;
    }
    if (std::ranges::find(found, step) != found.end()) continue;
    if (!known(step) && !rests && std::exchange(fresh, true)) continue;
    found.push_back(step);
  }
  std::ranges::sort(found);
  return found;
}

std::optional<StepFacts> HealthReader::facts_of(const Run& run, std::size_t number, Past& past, bool rests) {
  {
    const std::lock_guard lock(gone_mutex_);
    const auto known = facts_.find(number);
    if (known != facts_.end() && (known->second.whole || !rests)) return known->second.facts;
  }
  std::optional<StepToRead> step = step_to_read(run, number);
  if (!step) return std::nullopt;
  step->recompute = rests;
  StepFacts facts = read_step(past, *step);
  facts.step = number - run.first + 1;
  const std::lock_guard lock(gone_mutex_);
  if (facts_.size() >= most_facts_kept) facts_.clear();
  facts_[number] = {facts, rests};
  return facts;
}

/// Up to the next forward pass that a tape records.
std::optional<StepFacts> HealthReader::facts_behind(const Run& run, Past& past) {
  StepToRead behind;
  behind.training = false;
  {
    const std::lock_guard lock(steps_mutex_);
    if (run.last < run.first || run.last == 0) return std::nullopt;
    behind.first = steps_.at(run.last).last + 1;
    behind.last = recorder_.trace().newest_finished();
    if (run.last < steps_.size() && steps_.at(run.last + 1).playback != 0)
      behind.last = steps_.at(run.last + 1).playback - 1;
  }
  if (behind.first > behind.last || behind.first < recorder_.trace().oldest_kept()) return std::nullopt;
  return read_step(past, behind);
}

/// Of a run in which no variable was updated, as where its first loss failed, or each gradient was cleared.
std::optional<StepFacts> HealthReader::facts_without_steps(const Run& run, Past& past) const {
  constexpr std::uint32_t most_records_read = 20000;
  StepToRead newest;
  newest.last = std::min(run.to, recorder_.trace().newest_finished());
  newest.first = std::max(run.from, recorder_.trace().oldest_kept());
  if (newest.last >= most_records_read)
    newest.first = std::max(newest.first, newest.last - most_records_read + 1);
  if (newest.first > newest.last || newest.last == 0) return std::nullopt;
  return read_without_steps(past, newest);
}

ProgramFacts HealthReader::program(const Run& run, Past& past, bool rests) {
  ProgramFacts program;
  for (const std::size_t number : steps_to_read(run, rests))
    if (auto facts = facts_of(run, number, past, rests)) program.steps.push_back(std::move(*facts));
  if (rests && run.told.steps == 0)
    program.behind = facts_without_steps(run, past);
  else if (rests && !program.steps.empty())
    program.behind = facts_behind(run, past);
  const std::lock_guard lock(gone_mutex_);
  for (const CheckedGradient& checked : checked_)
    if (checked.record >= run.from && checked.record <= run.to) program.checked.push_back(checked);
  return program;
}

}  // namespace tapedeck::debug
