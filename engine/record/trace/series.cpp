#include "engine/record/trace/series.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace tapedeck {
namespace {

constexpr std::uint64_t point_gone = ~std::uint64_t{0};

}  // namespace

std::uint32_t SeriesStore::curve(const std::string& name) {
  if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
  const std::string known_as = curves_.size() < most_curves_ ? name : "(names full)";
  const auto [found, is_new] = numbers_.try_emplace(known_as, static_cast<std::uint32_t>(curves_.size()));
  if (is_new) curves_.push_back({known_as});
  return found->second;
}

void SeriesStore::append(Entry entry) {
  if (entries_.size() >= most_points_) drop_void();
  if (entries_.size() >= most_points_) thin_out();
  entry.position = next_++;
  entries_.push_back(entry);
}

void SeriesStore::add(const std::string& series, double step, double value, std::uint64_t record) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = curve(series);
  Curve& known = curves_[number];
  if (std::exchange(known.reopened, false) && known.valid > 0 && !(step > known.last_step)) make_void(number);
  append({0, known.points++, step, value, record, number, false});
  known.last_step = known.valid > 0 ? std::max(known.last_step, step) : step;
  known.trend = {++known.valid > 1 ? next_ : 0, known.trend.newest, value};
}

void SeriesStore::restart(const std::string& series) {
  const std::lock_guard lock(mutex_);
  if (const auto found = numbers_.find(series); found != numbers_.end()) make_void(found->second);
}

void SeriesStore::make_void(std::uint32_t number) {
  Curve& known = curves_[number];
  known.valid_from = next_;
  known.valid = 0;
  known.trend = {};
  known.reopened = false;
  append({0, 0, 0, 0, 0, number, true});
}

void SeriesStore::reopen(const std::string& series, bool again) {
  const std::lock_guard lock(mutex_);
  if (const auto found = numbers_.find(series); found != numbers_.end())
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
    double before = 0;  ///< value of the last point that stayed for good
  };
  const auto distance = [](double value, double from) {
    return std::isfinite(value) ? std::abs(value - from) : HUGE_VAL;
  };
  // First the points that came since at the spacing of the others; a wider one only where that is not enough.
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
  if (const auto found = numbers_.find(name); found != numbers_.end()) return curves_[found->second].trend;
  Trend newest;
  for (const Curve& curve : curves_)
    if (curve.name.size() > name.size() + 1 && curve.name.ends_with(name) &&
        curve.name[curve.name.size() - name.size() - 1] == ' ' && curve.trend.position > newest.position)
      newest = curve.trend;
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
  for (const Curve& curve : curves_) names += 2 * curve.name.size() + sizeof(Curve) + 64;
  return entries_.capacity() * sizeof(Entry) + names;
}

protocol::Series SeriesStore::read(std::uint64_t first, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  protocol::Series answer;
  auto at = std::ranges::lower_bound(entries_, first, {}, &Entry::position);
  for (; at != entries_.end() && answer.points.size() < limit; ++at) {
    const Curve& curve = curves_[at->series];
    if (at->position < curve.valid_from) continue;
    if (at->restart)
      answer.restarted.push_back(curve.name);
    else
      answer.points.push_back({curve.name, at->step, at->value, at->record});
  }
  answer.next = at == entries_.end() ? next_ : at->position;
  return answer;
}

std::vector<protocol::SeriesPoint> SeriesStore::between(std::uint64_t first, std::uint64_t last) const {
  const std::lock_guard lock(mutex_);
  std::vector<protocol::SeriesPoint> points;
  for (const Entry& entry : entries_)
    if (!entry.restart && entry.record >= first && entry.record <= last)
      points.push_back({curves_[entry.series].name, entry.step, entry.value, entry.record});
  return points;
}

std::vector<SeriesStore::Kept> SeriesStore::kept(std::uint64_t& first, std::uint64_t end,
                                                 std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  std::vector<Kept> found;
  auto at = std::ranges::lower_bound(entries_, first, {}, &Entry::position);
  for (; at != entries_.end() && at->position < end && found.size() < limit; ++at)
    found.push_back({{curves_[at->series].name, at->step, at->value, at->record}, at->restart});
  first = at == entries_.end() ? end : std::min(at->position, end);
  return found;
}

}  // namespace tapedeck
