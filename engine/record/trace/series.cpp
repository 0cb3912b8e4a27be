#include "engine/record/trace/series.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace tapedeck {
namespace {

constexpr std::uint64_t point_gone = ~std::uint64_t{0};

}  // namespace

std::uint32_t SeriesStore::curve(const std::string& name, const std::string& cell) {
  protocol::CurveInfo info{protocol::drawn_key(name, cell), name, cell, 0, {}};
  if (const auto found = numbers_.find(info.series); found != numbers_.end()) return found->second;
  if (curves_.size() >= most_curves_) info = {"(names full)", "(names full)", {}, 0, {}};
  const auto [found, is_new] = numbers_.try_emplace(info.series, static_cast<std::uint32_t>(curves_.size()));
  if (is_new) curves_.push_back({std::move(info)});
  return found->second;
}

void SeriesStore::begin_run(const std::string& cell, std::uint64_t execution) {
  const std::lock_guard lock(mutex_);
  cell_ = cell;
  execution_ = execution;
}

void SeriesStore::append(Entry entry) {
  if (entries_.size() >= most_points_) drop_void();
  if (entries_.size() >= most_points_) thin_out();
  entry.position = next_++;
  entries_.push_back(entry);
}

void SeriesStore::add(const std::string& name, double step, double value, std::uint64_t record,
                      std::string_view x) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = curve(name, cell_);
  Curve& known = curves_[number];
  const bool begins_again =
      (std::exchange(known.reopened, false) && !(step > known.last_step)) || known.info.x != x;
  if (known.valid > 0 && begins_again) make_void(number);
  known.info.x = x;
  known.info.execution = execution_;
  add_to(number, step, value, record);
}

void SeriesStore::add_to(std::uint32_t number, double step, double value, std::uint64_t record) {
  Curve& known = curves_[number];
  append({0, known.points++, step, value, record, number, false});
  known.last_step = known.valid > 0 ? std::max(known.last_step, step) : step;
  known.trend = {++known.valid > 1 ? next_ : 0, known.trend.newest, value};
}

void SeriesStore::restore(const protocol::CurveInfo& info, const protocol::SeriesPoint& point, bool restart) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = curve(info.name, info.cell);
  curves_[number].info.x = info.x;
  curves_[number].info.execution = info.execution;
  if (restart)
    make_void(number);
  else
    add_to(number, point.step, point.value, point.record);
}

std::optional<protocol::CurveInfo> SeriesStore::info(const std::string& series) const {
  const std::lock_guard lock(mutex_);
  const auto found = numbers_.find(series);
  return found == numbers_.end() ? std::nullopt : std::optional(curves_[found->second].info);
}

void SeriesStore::restart(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = numbers_.find(protocol::drawn_key(name, cell_)); found != numbers_.end())
    make_void(found->second);
}

void SeriesStore::make_void(std::uint32_t number) {
  Curve& known = curves_[number];
  known.valid_from = next_;
  known.valid = 0;
  known.trend = {};
  known.reopened = false;
  append({0, 0, 0, 0, 0, number, true});
}

void SeriesStore::reopen(const std::string& name, bool again) {
  const std::lock_guard lock(mutex_);
  if (const auto found = numbers_.find(protocol::drawn_key(name, cell_)); found != numbers_.end())
    curves_[found->second].reopened = again;
}

void SeriesStore::drop_void() {
  std::erase_if(entries_,
                [this](const Entry& entry) { return entry.position < curves_[entry.series].valid_from; });
}

