#include "inspector/model/ops/group_tree.h"

#include <algorithm>

namespace tapedeck::inspector {

using protocol::RunGroup;

namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};
constexpr std::size_t all = ~std::size_t{0};

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
  forget(1);
  build(all);
}

GroupTree GroupTree::with_level(HeadingLevel level) const {
  GroupTree other;
  other.level_ = level;
  other.known_ = known_;
  other.runs_ = runs_;
  other.steps_ = steps_;
  other.scopes_ = scopes_;
  other.calls_ = calls_;
  other.parts_ = parts_;
  other.known_parts_ = known_parts_;
  return other;
}

protocol::GetRecordGroups GroupTree::next_request() const {
  protocol::GetRecordGroups get;
  get.first = known_ + 1;
  get.run = runs_.empty() ? 1 : runs_.back().number;
  get.step = std::max<std::uint64_t>(steps_.size(), 1);
  return get;
}

std::uint64_t GroupTree::add(const protocol::RecordGroups& answer, std::uint64_t newest) {
  const std::uint64_t from = take_in(answer, newest);
  build(all);
  return from;
}

std::uint64_t GroupTree::take_in(const protocol::RecordGroups& answer, std::uint64_t newest) {
  std::uint64_t from = covered_ + 1;
  from = std::min(from, add_runs(answer));
  from = std::min(from, add_steps(answer));
  add_scopes(answer);
  known_ = std::max(known_, std::min(answer.covered, newest));
  forget(from);
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
  add_calls(answer, parts);
  const std::size_t count = std::min(answer.scope_begins.size(), answer.scope_places.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t begin = answer.scope_begins[i];
    if (answer.scope_places[i] >= parts.size()) continue;
    const std::uint32_t part = parts[answer.scope_places[i]];
    const std::uint32_t call = i < answer.scope_calls.size() ? call_of(answer.scope_calls[i]) : none;
    const Stretch before = scopes_.empty() ? Stretch{} : scopes_.back();
    if (before.part == part && before.call == call) continue;
    if (scopes_.empty() || before.record < begin) scopes_.push_back({begin, part, call});
  }
}

void GroupTree::add_calls(const protocol::RecordGroups& answer, const std::vector<std::uint32_t>& parts) {
  for (const protocol::CallGroup& call : answer.calls) {
    if (!calls_.empty() && calls_.back().record >= call.record) continue;
    calls_.push_back(
        {call.record, call_of(call.around), call.scope < parts.size() ? parts[call.scope] : none, call.name});
  }
}

/// Its place in calls(); none: it is none, or not known.
std::uint32_t GroupTree::call_of(std::uint64_t record) const {
  if (record == 0) return none;
  const auto found = std::ranges::lower_bound(calls_, record, {}, &Call::record);
  return found != calls_.end() && found->record == record ? static_cast<std::uint32_t>(found - calls_.begin())
                                                          : none;
}

std::uint64_t GroupTree::calls_in(std::uint64_t first, std::uint64_t end) const {
  const auto from = std::ranges::lower_bound(calls_, first, {}, &Call::record);
  return static_cast<std::uint64_t>(std::ranges::lower_bound(calls_, end, {}, &Call::record) - from);
}

void GroupTree::forget(std::uint64_t from) {
  covered_ = std::min(covered_, from - 1);
  const auto kept = std::ranges::lower_bound(nodes_, from, {}, &Node::first);
  nodes_.erase(kept, nodes_.end());
  // What the last node is in goes on.
  open_.clear();
  for (std::uint32_t node = nodes_.empty() ? none : static_cast<std::uint32_t>(nodes_.size() - 1);
       node != none; node = nodes_[node].parent) {
    nodes_[node].end = none;
    open_.push_back(node);
  }
  std::ranges::reverse(open_);
}

std::size_t GroupTree::build(std::size_t most) {
  if (level_ == HeadingLevel::none) covered_ = known_;
  if (covered_ >= known_) return 0;
  const auto begun = [from = covered_ + 1](const auto& list, auto first) {
    return static_cast<std::size_t>(std::ranges::upper_bound(list, from, {}, first) - list.begin());
  };
  Walk walk{begun(runs_, &RunGroup::first), begun(steps_, &Step::first), begun(scopes_, &Stretch::record)};
  std::vector<Key> keys;
  std::size_t built = 0;
  for (; covered_ < known_ && built < most; ++built) {
    const std::uint64_t record = covered_ + 1;
    const std::uint64_t next = path(record, walk, keys);
    append(record, keys);
    covered_ = std::clamp(next - 1, record, known_);
  }
  return built;
}

