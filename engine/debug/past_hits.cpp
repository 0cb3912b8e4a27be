#include "engine/debug/past_hits.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "engine/debug/calls_around.h"
#include "engine/debug/hit_element.h"
#include "engine/debug/term_look.h"
#include "engine/debug/value_look.h"
#include "engine/ops/core/foreign.h"
#include "engine/protocol/conditions/log_text.h"
#include "engine/protocol/record_filter.h"
#include "engine/record/breakpoints/break_check.h"
#include "engine/record/breakpoints/breakpoint_set.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {
namespace {

using protocol::Breakpoint;
using protocol::BreakpointKind;
using protocol::Condition;
using protocol::Verdict;

constexpr std::chrono::milliseconds most_hit_time(50);
constexpr std::uint32_t hit_block = 1024;
/// How far a line's pass is followed back beyond a block.
constexpr std::uint32_t records_before = 256;

/// Those that stop, with conditions that are some.
protocol::SetBreakpoints stopping(const protocol::FindHit& request) {
  protocol::SetBreakpoints set{{}, request.labels};
  for (const Breakpoint& breakpoint : request.breakpoints)
    if (breakpoint.enabled && breakpoint.action == protocol::BreakpointAction::stop)
      set.breakpoints.push_back(breakpoint);
  return set;
}

/// A breakpoint that may be hit by a record or an assignment.
struct Candidate {
  std::size_t breakpoint = 0;
  std::uint32_t pass = 0;     ///< of a line: the record that it began with
  std::uint64_t written = 0;  ///< the variable's value, of an assignment
  bool of_playback = false;   ///< an op that is a stop only outside of playbacks
  std::uint32_t parent = 0;
  Verdict verdict = Verdict::no;
  Undecided record;
};

class HitSearch {
 public:
  HitSearch(const Recorder& recorder, const protocol::FindHit& request, const CancelFlag* cancel,
            const FindTensor& find)
      : recorder_(recorder),
        request_(request),
        cancel_(cancel),
        set_(stopping(request), recorder.cell_runs(), nullptr, 0, states_),
        values_(recorder, find),
        element_(recorder, find, request.element) {
    for (std::size_t i = 0; i < set_.size(); ++i) {
      auto& terms = terms_.emplace_back();
      for_each_term(set_.at(i).condition, [&](const Condition& leaf) {
        terms.emplace_back(leaf.term, recorder_, request_.labels);
      });
      cells_ = cells_ || set_.at(i).source.kind == BreakpointKind::cell;
    }
    for (protocol::BreakpointState& state : states_)
      if (state.problem) answer_.problems.push_back(std::move(state));
    if (set_.writers() != 0) assignments_ = recorder.data_flow().assignments();
    if (cells_)
      for (const CellRun& run : recorder.cell_runs().newest(SIZE_MAX))
        if (run.last >= run.first || run.state == CellRun::State::running) runs_.emplace(run.first, run.cell);
    recorder.collect_device_times();
  }

  protocol::FoundHit run() {
    const auto give_up = std::chrono::steady_clock::now() + most_hit_time;
    give_up_ = give_up;
    answer_.oldest = recorder_.trace().oldest_kept();
    answer_.newest = recorder_.trace().newest();
    search();
    if (answer_.record || answer_.next == 0) name_lines_without_ops();
    return std::move(answer_);
  }

