#include "engine/debug/what_if.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "engine/debug/change_set.h"
#include "engine/debug/describe.h"
#include "engine/debug/past_change.h"
#include "engine/debug/tile.h"
#include "engine/debug/why/elements.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/ops.h"
#include "engine/protocol/conditions/log_text.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_text.h"
#include "engine/tape/variable.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint64_t most_run = 20'000;
constexpr std::size_t most_told = 200;
constexpr std::size_t most_previews = 1000;

/// Norms of both, and of their difference in shares of the original's.
struct Movement {
  double before = 0, after = 0, relative = 0;
};

/// Both finite, or the same NaN or infinity.
bool comparable(double a, double b) {
  return std::isfinite(a) ? std::isfinite(b) : a == b || (std::isnan(a) && std::isnan(b));
}

Movement compare(const Tensor& original, const Tensor& branch) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (original.shape() != branch.shape()) return {0, 0, infinity};
  const std::vector<double> a = original.to_vector(), b = branch.to_vector();
  double before = 0, after = 0, moved = 0;
  bool beyond = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    before += a[i] * a[i];
    after += b[i] * b[i];
    if (!comparable(a[i], b[i])) beyond = true;
    if (std::isfinite(a[i]) && std::isfinite(b[i])) moved += (b[i] - a[i]) * (b[i] - a[i]);
  }
  Movement movement{std::sqrt(before), std::sqrt(after), 0};
  if (a.size() == 1) movement = {a[0], b[0], 0};
  if (beyond || (before == 0 && moved > 0))
    movement.relative = infinity;
  else if (moved > 0)
    movement.relative = std::isfinite(before) ? std::sqrt(moved / before) : std::sqrt(moved);
  return movement;
}

/// Which results depend on the branch's changes, up to record `last`.
struct Depending {
  std::uint32_t record = 0;
  std::uint64_t tensor = 0;
};

std::vector<Depending> depending_on(Branch& branch, const Trace& trace, std::uint32_t last,
                                    std::uint64_t& count, const CancelFlag& cancel) {
  std::vector<Depending> found;
  RecordView record;
  for (std::uint32_t number = trace.oldest_kept(); number <= last; ++number) {
    check_cancelled(&cancel);
    if (!trace.read(number, record) || record.head.kind != EventKind::op) continue;
    // Not even what depends is known: which tensors lie in one memory is not in a file.
    if (is_foreign(*record.head.op) && !can_run_foreign())
      throw ValueError(
          "gone", "Op " + protocol::count_text(number) + " (" + record.name() +
                      ") is one of PyTorch's, and PyTorch is not loaded here: What if? runs ops again in the "
                      "process of the program. Run the program in the window to ask.");
    for (const std::uint64_t id : record.outputs) {
      if (!id || !branch.depends(id, &cancel)) continue;
      if (++count <= most_run) found.push_back({number, id});
    }
  }
  return found;
}

/// `changed`: rising. A change of an op leaves the VJP that was recorded of it: the branch runs it as that of
/// the op as it was.
std::string unchanged_vjp(const std::vector<std::uint32_t>& changed, const Trace& trace, std::uint32_t last,
                          const CancelFlag& cancel) {
  if (changed.empty()) return {};
  RecordView record;
  for (std::uint32_t number = changed.front() + 1; number <= last; ++number) {
    check_cancelled(&cancel);
    if (!trace.read(number, record) || record.head.kind != EventKind::vjp ||
        !std::ranges::binary_search(changed, record.head.forward))
      continue;
    return " The VJP of " + record.name() + " (op " + protocol::count_text(number) +
           ") is still that of op " + protocol::count_text(record.head.forward) +
           " as it was, so gradients through it are not those of a program with this change.";
  }
  return {};
}

std::string op_text(const RecordView& record) {
  return record.name() + " (op " + protocol::count_text(record.number) + ")";
}

/// Of PyTorch's random ops.
std::string random_note(const Branch& branch, const Trace& trace) {
  const std::set<std::uint32_t>& kept = branch.kept_random();
  RecordView record;
  if (kept.empty() || !trace.read(*kept.begin(), record)) return {};
  const std::string others = kept.size() == 1 ? "" : " and " + counted(kept.size() - 1, "other random op");
  return op_text(record) + others +
         (kept.size() == 1 ? " draws random numbers and keeps its" : " draw random numbers and keep their") +
         " recorded result, though what it is drawn from depends on the change.";
}

