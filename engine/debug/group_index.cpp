#include "engine/debug/group_index.h"

#include <algorithm>
#include <chrono>

#include "engine/record/trace/scope.h"

namespace tapedeck::debug {
namespace {

constexpr std::chrono::milliseconds longest_read(50);
constexpr std::uint32_t read_at_once = 8192;  // a glance: no record is forgotten meanwhile
constexpr std::size_t most_runs_told = 1000, most_entries_told = 16384;

}  // namespace

void GroupIndex::read_runs() {
  const CellRuns& all = recorder_.cell_runs();
  const std::uint64_t known = runs_.empty() ? 0 : runs_.back().run.number;
  const std::uint64_t total = all.total();
  // The last known one may have ended since.
  const std::vector<CellRun> newest =
      all.newest(static_cast<std::size_t>(total - std::min(known, total)) + 1);
  for (const CellRun& run : newest) {
    if (run.number == known && known != 0) {
      runs_.back().run = run;
    } else if (run.number > known) {
      const bool missed = runs_.empty() ? run.number > 1 : run.number > runs_.back().run.number + 1;
      if (missed) runs_of_cell_[""] = 1;  // from now on no count is right
      const std::uint64_t count = ++runs_of_cell_[run.cell];
      runs_.push_back({run, runs_of_cell_.contains("") ? 0 : count});
    }
  }
}

void GroupIndex::add_scope(std::uint32_t record, std::uint32_t scope, std::uint32_t call) {
  if (scopes_.empty() || scopes_.back().scope != scope || scopes_.back().call != call)
    scopes_.push_back({record, scope, call});
}

void GroupIndex::take(const RecordGlance& record) {
  const std::uint32_t around = around_.of(record).call;
  const RecordHead& head = record.head;
  const bool is_call = head.kind == EventKind::call;
  if (is_call) calls_.push_back({record.number, around, head.name(), head.scope});
  add_scope(record.number, head.scope, is_call ? record.number : around);
}

/// Returns the record after the last one that was read.
std::uint32_t GroupIndex::read_scopes(std::uint32_t last) {
  return recorder_.trace().glance(next_, last, [this](const RecordGlance& record) { take(record); });
}

void GroupIndex::read_records(const CancelFlag* cancel) {
  const auto give_up = std::chrono::steady_clock::now() + longest_read;
  const Trace& trace = recorder_.trace();
  const std::uint32_t newest = trace.newest();
  while (next_ <= newest) {
    check_cancelled(cancel);
    if (const std::uint32_t oldest = trace.oldest_kept(); oldest > next_) {
      add_scope(next_, 0, 0);
      next_ = oldest;
      continue;
    }
    const std::uint32_t after = read_scopes(std::min(newest, next_ + read_at_once - 1));
    if (after <= next_) break;  // its thread writes it just now
    next_ = after;
    steps_.extend(cancel, next_ - 1);
    if (std::chrono::steady_clock::now() >= give_up) break;
  }
  // Assignments after the newest record end a step, too.
  steps_.extend(cancel, next_ - 1);
}

void GroupIndex::number_steps() {
  // More updates may have come to the one that was the last.
  if (!told_steps_.empty()) told_steps_.pop_back();
  for (std::size_t number = told_steps_.size() + 1; number <= steps_.size(); ++number) {
    const TrainingStep& step = steps_.at(number);
    Step told{step.first, step.last};
    const auto after =
        std::ranges::upper_bound(runs_, step.last, {}, [](const Run& run) { return run.run.first; });
    told.run = static_cast<std::size_t>(after - runs_.begin());
    if (told.run) told.first = std::max(told.first, runs_[told.run - 1].run.first);
    const Step* before = told_steps_.empty() ? nullptr : &told_steps_.back();
    told.number = before && before->run == told.run ? before->number + 1 : 1;
    told_steps_.push_back(told);
  }
}

void GroupIndex::tell_scopes(std::uint64_t first, protocol::RecordGroups& answer) const {
  auto scope = std::ranges::upper_bound(scopes_, first, {}, &Stretch::record);
  if (scope != scopes_.begin()) --scope;  // the one that `first` is in
  std::unordered_map<std::uint32_t, std::size_t> places;
  const auto place_of = [&](std::uint32_t number) {
    const auto [place, fresh] = places.try_emplace(number, answer.scopes.size());
    if (fresh) answer.scopes.push_back(scope_text(number));
    return place->second;
  };
  for (; scope != scopes_.end(); ++scope) {
    if (answer.scope_begins.size() == most_entries_told) {
      answer.covered = scope->record - 1;
      break;
    }
    answer.scope_begins.push_back(std::max<std::uint64_t>(scope->record, first));
    answer.scope_places.push_back(place_of(scope->scope));
    answer.scope_calls.push_back(scope->call);
  }
  // Each begins a stretch, so there are no more of them.
  auto call = std::ranges::lower_bound(calls_, first, {}, &Call::record);
  for (; call != calls_.end() && call->record <= answer.covered; ++call)
    answer.calls.push_back({call->record, call->around, name_of(call->name), place_of(call->scope)});
}

void GroupIndex::tell_steps(std::uint64_t first, protocol::RecordGroups& answer) const {
  for (std::size_t i = first ? first - 1 : 0; i < told_steps_.size(); ++i) {
    const Step& step = told_steps_[i];
    if (answer.step_firsts.size() == most_entries_told) {
      answer.covered = std::min<std::uint64_t>(answer.covered, told_steps_[i - 1].last);
      return;
    }
    answer.step_firsts.push_back(step.first);
    answer.step_lasts.push_back(step.last);
    answer.step_numbers.push_back(step.number);
  }
}

void GroupIndex::tell_runs(std::uint64_t first, protocol::RecordGroups& answer) const {
  const auto from = std::ranges::lower_bound(runs_, first, {}, [](const Run& run) { return run.run.number; });
  for (auto run = from; run != runs_.end(); ++run) {
    if (answer.runs.size() == most_runs_told) {
      answer.covered = std::min<std::uint64_t>(answer.covered, run->run.first - 1);
      return;
    }
    protocol::RunGroup& told = answer.runs.emplace_back();
    told.number = run->run.number;
    told.cell = run->run.cell;
    told.execution = run->run.execution;
    told.of_cell = run->of_cell;
    told.first = run->run.first;
    if (run->run.state != CellRun::State::running) told.last = run->run.last;
    told.failed = run->run.state == CellRun::State::failed;
  }
}

protocol::RecordGroups GroupIndex::read(const protocol::GetRecordGroups& request, const CancelFlag* cancel) {
  const std::lock_guard lock(mutex_);
  // First: a run that begins meanwhile has none of the records that are read now.
  const std::uint64_t total = recorder_.trace().newest();
  read_records(cancel);
  read_runs();
  number_steps();
  protocol::RecordGroups answer;
  answer.total = std::max<std::uint64_t>(total, next_ - 1);
  answer.covered = next_ - 1;
  tell_runs(request.run, answer);
  tell_steps(request.step, answer);
  tell_scopes(request.first, answer);
  return answer;
}

}  // namespace tapedeck::debug