 private:
  void search() {
    std::uint64_t at =
        request_.forward ? std::max(request_.from, answer_.oldest) : std::min(request_.from, answer_.newest);
    while (at >= answer_.oldest && at <= answer_.newest && set_.size() > 0) {
      check_cancelled(cancel_);
      const auto first = static_cast<std::uint32_t>(
          request_.forward ? at : std::max(answer_.oldest, at < hit_block ? 1 : at - hit_block + 1));
      const auto last = static_cast<std::uint32_t>(
          request_.forward ? std::min<std::uint64_t>(answer_.newest, at + hit_block - 1) : at);
      gather(first, last);
      const std::uint64_t left_at = decide_gathered();
      if (answer_.record || left_at != 0) {
        const std::uint64_t stop = answer_.record.value_or(left_at);
        answer_.looked_at += request_.forward ? stop - first : last - stop;
        answer_.looked_at += answer_.record ? 1 : 0;
        answer_.next = answer_.record ? 0 : left_at;
        return;
      }
      answer_.looked_at += last - first + 1;
      at = request_.forward ? std::uint64_t{last} + 1 : std::uint64_t{first} - 1;
      const bool more = at >= answer_.oldest && at <= answer_.newest;
      if (more && std::chrono::steady_clock::now() >= give_up_) {
        answer_.next = at;
        return;
      }
    }
  }

  /// From the newest record on, until each line has an op: those that have none are known at the end alone.
  void name_lines_without_ops() {
    std::vector<const Breakpoint*> left;
    for (std::size_t i = 0; i < set_.size(); ++i)
      if (set_.at(i).source.kind == BreakpointKind::line) left.push_back(&set_.at(i).source);
    const auto give_up = std::chrono::steady_clock::now() + most_hit_time;
    std::unordered_set<std::uint32_t> seen;
    for (std::uint64_t last = answer_.newest; last >= answer_.oldest && !left.empty();) {
      check_cancelled(cancel_);
      if (std::chrono::steady_clock::now() >= give_up) return;
      const std::uint64_t first = last >= answer_.oldest + hit_block ? last - hit_block + 1 : answer_.oldest;
      const auto end = static_cast<std::uint32_t>(last);
      for (auto next = static_cast<std::uint32_t>(first); next <= end;) {
        const std::uint32_t after = recorder_.trace().glance(next, end, [&](const RecordGlance& record) {
          const RecordHead& head = record.head;
          if (!stands(head) || !seen.insert(head.location).second) return;
          std::erase_if(left, [&](const Breakpoint* source) { return is_here(*source, head.location); });
        });
        if (after <= next) break;  // its thread writes it just now
        next = after;
      }
      last = first - 1;
    }
    for (const Breakpoint* source : left) answer_.without_ops.push_back(source->id);
  }

  /// Where a thread last was in a line: as BreakThread has it, but for the place within the line.
  struct Pass {
    std::uint32_t enclosing = 0, began = 0;
  };

  /// All candidates of these records, in order.
  void gather(std::uint32_t first, std::uint32_t last) {
    candidates_.clear();
    passes_.clear();
    came_from_.clear();
    hiding_.clear();
    playbacks_.clear();
    sides_.clear();
    open_calls_.clear();
    const Trace& trace = recorder_.trace();
    const auto kept = static_cast<std::uint32_t>(answer_.oldest);
    const std::uint32_t before = std::max(kept, first > records_before ? first - records_before : 1);
    std::uint32_t next = before;
    while (next <= last) {
      const std::uint32_t after = trace.glance(next, last, [&](const RecordGlance& record) {
        const std::uint32_t pass = follow(record);
        if (record.number >= first) take(record, pass);
      });
      if (after <= next) break;  // its thread writes it just now
      next = after;
    }
    take_assignments(first, last);
  }

  /// As the recorder has it: the program's own code ran the op in a backward pass of another framework.
  static bool is_of_hook(const RecordHead& head) {
    return head.kind == EventKind::op && head.custom_gradient;
  }

  static bool stands(const RecordHead& head) {
    return head.kind == EventKind::op || head.kind == EventKind::vjp || is_function_call(head);
  }

  /// What a pass of a line lies in: the side of a branch is where its `if` is.
  std::uint32_t enclosing_of(const RecordHead& head) const {
    const auto side = sides_.find(head.parent);
    return side == sides_.end() ? head.parent : side->second;
  }

  /// Behind a call the thread is in the call's line again (Breakpoints::call_ended).
  void leave_calls(const RecordHead& head) {
    auto& open = open_calls_[head.thread];
    while (!open.empty() && head.depth <= open.back().first) {
      came_from_[head.thread] = open.back().second;
      open.pop_back();
    }
  }

