// Which steps and which samples belong to which run of a cell.
#include <algorithm>
#include <limits>
#include <string>

#include "engine/debug/health/health.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_told_runs = 1000;
/// Runs without a step are looked through for samples: what an optimiser says, playbacks without an update.
constexpr std::size_t most_stepless_runs = 50;
constexpr std::uint32_t newest_record = std::numeric_limits<std::uint32_t>::max();
/// How far the first op on a tape is looked for behind an update.
constexpr std::uint32_t most_between = 1024;

/// A run of a cell up to the start of the next one: a thread may go on when the cell has ended.
std::vector<protocol::HealthRun> cell_runs_told(const CellRuns& all) {
  std::vector<CellRun> known = all.newest(std::numeric_limits<std::size_t>::max());
  std::map<std::string, std::uint64_t> of_cell;
  std::vector<protocol::HealthRun> told;
  protocol::HealthRun before;
  before.last = known.empty() ? newest_record : known.front().first - 1;
  told.push_back(before);
  for (std::size_t i = 0; i < known.size(); ++i) {
    protocol::HealthRun run;
    run.number = known[i].number;
    run.cell = known[i].cell;
    run.of_cell = ++of_cell[known[i].cell];
    run.first = known[i].first;
    run.last = i + 1 < known.size() ? known[i + 1].first - 1 : newest_record;
    told.push_back(std::move(run));
  }
  return told;
}

}  // namespace

std::vector<HealthReader::Run> HealthReader::runs(const CancelFlag* cancel) {
  const HealthStore& store = recorder_.health();
  const std::vector<HealthMark> marks = store.marks();
  const std::lock_guard lock(steps_mutex_);
  steps_.extend(cancel);
  const std::size_t steps = steps_.size();
  std::vector<Run> all;
  std::vector<protocol::HealthRun> told = cell_runs_told(recorder_.cell_runs());
  std::size_t stepless = 0;
  for (auto at = told.rbegin(); at != told.rend() && all.size() < most_told_runs; ++at) {
    if (at->last < at->first) continue;  // it ran no op
    Run run;
    run.told = std::move(*at);
    run.from = static_cast<std::uint32_t>(run.told.first);
    run.to = static_cast<std::uint32_t>(run.told.last);
    run.open = run.to == newest_record;
    run.first = std::min(steps_.step_of(run.from), steps + 1);
    run.last = run.open ? steps : steps_.step_of(run.to + 1) - 1;
    run.told.steps = run.last + 1 - run.first;
    if (run.told.steps > 0)
      run.from = std::min(run.from, steps_.at(run.first).first);
    else if (stepless++ >= most_stepless_runs || store.subjects_in(run.from, run.to).empty())
      continue;
    run.told.cut = steps_.forgotten() != 0 && steps_.forgotten() >= run.told.first;
    all.push_back(std::move(run));
  }
  std::ranges::reverse(all);
  if (all.empty()) {
    Run none;
    none.to = newest_record;
    none.open = true;
    all.push_back(std::move(none));
  }
  for (const HealthMark& mark : marks) {
    const std::size_t step = steps_.step_of(mark.record);
    const auto at = std::ranges::lower_bound(all, step, {}, &Run::last);
    if (step > steps || at == all.end() || step < at->first) continue;
    if (!at->sampled.insert(step).second) continue;
    ++at->told.sampled;
    at->told.recomputed += mark.recomputed;
  }
  std::set<std::string> seen;
  for (auto run = all.rbegin(); run != all.rend(); ++run)
    run->told.newest = seen.insert(run->told.cell.value_or("")).second;
  const std::lock_guard gone(gone_mutex_);
  for (Run& run : all)
    run.told.gone =
        static_cast<std::uint64_t>(std::distance(gone_.lower_bound(run.first), gone_.upper_bound(run.last)));
  return all;
}

const HealthReader::Run& HealthReader::chosen(const std::vector<Run>& runs,
                                              std::optional<std::uint64_t> number) {
  const auto found = std::ranges::find_if(runs, [&](const Run& run) { return run.told.number == number; });
  if (found != runs.end()) return *found;
  const auto trains = [](const Run& run) { return run.told.steps > 0; };
  const auto newest = std::find_if(runs.rbegin(), runs.rend(), trains);
  return newest == runs.rend() ? runs.back() : *newest;
}

std::vector<const HealthReader::Run*> HealthReader::asked_for(const std::vector<Run>& runs,
                                                              std::optional<std::uint64_t> number) {
  if (number) return {&chosen(runs, number)};
  std::vector<const Run*> found;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run)
    if (run->told.newest) found.push_back(&*run);
  return found;
}

std::size_t HealthReader::steps_of_all(const std::vector<Run>& runs) {
  std::size_t steps = 0;
  for (const Run& run : runs) steps += run.told.steps;
  return steps;
}

// What is reported between a step's last update and the next forward pass may be of either: of the step that
// has ended, unless the line that says it comes before the line that updates.
std::size_t HealthReader::published_step(std::uint32_t record, std::uint32_t location) const {
  const std::size_t ended = steps_.step_of(record + 1) - 1;
  if (ended == 0) return 1;
  const std::uint32_t playback =
      ended < steps_.size() ? steps_.at(ended + 1).playback : steps_.next_playback();
  if (playback != 0 && playback <= record) return ended + 1;
  const std::uint32_t update = steps_.at(ended).last;
  bool forward = false;
  std::uint32_t updated_at = 0;
  const auto look = [&](const RecordGlance& each) {
    if (each.number == update) updated_at = each.head.location;
    if (each.number > update && each.head.tape != 0 && !each.head.backward) forward = true;
  };
  recorder_.trace().glance(update, update, look);
  if (record > update) recorder_.trace().glance(update + 1, std::min(record, update + most_between), look);
  if (forward) return ended + 1;
  const SourceLocation said = location_of(location), updated = location_of(updated_at);
  const bool same_place = said.cell == updated.cell && said.file == updated.file && updated.line != 0;
  return same_place && said.line != 0 && said.line < updated.line ? ended + 1 : ended;
}

HealthPoints HealthReader::points_of(const std::vector<HealthSample>& samples, const HealthSubject& subject,
                                     const Run& run) {
  HealthPoints points;
  const bool published = subject.kind == HealthKind::published;
  const std::size_t last =
      std::max(run.first, run.open ? run.last + 1 : run.last);  // one step more may go on
  const std::lock_guard lock(steps_mutex_);
  auto sample = std::ranges::lower_bound(samples, run.from, {}, &HealthSample::record);
  for (; sample != samples.end() && sample->record <= run.to; ++sample) {
    std::size_t step =
        run.first + points.size();  // without steps there is no better count than the samples' own
    if (published) {
      if (sample->record < run.told.first) continue;
      if (run.told.steps > 0)
        step = std::clamp(published_step(sample->record, subject.location), run.first, last);
    } else if (run.told.steps > 0) {
      step = steps_.step_of(sample->record);
      if (step < run.first || step > last) continue;
    }
    points.push_back({step - run.first + 1, sample->record, sample->value});
  }
  return points;
}

}  // namespace tapedeck::debug
