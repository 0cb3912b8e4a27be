#include "engine/debug/training_steps.h"

#include <algorithm>
#include <utility>

#include "engine/ops/core/foreign.h"
#include "engine/record/trace/scope.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t step_records = 8192;  // a glance: no record is forgotten meanwhile
constexpr std::size_t most_assignments = std::size_t{1} << 17;

bool updates(const RecordHead& head) {
  return head.kind == EventKind::op && is_update(head.op, head.scope, head.backward);
}

}  // namespace

// "SGD.step" is innermost: what a closure does is in a module's scope, or in a backward pass.
bool is_update(const OpDef* op, std::uint32_t scope, bool backward) {
  if (!op) return false;
  if (op->updates) return true;
  if (backward || scope == 0 || !is_foreign(*op)) return false;
  const ForeignOp* foreign = foreign_of(*op);
  return foreign && foreign->writes && scope_text(scope).ends_with(".step");
}

// The recorder says what a playback is asked for when its record is there to be seen already.
void TrainingSteps::find_sources() {
  while (!asked_.empty() && asked_.front().playback < playback_) asked_.pop_front();
  if (asked_.empty() || asked_.front().playback != playback_) return;
  sources_.insert(asked_.front().sources.begin(), asked_.front().sources.end());
  asked_.pop_front();
}

void TrainingSteps::take_playback(std::uint32_t record) {
  if (open_) {
    begun_ = {steps_.back().last + 1, 0, record};
    open_ = false;
  } else if (begun_.playback == 0) {
    begun_.playback = record;
  } else if (begun_.playback <= forgotten_until_) {
    begun_ = {record, 0, record, true};
  }
  plays_ = true;
  playback_ = record;
  sources_.clear();
  find_sources();
}

void TrainingSteps::take_update(std::uint32_t record) {
  if (open_) {
    steps_.back().last = std::max(steps_.back().last, record);
  } else {
    if (record < begun_.playback) return;
    begun_.last = record;
    if (begun_.first == 0) begun_.first = 1;
    steps_.push_back(begun_);
    begun_ = {};
    open_ = true;
  }
  if (on_update_) on_update_(steps_.size(), record);
}

bool TrainingSteps::made_by_update(std::uint64_t tensor) const {
  const std::uint32_t producer = recorder_->trace().tensors().get(tensor).producer();
  bool update = false;
  if (producer != 0)
    recorder_->trace().glance(producer, producer, [&](const RecordGlance& record) {
      update = record.number == producer && updates(record.head);
    });
  return update;
}

std::uint64_t TrainingSteps::cell_run_of(const Assignment& assignment) const {
  constexpr std::size_t first_look = 4;
  const CellRuns& all = recorder_->cell_runs();
  for (std::size_t count = first_look;; count *= 8) {
    const std::vector<CellRun> runs = all.newest(count);
    for (auto run = runs.rbegin(); run != runs.rend(); ++run)
      if (run->newest_tensor ? assignment.leaf > run->newest_tensor : assignment.after >= run->first)
        return run->number;
    if (runs.size() < count) return 0;
  }
}

void TrainingSteps::take_assignments(std::uint32_t before) {
  while (!assignments_.empty() && assignments_.front().after < before) {
    const Assignment assignment = assignments_.front();
    assignments_.pop_front();
    const auto [value, fresh] = values_.try_emplace(assignment.variable, assignment.leaf);
    const std::uint64_t old = fresh ? 0 : std::exchange(value->second, assignment.leaf);
    if (fresh) continue;
    // The second assignment to a variable after a playback begins at a value that is not a source. In the
    // next cell it is none of the step's: values are set back there.
    std::uint64_t source = sources_.contains(old) ? old : 0;
    if (source == 0 && open_)
      for (const HandUpdate& earlier : hand_updates(steps_.size()))
        if (earlier.variable == assignment.variable && earlier.cell_run == cell_run_of(assignment))
          source = earlier.before;
    if (source == 0 || made_by_update(assignment.value)) continue;
    take_update(assignment.after);
    if (open_)
      by_hand_[steps_.size()].push_back(
          {assignment.variable, source, assignment.leaf, assignment.after, cell_run_of(assignment)});
  }
}

void TrainingSteps::take(const Event& event) {
  take_assignments(event.record);
  if (event.what == What::playback) return take_playback(event.record);
  if (event.what == What::update) {
    thread_ = event.thread;
    return take_update(event.record);
  }
  if (plays_ || !open_ || event.thread != thread_) return;
  begun_ = {steps_.back().last + 1, 0, 0};
  open_ = false;
}

void TrainingSteps::read_data_flow() {
  const DataFlowLog& data_flow = recorder_->data_flow();
  const std::uint64_t known = last_leaf_;
  std::uint64_t first = 0;
  std::uint32_t after = 0;
  for (;;) {
    const std::vector<Assignment> more = data_flow.assignments_after(last_leaf_, most_assignments);
    if (more.empty()) break;
    if (first == 0) first = more.front().leaf, after = more.front().after;
    assignments_.insert(assignments_.end(), more.begin(), more.end());
    last_leaf_ = more.back().leaf;
  }
  const std::uint64_t forgotten = data_flow.newest_forgotten();
  if (known < forgotten && forgotten < first) forgotten_until_ = after;
  for (RequestedGradients& asked : data_flow.requests_after(last_asked_, most_assignments)) {
    last_asked_ = std::max(last_asked_, asked.playback);
    asked_.push_back(std::move(asked));
  }
  find_sources();
}

/// Returns the record after the last one that was read; `next_` where that is just being written.
std::uint32_t TrainingSteps::read_events(std::uint32_t last, std::vector<Event>& events) const {
  events.clear();
  bool plays = plays_;
  return recorder_->trace().glance(next_, last, [&](const RecordGlance& record) {
    const RecordHead& head = record.head;
    if (head.kind == EventKind::playback) {
      plays = true;
      events.push_back({record.number, head.thread, What::playback});
    } else if (updates(head)) {
      events.push_back({record.number, head.thread, What::update});
    } else if (!plays && head.depth == 0) {
      const Event* before = events.empty() ? nullptr : &events.back();
      if (!before || before->what != What::other || before->thread != head.thread)
        events.push_back({record.number, head.thread, What::other});
    }
  });
}

void TrainingSteps::extend(const CancelFlag* cancel, std::uint32_t to) {
  const Trace& trace = recorder_->trace();
  // First, for what is said of the records before it was said when it began.
  const std::uint32_t newest = std::min(trace.newest(), to);
  read_data_flow();
  std::vector<Event> events;
  while (next_ <= newest) {
    check_cancelled(cancel);
    if (const std::uint32_t oldest = trace.oldest_kept(); oldest > next_) {
      next_ = oldest;
      unread_ = oldest - 1;
      continue;
    }
    const std::uint32_t after = read_events(std::min(newest, next_ + step_records - 1), events);
    if (after <= next_) break;  // its thread writes it just now
    for (const Event& event : events) take(event);
    next_ = after;
  }
  take_assignments(next_);
}

std::size_t TrainingSteps::step_of(std::uint32_t record) const {
  const auto found = std::ranges::lower_bound(steps_, record, {}, &TrainingStep::last);
  return static_cast<std::size_t>(found - steps_.begin()) + 1;
}

std::vector<HandUpdate> TrainingSteps::hand_updates(std::size_t number) const {
  const auto found = by_hand_.find(number);
  return found == by_hand_.end() ? std::vector<HandUpdate>{} : found->second;
}

}  // namespace tapedeck::debug