  /// The number of the record with which the line's present pass began.
  std::uint32_t follow(const RecordGlance& record) {
    const RecordHead& head = record.head;
    leave_calls(head);
    if (is_branch_side(head)) sides_[record.number] = enclosing_of(head);
    const bool hidden = hiding_.contains(head.parent) && !is_of_hook(head);
    if (hidden || (head.kind == EventKind::vjp && !head.custom_gradient)) hiding_.insert(record.number);
    if (head.kind == EventKind::playback) playbacks_.insert(record.number);
    const bool by_playback =
        head.kind == EventKind::op && !is_of_hook(head) && playbacks_.contains(head.parent);
    const bool is_op = (head.kind == EventKind::op && !by_playback) || is_function_call(head);
    const bool is_sum = by_playback && is_stop_of_playback(*head.op);
    if (hidden || (!is_op && !is_sum && head.kind != EventKind::vjp)) return record.number;
    Pass& pass = passes_[{head.thread, head.location}];
    std::uint32_t& came_from = came_from_[head.thread];
    const bool elsewhere = is_op && came_from != head.location;  // VJPs and their sums are a pass as a whole
    came_from = head.location;
    const std::uint32_t enclosing = enclosing_of(head);
    if (elsewhere || pass.began == 0 || pass.enclosing != enclosing) pass = {enclosing, record.number};
    if (is_function_call(head)) open_calls_[head.thread].emplace_back(head.depth, head.location);
    return pass.began;
  }

  void take(const RecordGlance& record, std::uint32_t pass) {
    const RecordHead& head = record.head;
    for (std::size_t i = 0; i < set_.size(); ++i) {
      CompiledBreakpoint& breakpoint = set_.at(i);
      const Breakpoint& source = breakpoint.source;
      if (source.kind == BreakpointKind::cell && !begins_cell(record.number, source.cell)) continue;
      const bool waits_for_calls = source.kind == BreakpointKind::line || source.kind == BreakpointKind::cell;
      if (head.kind == EventKind::call && !waits_for_calls) continue;
      if (source.kind == BreakpointKind::line) {
        if (!stands(head)) continue;
        if (!is_here(source, head.location)) continue;
        if (breakpoint.before_line && pass != record.number) continue;
        if (head.kind == EventKind::call && breakpoint.at_ops_of_line) continue;
      }
      if (breakpoint.forward != 0 && head.forward != breakpoint.forward) continue;
      if (breakpoint.tensor != 0 &&
          std::ranges::find(record.inputs, breakpoint.tensor) == record.inputs.end())
        continue;
      auto& terms = terms_[i];
      const Verdict verdict = evaluate(
          breakpoint.condition, [&](const Condition& leaf) { return terms[leaf.number].verdict(record); });
      if (verdict == Verdict::no) continue;
      const bool hides = head.kind == EventKind::op && !is_stop_of_playback(*head.op);
      Candidate candidate{i, pass, 0, hides, is_of_hook(head) ? 0 : head.parent, verdict, {}};
      candidate.record.number = record.number;
      candidate.record.outputs.assign(record.outputs.begin(), record.outputs.end());
      if (verdict == Verdict::unknown) {
        if (record.state != RecordState::done) continue;  // it made nothing, or nothing yet
        candidate.record.inputs.assign(record.inputs.begin(), record.inputs.end());
        candidate.record.gives_gradients = gives_gradients(head.kind);
        for (TermLook& term : terms) candidate.record.terms.push_back(term.verdict(record));
      }
      candidates_.push_back(std::move(candidate));
    }
  }

  bool begins_cell(std::uint32_t number, const std::string& cell) const {
    const auto [from, to] = runs_.equal_range(number);
    return std::any_of(from, to, [&](const auto& run) { return run.second == cell; });
  }

  bool is_here(const Breakpoint& source, std::uint32_t location) {
    const auto [known, is_new] = lines_.try_emplace(location);
    if (is_new) known->second = location_of(location);
    return known->second.line == source.line && known->second.cell == source.cell;
  }

