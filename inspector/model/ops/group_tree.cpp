#include "inspector/model/ops/group_tree.h"

#include <algorithm>

namespace tapedeck::inspector {

using protocol::RunGroup;

namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};

bool has_records(const RunGroup& run) {
  return !run.last || *run.last >= run.first;
}

}  // namespace

void GroupTree::clear() {
  const HeadingLevel level = level_;
  *this = GroupTree();
  level_ = level;
}

void GroupTree::set_level(HeadingLevel level) {
  level_ = level;
  build(1);
}

protocol::GetRecordGroups GroupTree::next_request() const {
  protocol::GetRecordGroups get;
  get.first = covered_ + 1;
  get.run = runs_.empty() ? 1 : runs_.back().number;
  get.step = std::max<std::uint64_t>(steps_.size(), 1);
  return get;
}

std::uint64_t GroupTree::add(const protocol::RecordGroups& answer, std::uint64_t newest) {
  std::uint64_t from = covered_ + 1;
  from = std::min(from, add_runs(answer));
  from = std::min(from, add_steps(answer));
  add_scopes(answer);
  covered_ = std::max(covered_, std::min(answer.covered, newest));
  build(from);
  return from;
}

std::uint64_t GroupTree::add_runs(const protocol::RecordGroups& answer) {
  std::uint64_t from = never;
  for (const RunGroup& run : answer.runs) {
    if (!runs_.empty() && runs_.back().number == run.number) {
      RunGroup& known = runs_.back();
      // Where a run ends, those that come later are no longer in it.
      if (known.last != run.last) from = std::min(from, run.last.value_or(run.first) + 1);
      known = run;
    } else if (runs_.empty() || runs_.back().number < run.number) {
      from = std::min(from, run.first);
      runs_.push_back(run);
    }
  }
  return from;
}

std::uint64_t GroupTree::add_steps(const protocol::RecordGroups& answer) {
  std::uint64_t from = never;
  const std::size_t count =
      std::min({answer.step_firsts.size(), answer.step_lasts.size(), answer.step_numbers.size()});
  std::size_t place = std::max<std::size_t>(steps_.size(), 1) - 1;
  for (std::size_t i = 0; i < count; ++i, ++place) {
    const Step step{answer.step_firsts[i], answer.step_lasts[i], answer.step_numbers[i]};
    if (place < steps_.size()) {
      if (steps_[place] == step) continue;
      from = std::min({from, steps_[place].first, step.first});
      steps_[place] = step;
    } else {
      from = std::min(from, step.first);
      steps_.push_back(step);
    }
  }
  return from;
}

std::uint32_t GroupTree::part_of(const std::string& scope) {
  if (scope.empty()) return none;
  if (const auto known = known_parts_.find(scope); known != known_parts_.end()) return known->second;
  const std::size_t slash = scope.rfind('/');
  const std::uint32_t before = slash == std::string::npos ? none : part_of(scope.substr(0, slash));
  parts_.push_back({before, slash == std::string::npos ? scope : scope.substr(slash + 1)});
  const auto part = static_cast<std::uint32_t>(parts_.size() - 1);
  known_parts_[scope] = part;
  return part;
}

void GroupTree::add_scopes(const protocol::RecordGroups& answer) {
  std::vector<std::uint32_t> parts;
  for (const std::string& scope : answer.scopes) parts.push_back(part_of(scope));
  const std::size_t count = std::min(answer.scope_begins.size(), answer.scope_places.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t begin = answer.scope_begins[i];
    if (answer.scope_places[i] >= parts.size()) continue;
    const std::uint32_t part = parts[answer.scope_places[i]];
    if (scopes_.empty() ? part == none : scopes_.back().second == part) continue;
    if (scopes_.empty() || scopes_.back().first < begin) scopes_.emplace_back(begin, part);
  }
}

void GroupTree::build(std::uint64_t from) {
  const auto kept = std::ranges::lower_bound(nodes_, from, {}, &Node::first);
  nodes_.erase(kept, nodes_.end());
  // What the last node is in goes on.
  for (std::uint32_t node = nodes_.empty() ? none : static_cast<std::uint32_t>(nodes_.size() - 1);
       node != none; node = nodes_[node].parent)
    nodes_[node].end = none;
  if (level_ == HeadingLevel::none) return;
  std::vector<Key> keys;
  for (std::uint64_t record = from; record <= covered_;) {
    const std::uint64_t next = path(record, keys);
    append(record, keys);
    record = std::max(next, record + 1);
  }
}