std::uint64_t GroupTree::path(std::uint64_t record, Walk& walk, std::vector<Key>& keys) const {
  while (walk.runs < runs_.size() && runs_[walk.runs].first <= record) ++walk.runs;
  while (walk.steps < steps_.size() && steps_[walk.steps].first <= record) ++walk.steps;
  while (walk.scopes < scopes_.size() && scopes_[walk.scopes].record <= record) ++walk.scopes;
  keys.clear();
  std::uint64_t until = run_of(record, walk.runs, keys);
  const RunGroup* run = keys.empty() ? nullptr : &runs_[keys[0].source];
  if (level_ >= HeadingLevel::step) until = std::min(until, step_of(record, walk.steps, run, keys));
  if (level_ >= HeadingLevel::step) until = std::min(until, scope_of(walk.scopes, keys));
  return until;
}

std::uint64_t GroupTree::run_of(std::uint64_t record, std::size_t after, std::vector<Key>& keys) const {
  const std::uint64_t next = after == runs_.size() ? never : runs_[after].first;
  // Of several that begin at one record all but the last have none.
  for (std::size_t place = after; place-- > 0;) {
    const RunGroup& run = runs_[place];
    if (!has_records(run)) continue;
    if (run.last && *run.last < record) break;
    keys.push_back({Kind::run, static_cast<std::uint32_t>(place)});
    return run.last ? std::min(next, *run.last + 1) : next;
  }
  return next;
}

std::uint64_t GroupTree::step_of(std::uint64_t record, std::size_t after, const RunGroup* run,
                                 std::vector<Key>& keys) const {
  const std::uint64_t next = after == steps_.size() ? never : steps_[after].first;
  if (after == 0) return next;
  const Step& step = steps_[after - 1];
  const auto place = static_cast<std::uint32_t>(after - 1);
  if (record <= step.last) {
    keys.push_back({Kind::step, place});
    return std::min(next, step.last + 1);
  }
  if (!run || step.last >= run->first) keys.push_back({Kind::after, place});
  return next;
}

std::uint64_t GroupTree::scope_of(std::size_t after, std::vector<Key>& keys) const {
  if (after > 0) {
    const Stretch& here = scopes_[after - 1];
    push_call(here.call, keys);
    push_scope(here.part, here.call == none ? none : calls_[here.call].part, keys);
  }
  return after == scopes_.size() ? never : scopes_[after].record;
}

/// The scope's parts from the outside in, but for those that it shares with the call around it.
void GroupTree::push_scope(std::uint32_t part, std::uint32_t around, std::vector<Key>& keys) const {
  if (level_ < HeadingLevel::scope) return;
  const auto outer = static_cast<std::ptrdiff_t>(keys.size());
  for (; part != none && part != around; part = parts_[part].before) keys.push_back({Kind::scope, part});
  std::reverse(keys.begin() + outer, keys.end());
}

void GroupTree::push_call(std::uint32_t call, std::vector<Key>& keys) const {
  std::vector<std::uint32_t> chain;
  for (; call != none; call = calls_[call].around) chain.push_back(call);
  std::uint32_t around = none;
  for (std::size_t i = chain.size(); i-- > 0;) {
    push_scope(calls_[chain[i]].part, around, keys);
    keys.push_back({Kind::call, chain[i]});
    around = calls_[chain[i]].part;
  }
}

void GroupTree::append(std::uint64_t record, const std::vector<Key>& keys) {
  std::size_t same = 0;
  while (same < open_.size() && same < keys.size() &&
         keys[same] == Key{nodes_[open_[same]].kind, nodes_[open_[same]].source})
    ++same;
  const bool plain = open_.size() == same + 1 && nodes_[open_[same]].kind == Kind::plain;
  if (same == keys.size() && (open_.size() == same || plain) && !open_.empty()) return;
  for (std::size_t i = same; i < open_.size(); ++i)
    nodes_[open_[i]].end = static_cast<std::uint32_t>(nodes_.size());
  open_.resize(same);
  const auto push = [&](const Key& key) {
    const auto depth = static_cast<std::uint8_t>(std::min<std::size_t>(open_.size(), 255));
    const std::uint32_t parent = open_.empty() ? none : open_.back();
    open_.push_back(static_cast<std::uint32_t>(nodes_.size()));
    nodes_.push_back({record, parent, none, key.source, key.kind, depth});
  };
  if (same == keys.size()) return push({});
  for (std::size_t i = same; i < keys.size(); ++i) push(keys[i]);
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
