#include "engine/debug/profile/lane.h"

#include <algorithm>
#include <cmath>

namespace tapedeck::debug {

void LaneBox::join(const LaneBox& next) {
  to = std::max(to, next.to);
  busy += next.busy;
  count += next.count;
  if (next.longest <= longest) return;
  longest = next.longest;
  record = next.record;
}

struct Lane::Query {
  std::int64_t from, to;
  double pixel;
  const Look& look;
  std::vector<LaneBox>& into;
  std::int64_t last_bucket = -1;  ///< of the box at the end, where it is one of short records

  std::int64_t bucket(std::int64_t time) const {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(time - from) / pixel));
  }

  void take(const LaneBox& box) {
    if (box.count == 0 || box.to <= from || box.from >= to) return;
    const bool is_short =
        static_cast<double>(box.longest) < pixel && static_cast<double>(box.to - box.from) < pixel;
    const std::int64_t at = bucket(box.from);
    if (!is_short || last_bucket != at || into.empty()) {
      into.push_back(box);
      last_bucket = is_short ? at : -1;
      return;
    }
    into.back().join(box);
  }
};

void Lane::Level::put(std::size_t node, const LaneBox& box) {
  const std::size_t place = node - gone;
  if (place < nodes.size())
    nodes[place].join(box);
  else
    nodes.push_back(box);
}

/// With what the level below has so far, but for its last node: that is the record which is being added.
void Lane::add_level() {
  Level& level = levels_.emplace_back();
  if (levels_.size() == 1) return;
  const Level& below = levels_[levels_.size() - 2];
  level.gone = below.gone / fan;
  for (std::size_t i = 0; i + 1 < below.nodes.size(); ++i) level.put((below.gone + i) / fan, below.nodes[i]);
}

void Lane::add(const LaneBox& record) {
  std::size_t node = gone_ + numbers_.size();
  numbers_.push_back(record.record);
  for (std::size_t level = 0;; ++level) {
    node /= fan;
    if (level == levels_.size()) {
      // Another level once there is more than one node below it.
      if (level > 0 && levels_[level - 1].gone + levels_[level - 1].nodes.size() <= 1) break;
      add_level();
    }
    levels_[level].put(node, record);
  }
}

void Lane::forget(std::uint32_t before) {
  const std::size_t count = position(before);
  numbers_.erase(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(count));
  gone_ += count;
  std::size_t first = gone_;
  for (Level& level : levels_) {
    first /= fan;
    while (level.gone < first && !level.nodes.empty()) {
      level.nodes.pop_front();
      ++level.gone;
    }
  }
}

std::size_t Lane::position(std::uint32_t record) const {
  return static_cast<std::size_t>(std::lower_bound(numbers_.begin(), numbers_.end(), record) -
                                  numbers_.begin());
}

// `node` counts from the very first one, dropped or not. Level 0: `fan` records each.
void Lane::descend(Query& query, std::size_t level, std::size_t node) const {
  const Level& here = levels_[level];
  if (node < here.gone || node - here.gone >= here.nodes.size()) return;
  const LaneBox& sum = here.nodes[node - here.gone];
  if (sum.to <= query.from || sum.from >= query.to) return;
  // A node that reaches beyond the span, or into another pixel, is looked at closely; so is one of which a
  // part was dropped.
  const bool whole = node << (fan_bits * (level + 1)) >= gone_;
  if (whole && sum.from >= query.from && sum.to <= query.to &&
      query.bucket(sum.from) == query.bucket(sum.to) && static_cast<double>(sum.longest) < query.pixel) {
    query.take(sum);
    return;
  }
  if (level > 0) {
    for (std::size_t child = node * fan; child < (node + 1) * fan; ++child) descend(query, level - 1, child);
    return;
  }
  const std::size_t first = std::max(node * fan, gone_);
  const std::size_t last = std::min((node + 1) * fan, gone_ + numbers_.size());
  for (std::size_t i = first; i < last; ++i) query.take(query.look(numbers_[i - gone_]));
}

void Lane::boxes(std::int64_t from, std::int64_t to, double pixel, const Look& look,
                 std::vector<LaneBox>& into) const {
  if (levels_.empty() || from >= to) return;
  Query query{from, to, std::max(pixel, 1e-9), look, into};
  const std::size_t top = levels_.size() - 1;
  for (std::size_t node = 0; node < levels_[top].nodes.size(); ++node)
    descend(query, top, levels_[top].gone + node);
}

}  // namespace tapedeck::debug