std::uint64_t GroupTree::path(std::uint64_t record, std::vector<Key>& keys) const {
  keys.clear();
  std::uint64_t until = run_of(record, keys);
  const RunGroup* run = keys.empty() ? nullptr : &runs_[keys[0].source];
  if (level_ >= HeadingLevel::step) until = std::min(until, step_of(record, run, keys));
  if (level_ >= HeadingLevel::scope) until = std::min(until, scope_of(record, keys));
  return until;
}

std::uint64_t GroupTree::run_of(std::uint64_t record, std::vector<Key>& keys) const {
  const auto after = std::ranges::upper_bound(runs_, record, {}, &RunGroup::first);
  const std::uint64_t next = after == runs_.end() ? never : after->first;
  // Of several that begin at one record all but the last have none.
  for (auto run = after; run != runs_.begin();) {
    --run;
    if (!has_records(*run)) continue;
    if (run->last && *run->last < record) break;
    keys.push_back({Kind::run, static_cast<std::uint32_t>(run - runs_.begin())});
    return run->last ? std::min(next, *run->last + 1) : next;
  }
  return next;
}

std::uint64_t GroupTree::step_of(std::uint64_t record, const RunGroup* run, std::vector<Key>& keys) const {
  const auto after = std::ranges::upper_bound(steps_, record, {}, &Step::first);
  const std::uint64_t next = after == steps_.end() ? never : after->first;
  if (after == steps_.begin()) return next;
  const auto step = std::prev(after);
  const auto place = static_cast<std::uint32_t>(step - steps_.begin());
  if (record <= step->last) {
    keys.push_back({Kind::step, place});
    return std::min(next, step->last + 1);
  }
  if (!run || step->last >= run->first) keys.push_back({Kind::after, place});
  return next;
}

std::uint64_t GroupTree::scope_of(std::uint64_t record, std::vector<Key>& keys) const {
  const auto after =
      std::ranges::upper_bound(scopes_, record, {}, &std::pair<std::uint64_t, std::uint32_t>::first);
  if (after != scopes_.begin()) {
    const auto outer = static_cast<std::ptrdiff_t>(keys.size());
    for (std::uint32_t part = std::prev(after)->second; part != none; part = parts_[part].before)
      keys.push_back({Kind::scope, part});
    std::reverse(keys.begin() + outer, keys.end());
  }
  return after == scopes_.end() ? never : after->first;
}

void GroupTree::append(std::uint64_t record, const std::vector<Key>& keys) {
  // The groups that are open, from the outside in; a plain node at their end.
  std::vector<std::uint32_t> open;
  for (std::uint32_t node = nodes_.empty() ? none : static_cast<std::uint32_t>(nodes_.size() - 1);
       node != none; node = nodes_[node].parent)
    open.push_back(node);
  std::reverse(open.begin(), open.end());
  std::size_t same = 0;
  while (same < open.size() && same < keys.size() &&
         keys[same] == Key{nodes_[open[same]].kind, nodes_[open[same]].source})
    ++same;
  const bool plain = open.size() == same + 1 && nodes_[open[same]].kind == Kind::plain;
  if (same == keys.size() && (open.size() == same || plain) && !open.empty()) return;
  const auto close_to = static_cast<std::uint32_t>(nodes_.size());
  for (std::size_t i = same; i < open.size(); ++i) nodes_[open[i]].end = close_to;
  std::uint32_t parent = same ? open[same - 1] : none;
  for (std::size_t i = same; i < keys.size(); ++i) {
    nodes_.push_back({record, parent, none, keys[i].source, keys[i].kind,
                      static_cast<std::uint8_t>(std::min<std::size_t>(i, 255))});
    parent = static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  if (same == keys.size())
    nodes_.push_back({record, parent, none, none, Kind::plain,
                      static_cast<std::uint8_t>(std::min<std::size_t>(same, 255))});
}

std::uint32_t GroupTree::node_of(std::uint64_t record) const {
  if (record > covered_) return none;
  const auto after = std::ranges::upper_bound(nodes_, record, {}, &Node::first);
  return after == nodes_.begin() ? none : static_cast<std::uint32_t>(after - nodes_.begin() - 1);
}

std::uint64_t GroupTree::end_of(std::uint32_t node) const {
  const std::uint32_t end = nodes_[node].end;
  return end == none ? covered_ + 1 : nodes_[end].first;
}

}  // namespace tapedeck::inspector
