#include "engine/record/trace/cell_runs.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tapedeck {

void CellRuns::append(CellRun run) {
  run.number = ++total_;
  if (run.execution != 0) {
    auto& known = executions_[run.cell];
    known.emplace_back(run.first, run.execution);
    if (known.size() > limit_) known.pop_front();
  }
  runs_.push_back(std::move(run));
  if (runs_.size() > limit_) runs_.pop_front();
}

void CellRuns::begin(const std::string& cell, std::uint32_t first, std::int64_t now, std::uint32_t execution,
                     std::uint64_t newest_tensor, std::uint64_t calls) {
  end(first - 1, now, true, calls);
  const std::lock_guard lock(mutex_);
  append({0, cell, first, 0, now, 0, CellRun::State::running, execution, newest_tensor, calls});
}

void CellRuns::end(std::uint32_t last, std::int64_t now, bool failed, std::uint64_t calls) {
  const std::lock_guard lock(mutex_);
  if (runs_.empty() || runs_.back().state != CellRun::State::running) return;
  CellRun& run = runs_.back();
  run.last = last;
  run.end = now;
  run.calls = calls - std::min(run.calls, calls);
  run.state = failed ? CellRun::State::failed : CellRun::State::done;
}

void CellRuns::add(CellRun run) {
  const std::lock_guard lock(mutex_);
  append(std::move(run));
}

std::uint64_t CellRuns::total() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

std::vector<CellRun> CellRuns::newest(std::size_t count) const {
  const std::lock_guard lock(mutex_);
  const std::size_t taken = std::min(count, runs_.size());
  return {runs_.end() - static_cast<std::ptrdiff_t>(taken), runs_.end()};
}

std::uint32_t CellRuns::execution_of(const std::string& cell, std::uint32_t record) const {
  const std::lock_guard lock(mutex_);
  const auto known = executions_.find(cell);
  if (known == executions_.end()) return 0;
  const auto after =
      std::ranges::upper_bound(known->second, record, {}, &std::pair<std::uint32_t, std::uint32_t>::first);
  return after == known->second.begin() ? 0 : std::prev(after)->second;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> CellRuns::executions(const std::string& cell) const {
  const std::lock_guard lock(mutex_);
  const auto known = executions_.find(cell);
  if (known == executions_.end()) return {};
  return {known->second.begin(), known->second.end()};
}

}  // namespace tapedeck