  /// What was assigned while one of these records was the newest: after it.
  void take_assignments(std::uint32_t first, std::uint32_t last) {
    if (assignments_.empty()) return;
    auto at = std::ranges::lower_bound(assignments_, first, {}, &Assignment::after);
    std::vector<Candidate> written;
    for (; at != assignments_.end() && at->after <= last; ++at)
      for (std::size_t i = 0; i < set_.size(); ++i) {
        if ((set_.writers() >> i & 1) == 0) continue;
        const AssignmentLook look(recorder_, *at, request_.labels);
        const Condition& condition = set_.at(i).condition;
        const Verdict verdict = evaluate(condition, look);
        if (verdict == Verdict::no) continue;
        Candidate candidate{i, at->after, at->leaf, false, 0, verdict, {}};
        candidate.record.number = at->after;
        candidate.record.outputs.push_back(at->leaf);
        for_each_term(condition,
                      [&](const Condition& leaf) { candidate.record.terms.push_back(look(leaf)); });
        written.push_back(std::move(candidate));
      }
    candidates_.insert(candidates_.end(), std::make_move_iterator(written.begin()),
                       std::make_move_iterator(written.end()));
    std::ranges::stable_sort(candidates_, {}, [](const Candidate& one) { return one.record.number; });
  }

  /// Looks at values in the search's direction. Where there was no time for one: its record; else 0.
  std::uint64_t decide_gathered() {
    if (!request_.forward) std::ranges::reverse(candidates_);
    std::uint32_t begun = 0;  // each answer gets on by one record at least
    const Candidate* hit = nullptr;
    std::set<std::uint32_t> doubtful, lost;
    for (const Candidate& candidate : candidates_) {
      // Of a line that stops once in a pass the first op that holds, which comes later here; of others, what
      // else held there.
      const bool more_of_pass = hit && !request_.forward && once_in_a_pass(*hit) &&
                                candidate.breakpoint == hit->breakpoint && candidate.pass == hit->pass;
      if (hit && !more_of_pass && candidate.record.number != hit->record.number) continue;
      if (is_hidden(candidate)) continue;
      if (candidate.verdict == Verdict::unknown || request_.element) {
        check_cancelled(cancel_);
        const bool next = begun != 0 && begun != candidate.record.number;
        if (!hit && next && std::chrono::steady_clock::now() >= give_up_) {
          count(doubtful, lost);
          return candidate.record.number;
        }
        begun = candidate.record.number;
      }
      const Verdict verdict = decided(candidate);
      if (verdict == Verdict::unknown) (values_.lost() ? lost : doubtful).insert(candidate.record.number);
      if (verdict != Verdict::yes) continue;
      if (!hit || candidate.record.number != hit->record.number) forget_hit();
      note_hit(candidate);
      hit = &candidate;
    }
    count(doubtful, lost);
    return 0;
  }

  void count(const std::set<std::uint32_t>& doubtful, const std::set<std::uint32_t>& lost) {
    answer_.undecided += doubtful.size();
    answer_.lost += lost.size();
  }

  /// As a running program stops: what is decided before an op is a hit once in a pass of its line, what asks
  /// for an op's result is one at each op where it holds (Breakpoints::before and ::after).
  bool once_in_a_pass(const Candidate& candidate) const {
    const CompiledBreakpoint& breakpoint = set_.at(candidate.breakpoint);
    return breakpoint.source.kind == BreakpointKind::line && !breakpoint.needs_end;
  }

  Verdict decided(const Candidate& candidate) {
    const Condition& condition = set_.at(candidate.breakpoint).condition;
    const Verdict verdict = candidate.verdict == Verdict::unknown
                                ? decide(condition, candidate.record, values_)
                                : candidate.verdict;
    if (candidate.verdict != Verdict::unknown) values_.begin({}, {}, false);
    if (verdict != Verdict::yes || !request_.element) return verdict;
    const std::uint64_t tensor = candidate.record.outputs.empty() ? 0 : candidate.record.outputs.front();
    const Verdict holds = element_.verdict(tensor);
    if (holds == Verdict::unknown) values_.note_lost();
    return holds;
  }