void SeriesStore::thin_out() {
  struct Bucket {
    std::optional<std::size_t> chosen;  ///< index in `kept`
    std::uint64_t number = 0;
    double before = 0;  ///< value of the last point that was kept
  };
  const auto distance = [](double value, double from) {
    return std::isfinite(value) ? std::abs(value - from) : HUGE_VAL;
  };
  // First thins out newer points to the spacing of the others; widens the spacing only if that is not enough.
  for (;; ++spacing_bits_) {
    std::vector<Entry> kept;
    std::vector<Bucket> buckets(curves_.size());
    for (const Entry& entry : entries_) {
      Bucket& bucket = buckets[entry.series];
      const std::uint64_t number = entry.place >> spacing_bits_;
      if (entry.restart || !bucket.chosen || bucket.number != number) {
        if (bucket.chosen) bucket.before = kept[*bucket.chosen].value;
        bucket.number = number;
        bucket.chosen = entry.restart ? std::nullopt : std::optional(kept.size());
        kept.push_back(entry);
        continue;
      }
      ++thinned_;
      Entry& chosen = kept[*bucket.chosen];
      if (distance(entry.value, bucket.before) <= distance(chosen.value, bucket.before)) continue;
      chosen.position = point_gone;
      bucket.chosen = kept.size();
      kept.push_back(entry);
    }
    std::erase_if(kept, [](const Entry& entry) { return entry.position == point_gone; });
    entries_.swap(kept);
    if (entries_.size() <= most_points_ - most_points_ / 8 || spacing_bits_ == 62) break;
  }
}

SeriesStore::Trend SeriesStore::trend(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = numbers_.find(protocol::drawn_key(name, cell_)); found != numbers_.end())
    return curves_[found->second].trend;
  Trend newest;
  for (const Curve& curve : curves_) {
    const std::string& called = curve.info.name;
    const bool fits = called == name || (called.size() > name.size() + 1 && called.ends_with(name) &&
                                         called[called.size() - name.size() - 1] == ' ');
    if (fits && curve.trend.position > newest.position) newest = curve.trend;
  }
  return newest;
}

void SeriesStore::restore_thinned(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  thinned_ += count;
}

std::uint64_t SeriesStore::size() const {
  const std::lock_guard lock(mutex_);
  return next_;
}

std::uint64_t SeriesStore::thinned() const {
  const std::lock_guard lock(mutex_);
  return thinned_;
}

std::uint64_t SeriesStore::bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t names = 0;
  for (const Curve& curve : curves_)
    names += 3 * curve.info.series.size() + curve.info.x.size() + sizeof(Curve) + 64;
  return entries_.capacity() * sizeof(Entry) + names;
}

protocol::Series SeriesStore::read(std::uint64_t first, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  protocol::Series answer;
  std::vector<bool> told(curves_.size(), false);
  auto at = std::ranges::lower_bound(entries_, first, {}, &Entry::position);
  for (; at != entries_.end() && answer.points.size() < limit; ++at) {
    const Curve& curve = curves_[at->series];
    if (at->position < curve.valid_from) continue;
    if (at->restart) {
      answer.restarted.push_back(curve.info.series);
      continue;
    }
    answer.points.push_back({curve.info.series, at->step, at->value, at->record});
    if (told[at->series]) continue;
    told[at->series] = true;
    answer.curves.push_back(curve.info);
  }
  answer.next = at == entries_.end() ? next_ : at->position;
  return answer;
}

std::vector<protocol::SeriesPoint> SeriesStore::between(std::uint64_t first, std::uint64_t last) const {
  const std::lock_guard lock(mutex_);
  std::vector<protocol::SeriesPoint> points;
  for (const Entry& entry : entries_)
    if (!entry.restart && entry.record >= first && entry.record <= last)
      points.push_back({curves_[entry.series].info.series, entry.step, entry.value, entry.record});
  return points;
}

std::vector<SeriesStore::Kept> SeriesStore::kept(std::uint64_t& first, std::uint64_t end,
                                                 std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  std::vector<Kept> found;
  auto at = std::ranges::lower_bound(entries_, first, {}, &Entry::position);
  for (; at != entries_.end() && at->position < end && found.size() < limit; ++at)
    found.push_back({{curves_[at->series].info.series, at->step, at->value, at->record}, at->restart});
  first = at == entries_.end() ? end : std::min(at->position, end);
  return found;
}

}  // namespace tapedeck
