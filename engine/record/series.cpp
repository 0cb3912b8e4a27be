#include "engine/record/series.h"

#include <algorithm>

namespace tapedeck {

std::uint32_t SeriesStore::curve(const std::string& name) {
  const auto [found, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(curves_.size()));
  if (is_new) curves_.push_back({name});
  return found->second;
}

void SeriesStore::add(const std::string& series, double step, double value, std::uint64_t record) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = curve(series);
  entries_.push_back({number, false, step, value, record});
  Curve& known = curves_[number];
  known.trend = {++known.points > 1 ? entries_.size() : 0, known.trend.newest, value};
}

void SeriesStore::restart(const std::string& series) {
  const std::lock_guard lock(mutex_);
  if (!numbers_.contains(series)) return;
  const std::uint32_t number = curve(series);
  curves_[number].valid_from = entries_.size();
  curves_[number].points = 0;
  curves_[number].trend = {};
  entries_.push_back({number, true, 0, 0, 0});
}

SeriesStore::Trend SeriesStore::trend(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = numbers_.find(name); found != numbers_.end()) return curves_[found->second].trend;
  Trend newest;
  for (const Curve& curve : curves_)
    if (curve.name.size() > name.size() + 1 && curve.name.ends_with(name) &&
        curve.name[curve.name.size() - name.size() - 1] == ' ' && curve.trend.position > newest.position)
      newest = curve.trend;
  return newest;
}

std::uint64_t SeriesStore::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

protocol::Series SeriesStore::read(std::uint64_t first, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  protocol::Series answer;
  std::uint64_t at = std::min<std::uint64_t>(first, entries_.size());
  for (; at < entries_.size() && answer.points.size() < limit; ++at) {
    const Entry& entry = entries_[at];
    const Curve& curve = curves_[entry.series];
    if (at < curve.valid_from) continue;
    if (entry.restart)
      answer.restarted.push_back(curve.name);
    else
      answer.points.push_back({curve.name, entry.step, entry.value, entry.record});
  }
  answer.next = at;
  return answer;
}

}  // namespace tapedeck