/// Tensors that share memory with one that a change names, and are older: what reads the memory through them
/// does not get the change.
std::set<std::uint64_t> memory_below(std::uint64_t tensor, const Trace& trace) {
  std::set<std::uint64_t> below;
  std::vector<std::uint64_t> waiting{tensor};
  RecordView record;
  while (!waiting.empty()) {
    const std::uint64_t id = waiting.back();
    waiting.pop_back();
    const auto add = [&](std::uint64_t older) {
      if (older && below.insert(older).second) waiting.push_back(older);
    };
    if (const auto shared = shared_place_of(id); shared && trace.tensors().get(id).producer() == 0)
      for (const MemoryPart& part : shared->parts) add(part.tensor);
    const std::uint32_t producer = trace.tensors().get(id).producer();
    const ForeignOp* op =
        producer && trace.read(producer, record) && record.head.op ? foreign_of(*record.head.op) : nullptr;
    const bool is_view = op && std::ranges::any_of(op->results, [](const ForeignValue& result) {
                           return result.is_tensor && !result.alias.empty() && !result.written;
                         });
    if (is_view && !record.inputs.empty()) add(record.inputs[0]);
  }
  return below;
}

std::string view_note(const std::vector<Change>& changes, const Recorder& recorder, std::uint32_t last,
                      const CancelFlag& cancel) {
  const Trace& trace = recorder.trace();
  for (const Change& change : changes) {
    if (change.record) continue;
    const std::set<std::uint64_t> below = memory_below(change.tensor, trace);
    RecordView record;
    for (std::uint32_t number = trace.tensors().get(change.tensor).producer() + 1;
         !below.empty() && number <= last; ++number) {
      check_cancelled(&cancel);
      if (!trace.read(number, record) || record.head.kind != EventKind::op) continue;
      const auto read =
          std::ranges::find_if(record.inputs, [&](std::uint64_t id) { return below.contains(id); });
      if (read == record.inputs.end() ||
          std::ranges::find(record.outputs, change.tensor) != record.outputs.end())
        continue;
      return tensor_text(recorder, change.tensor) + " shares its memory with " +
             tensor_text(recorder, *read) + ", through which " + op_text(record) +
             " reads it later: what is read in that way is not changed. Change that tensor to change both.";
    }
  }
  return {};
}