  /// Ops inside of a built-in VJP, and what a playback runs beside VJPs and sums of gradients.
  bool is_hidden(const Candidate& candidate) {
    if (candidate.parent == 0) return false;
    const auto [known, is_new] = parents_.try_emplace(candidate.parent);
    if (is_new) {
      RecordView view;
      for (std::uint32_t parent = candidate.parent; parent != 0 && recorder_.trace().read(parent, view);
           parent = view.head.parent) {
        if (parent == candidate.parent) known->second.is_playback = view.head.kind == EventKind::playback;
        known->second.hides |= view.head.kind == EventKind::vjp && !view.head.custom_gradient;
      }
    }
    return known->second.hides || (candidate.of_playback && known->second.is_playback);
  }

  void forget_hit() {
    answer_.breakpoints.clear();
    answer_.reason.clear();
    answer_.value.reset();
  }

  void note_hit(const Candidate& candidate) {
    const Breakpoint& source = set_.at(candidate.breakpoint).source;
    if (std::ranges::find(answer_.breakpoints, source.id) != answer_.breakpoints.end()) return;
    answer_.record = candidate.record.number;
    answer_.breakpoints.push_back(source.id);
    std::string error;
    if (RecordView view;
        source.kind == BreakpointKind::exception && recorder_.trace().read(candidate.record.number, view))
      error = view.error;
    const std::string written =
        candidate.written ? name_of(recorder_.values().name(candidate.written)) : std::string();
    std::string reason = breakpoint_text(source, written, error);
    if (const auto& value = request_.element ? element_.value() : values_.measured()) {
      answer_.value = *value;
      reason += values_.counted() && !request_.element
                    ? ", " + protocol::count_text(static_cast<std::uint64_t>(*value)) +
                          (*value == 1 ? " element" : " elements")
                    : ", it is " + protocol::quantity_text(*value);
    }
    answer_.reason += (answer_.reason.empty() ? "" : "; ") + reason;
  }

  struct Parent {
    bool hides = false, is_playback = false;
  };

  const Recorder& recorder_;
  const protocol::FindHit& request_;
  const CancelFlag* const cancel_;
  std::vector<protocol::BreakpointState> states_;
  const BreakpointSet set_;
  std::vector<std::deque<TermLook>> terms_;  ///< of each breakpoint
  ValueLook values_;
  HitElement element_;
  std::vector<Assignment> assignments_;
  bool cells_ = false;
  std::multimap<std::uint32_t, std::string> runs_;  ///< cells by the first record of a run
  std::unordered_map<std::uint32_t, SourceLocation> lines_;
  std::unordered_map<std::uint32_t, Parent> parents_;
  std::map<std::pair<std::uint16_t, std::uint32_t>, Pass> passes_;  ///< by thread and line
  std::unordered_map<std::uint16_t, std::uint32_t> came_from_;      ///< by thread: its last line
  std::unordered_set<std::uint32_t> hiding_;  ///< records inside of which nothing is a stop
  std::unordered_set<std::uint32_t> playbacks_;
  std::unordered_map<std::uint32_t, std::uint32_t> sides_;  ///< of branches: what they are in
  /// By thread: depth and line of calls that have not ended.
  std::unordered_map<std::uint16_t, std::vector<std::pair<std::uint16_t, std::uint32_t>>> open_calls_;
  std::vector<Candidate> candidates_;
  std::chrono::steady_clock::time_point give_up_;
  protocol::FoundHit answer_;
};

}  // namespace

protocol::FoundHit find_hit(const Recorder& recorder, const protocol::FindHit& request,
                            const CancelFlag* cancel, const FindTensor& find) {
  return HitSearch(recorder, request, cancel, find).run();
}

}  // namespace tapedeck::debug