/// At most 10 times a second.
class Progressing {
 public:
  Progressing(const Jobs::Report& report, std::size_t total) : report_(report), total_(total) {}
  void done(std::size_t count) {
    const auto now = Clock::now();
    if (!report_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    report_(protocol::Progress{count, total_});
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Jobs::Report& report_;
  const std::size_t total_;
  Clock::time_point next_ = Clock::now();
};

std::string movement_text(const protocol::Moved& moved) {
  if (std::isfinite(moved.difference)) return "by " + share_text(moved.difference);
  const bool finite = std::isfinite(moved.before) && std::isfinite(moved.after);
  return finite ? "away from zero" : "to or from NaN or infinity";
}

std::string sentence_of(const protocol::Branched& answer, std::size_t moved, const std::string& failure,
                        bool cut_off) {
  std::string sentence;
  if (answer.depending == 0) {
    sentence = "Nothing that was recorded depends on the change.";
  } else {
    sentence = counted(answer.depending, "result") +
               (answer.depending == 1 ? " depends on the change" : " depend on the change");
    if (moved == 0)
      sentence += answer.depending == 1 ? ", and it did not move." : ", and none of them moved.";
    else
      sentence += "; " + counted(moved, "result") + " moved, most that of " + answer.moved[0].op + " (op " +
                  protocol::count_text(answer.moved[0].record) + "), " + movement_text(answer.moved[0]) + ".";
  }
  if (!failure.empty()) sentence += " " + failure;
  if (answer.depending > most_run)
    sentence += " Only the first " + std::to_string(most_run) + " were run" +
                (answer.curve_points > 0 ? ", and those that curves take." : ".");
  if (cut_off)
    sentence +=
        " There may be more: some records or assignments after the change were forgotten, and what comes "
        "of them was left as it is.";
  return sentence;
}

/// Zero where both are the same NaN or infinity.
Tensor difference_of(const Tensor& branch, const Tensor& original) {
  if (branch.shape() != original.shape())
    throw ValueError("bad_request", "There is no difference: in the branch this has the shape " +
                                        to_string(branch.shape()) + ", in the original " +
                                        to_string(original.shape()) + ".");
  const DType dtype = is_floating(branch.dtype()) ? branch.dtype() : DType::float64;
  const Tensor a = ops::cast(branch, dtype), b = ops::cast(original, dtype);
  const Tensor same = ops::logical_or(ops::equal(a, b), ops::logical_and(ops::is_nan(a), ops::is_nan(b)));
  return ops::where(same, ops::zeros_like(a), ops::subtract(a, b));
}

protocol::Moved moved_of(const Recorder& recorder, const Depending& one, const Movement& movement) {
  RecordView record;
  recorder.trace().read(one.record, record);
  const SourceLocation location = location_of(record.head.location);
  return {one.record,        record.name(),   location.cell,
          location.file,     location.line,   tensor_info(recorder, one.tensor, true),
          movement.relative, movement.before, movement.after};
}

}  // namespace

namespace {

/// The changes of a request, and what there is to tell of them.
struct AskedChanges {
  std::vector<Change> changes;
  std::vector<std::uint32_t> records;  ///< that changes name, rising
  std::uint32_t first = UINT32_MAX;    ///< the first record that something is different at; 0: not known
  std::string sentence;
};

AskedChanges asked_for(const Recorder& recorder, const protocol::MakeBranch& request,
                       const Branches::Find& original, const CancelFlag& cancel, protocol::Branched& answer) {
  AskedChanges asked;
  for (const protocol::PastChange& change : request.changes) {
    asked.changes.push_back(change_of(recorder, change));
    if (asked.changes.back().record == 0)
      asked.first =
          std::min(asked.first, recorder.trace().tensors().get(asked.changes.back().tensor).producer());
  }
  for (const protocol::SetChange& set : request.sets) {
    ChangedSet made = changes_of(recorder, set, original, cancel);
    answer.ops += made.ops;
    asked.sentence += made.sentence + " ";
    std::ranges::move(made.changes, std::back_inserter(asked.changes));
    std::ranges::move(made.notes, std::back_inserter(answer.notes));
  }
  for (const Change& change : asked.changes)
    if (change.record) asked.records.push_back(change.record);
  std::ranges::sort(asked.records);
  if (!asked.records.empty()) asked.first = std::min(asked.first, asked.records.front());
  return asked;
}

}  // namespace

protocol::Branched Branches::make(const protocol::MakeBranch& request, const Find& original,
                                  const CancelFlag& cancel, const Jobs::Report& report) {
  if (request.changes.empty() && request.sets.empty()) throw BadRequest("make_branch: no change was given");
  protocol::Branched answer;
  AskedChanges asked = asked_for(recorder_, request, original, cancel, answer);
  const std::uint64_t newest = recorder_.trace().newest();
  const auto last = static_cast<std::uint32_t>(std::min(request.last.value_or(newest), newest));
  const std::string shared = view_note(asked.changes, recorder_, last, cancel);
  Branch branch(recorder_, std::move(asked.changes));
  const std::vector<Depending> depending =
      depending_on(branch, recorder_.trace(), last, answer.depending, cancel);
  BranchCurveReader reader(recorder_, branch, asked.first, original, cancel);
  Progressing progress(report, depending.size() + reader.count());
  std::string failure;  // the first: others come of it
  for (std::size_t i = 0; i < depending.size(); ++i) {
    check_cancelled(&cancel);
    progress.done(i);
    try {
      const Tensor after = branch.value(depending[i].tensor, original, &cancel);
      const Movement movement = compare(original(depending[i].tensor), after);
      if (movement.relative != 0) answer.moved.push_back(moved_of(recorder_, depending[i], movement));
    } catch (const BranchError& error) {
      if (error.changed) throw;
      if (failure.empty()) failure = error.what();
    }
  }
  std::ranges::stable_sort(answer.moved, std::greater(), &protocol::Moved::difference);
  const std::size_t moved = answer.moved.size();
  if (moved > most_told) answer.moved.resize(most_told);
  BranchCurves curves = reader.compute([&](std::uint64_t done) { progress.done(depending.size() + done); });
  answer.curve_points = curves.points.size();
  std::ranges::copy(curves.notes, std::back_inserter(answer.notes));
  for (const std::string& note : {shared, random_note(branch, recorder_.trace())})
    if (!note.empty()) answer.notes.push_back(note);
  answer.reads = std::exchange(curves.reads, {});
  answer.complete = answer.depending <= most_run && !branch.cut_off();
  answer.sentence = asked.sentence + sentence_of(answer, moved, failure, branch.cut_off()) +
                    unchanged_vjp(asked.records, recorder_.trace(), last, cancel);
  answer.branch = keep(std::move(branch), std::move(curves));
  return answer;
}

std::uint64_t Branches::keep(Branch branch, BranchCurves curves) {
  const std::lock_guard lock(mutex_);
  auto kept = std::make_shared<Kept>(std::move(branch), std::move(curves));
  kept->used = ++uses_;
  branches_.emplace(++last_, std::move(kept));
  if (branches_.size() > most_branches)
    branches_.erase(
        std::ranges::min_element(branches_, {}, [](const auto& entry) { return entry.second->used; }));
  return last_;
}

protocol::Series Branches::series(const protocol::GetBranchSeries& request) {
  constexpr std::uint64_t most_points = 10'000;
  const std::shared_ptr<Kept> kept = find(request.branch);
  const BranchCurves& all = kept->curves;
  const std::uint64_t first = std::min<std::uint64_t>(request.first, all.points.size());
  protocol::Series answer;
  answer.next = std::min<std::uint64_t>(first + most_points, all.points.size());
  answer.points.assign(all.points.begin() + static_cast<std::ptrdiff_t>(first),
                       all.points.begin() + static_cast<std::ptrdiff_t>(answer.next));
  for (const protocol::CurveInfo& info : all.curves)
    if (std::ranges::find(answer.points, info.series, &protocol::SeriesPoint::series) != answer.points.end())
      answer.curves.push_back(info);
  return answer;
}

std::shared_ptr<Branches::Kept> Branches::find(std::uint64_t branch) {
  const std::lock_guard lock(mutex_);
  const auto found = branches_.find(branch);
  if (found == branches_.end())
    throw ValueError("gone", "The branch " + std::to_string(branch) + " is no longer kept: make it again.");
  found->second->used = ++uses_;
  return found->second;
}

Tensor Branches::value(std::uint64_t branch, std::uint64_t tensor, bool difference, const Find& original,
                       const CancelFlag& cancel) {
  const std::shared_ptr<Kept> kept = find(branch);
  Tensor value;
  {
    const std::lock_guard lock(kept->mutex);
    value = kept->branch.value(tensor, original, &cancel);
  }
  return difference ? difference_of(value, original(tensor)) : value;
}

bool Branches::depends(std::uint64_t branch, std::uint64_t tensor, const CancelFlag& cancel) {
  const std::shared_ptr<Kept> kept = find(branch);
  const std::lock_guard lock(kept->mutex);
  return kept->branch.depends(tensor, &cancel);
}

protocol::BranchPreviews Branches::previews(const protocol::GetBranchPreviews& request, const Find& original,
                                            const CancelFlag& cancel) {
  if (request.tensors.size() > most_previews)
    throw BadRequest("get_branch_previews: " + std::to_string(request.tensors.size()) +
                     " tensors were asked for, the most is " + std::to_string(most_previews));
  find(request.branch);  // throws if it is gone, instead of returning empty texts
  protocol::BranchPreviews answer;
  for (const std::uint64_t tensor : request.tensors) {
    std::optional<std::string>& text = answer.previews.emplace_back();
    try {
      if (has_preview(recorder_, tensor))
        text = preview(value(request.branch, tensor, request.difference, original, cancel));
    } catch (const ValueError&) {  // a request for the tensor itself reports why
    }
  }
  return answer;
}

// The observer is passed by, for a breakpoint on the variable would make the debugger wait for itself.
protocol::TakenOver Branches::take_over(const protocol::TakeOver& request, const Find& original,
                                        const CancelFlag& cancel) {
  const auto assignment = recorder_.data_flow().assignment_of(request.tensor);
  std::optional<Variable> variable =
      assignment ? Variable::find(assignment->variable) : std::optional<Variable>();
  if (!variable)
    throw ValueError("bad_request",
                     assignment ? "The variable of this value is no longer there."
                                : tensor_text(recorder_, request.tensor) +
                                      " is not a variable's value, so it can't be copied to the session.");
  const Tensor taken = value(request.branch, request.tensor, false, original, cancel);
  variable->assign(taken);
  const Tensor leaf = variable->peek();
  recorder_.assigned_by_debugger(leaf, variable->name(), taken, variable->id());
  return {variable->name(), tensor_info(recorder_, leaf.id(), true)};
}

void Branches::drop(std::uint64_t branch) {
  const std::lock_guard lock(mutex_);
  branches_.erase(branch);
}

}  // namespace tapedeck::debug
