#include "engine/debug/compare/comparisons.h"

#include <algorithm>

#include "engine/debug/compare/curves.h"
#include "engine/debug/compare/layouts.h"
#include "engine/debug/compare/port_layers.h"
#include "engine/debug/compare/tensor_file.h"
#include "engine/debug/describe.h"
#include "engine/debug/line_notes.h"
#include "engine/debug/tile.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/clock.h"
#include "engine/record/trace_file/open.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t most_cell_runs = 1000, most_compared_rows = 500;
constexpr std::size_t most_parts = 512;
constexpr std::uint32_t most_curve_points = 10'000;

protocol::RunState run_state(CellRun::State state) {
  return state == CellRun::State::running  ? protocol::RunState::running
         : state == CellRun::State::failed ? protocol::RunState::failed
                                           : protocol::RunState::done;
}

Tensor right_minus_left(const Tensor& left, const Tensor& right) {
  if (left.shape() != right.shape())
    throw ValueError("bad_request", "There is no difference: the shape is " + to_string(left.shape()) +
                                        " on the left and " + to_string(right.shape()) + " on the right.");
  if (left.dtype() == DType::string || right.dtype() == DType::string)
    throw ValueError("bad_request", "Strings have no numeric difference that a picture could show.");
  const DType dtype = is_floating(right.dtype()) && right.dtype() == left.dtype()  ? right.dtype()
                      : is_complex(right.dtype()) && right.dtype() == left.dtype() ? right.dtype()
                                                                                   : DType::float64;
  // A GPU that has both computes it; what is shown of it comes here.
  const DeviceScope there(left.device() == right.device() ? left.device() : Device{});
  const Tensor a = ops::cast(right, dtype), b = ops::cast(left, dtype);
  const Tensor same =
      is_complex(dtype) ? ops::equal(a, b)
                        : ops::logical_or(ops::equal(a, b), ops::logical_and(ops::is_nan(a), ops::is_nan(b)));
  return ops::where(same, ops::zeros_like(a), ops::subtract(a, b));
}

/// Where small values at hand are written otherwise they differ; written alike they may still.
bool written_otherwise(const Comparison& comparison, const protocol::Record& left,
                       const protocol::Record& right) {
  for (std::size_t i = 0; i < std::min(left.outputs.size(), right.outputs.size()); ++i) {
    if (comparison.contents(left.outputs[i].id, right.outputs[i].id) != Contents::written) continue;
    const std::string &l = left.outputs[i].preview, &r = right.outputs[i].preview;
    if (!l.empty() && !r.empty() && l != r) return true;
  }
  return false;
}

protocol::ComparedSide described(const Side& side) {
  return {side.first, side.last, protocol::if_there(side.branch), protocol::if_there(side.path)};
}

}  // namespace

protocol::CellRuns describe_cell_runs(const Recorder& recorder, std::uint32_t count) {
  protocol::CellRuns answer;
  answer.total = recorder.cell_runs().total();
  const std::uint64_t oldest = recorder.trace().oldest_kept(), newest = recorder.trace().newest();
  for (const CellRun& run : recorder.cell_runs().newest(std::min(count, most_cell_runs))) {
    protocol::CellRun& told = answer.runs.emplace_back();
    const bool running = run.state == CellRun::State::running;
    told.number = run.number;
    told.cell = run.cell;
    told.execution = run.execution;
    told.first = run.first;
    told.last = running ? newest : run.last;
    told.start_ns = run.start;
    told.end_ns = running ? recorder.now_ns() : run.end;
    told.paused_ns = clock::nanoseconds(
        recorder.gate_waits().within(clock::ticks_of(told.start_ns), clock::ticks_of(told.end_ns)));
    told.state = run_state(run.state);
    if (!recorder.file())
      told.calls =
          running ? recorder.calls_recorded() - std::min(run.calls, recorder.calls_recorded()) : run.calls;
    if (told.last >= told.first)
      told.forgotten = std::min(oldest > told.first ? oldest - told.first : 0, told.last - told.first + 1);
  }
  return answer;
}

Side Comparisons::side_of(const protocol::ComparedSide& asked, const char* which) {
  Side side;
  side.recorder = &recorder_;
  if (asked.path) {
    side.owner = open_file(*asked.path, side.left_out);
    side.recorder = side.owner.get();
    side.path = *asked.path;
    if (asked.branch)
      throw BadRequest("make_comparison: " + std::string(which) +
                       ": a branch is one of the session, not of a file");
  }
  const Trace& trace = side.recorder->trace();
  const std::uint64_t newest = trace.newest(), oldest = trace.oldest_kept();
  const std::uint64_t last = asked.last.value_or(newest);
  if (asked.first == 0 || asked.first > last + 1 || last > newest)
    throw BadRequest("make_comparison: " + std::string(which) + ": there are no records " +
                     std::to_string(asked.first) + " to " + std::to_string(last) + ", the newest is " +
                     std::to_string(newest));
  const std::uint64_t first = std::min(std::max(asked.first, oldest), last + 1);
  side.forgotten = first - asked.first;
  side.first = static_cast<std::uint32_t>(first);
  side.last = static_cast<std::uint32_t>(last);
  side.branch = asked.branch.value_or(0);
  return side;
}

std::shared_ptr<Recorder> Comparisons::open_file(const std::string& path, std::string& left_out) {
  const auto known = [&] {
    const std::lock_guard lock(mutex_);
    return files_[path].lock();
  };
  if (std::shared_ptr<Recorder> open = known()) return open;
  try {
    // Without the lock, for it takes its time.
    std::shared_ptr<Recorder> opened =
        is_tensor_file(path) ? open_tensor_file(path, &left_out) : trace_file::open(path);
    if (std::shared_ptr<Recorder> open = known()) return open;
    const std::lock_guard lock(mutex_);
    files_[path] = opened;
    return opened;
  } catch (const trace_file::TraceFileError& error) {
    throw ValueError("trace_file", error.what());
  }
}

protocol::Compared Comparisons::make(const protocol::MakeComparison& request, const CancelFlag& cancel,
                                     const Jobs::Report& report) {
  const NameMap names = request.names ? parse_name_map(*request.names) : NameMap();
  const auto made =
      std::make_shared<const Comparison>(side_of(request.left, "left"), side_of(request.right, "right"),
                                         &cancel, report, request.names ? &names : nullptr);
  protocol::Compared answer;
  answer.sentence = made->sentence();
  answer.rows = made->rows().size();
  using protocol::RowKind;
  answer.same = made->count(RowKind::same);
  answer.other_attributes = made->count(RowKind::other_attributes);
  answer.other_shapes = made->count(RowKind::other_shapes);
  answer.only_left = made->count(RowKind::only_left);
  answer.only_right = made->count(RowKind::only_right);
  answer.left = described(made->left());
  answer.right = described(made->right());
  answer.parts = made->parts(most_parts);
  answer.port = made->port() != nullptr;
  const std::lock_guard lock(mutex_);
  answer.comparison = ++last_;
  comparisons_[last_] = {made, ++uses_};
  if (comparisons_.size() > most_comparisons)
    comparisons_.erase(
        std::ranges::min_element(comparisons_, {}, [](const auto& one) { return one.second.used; }));
  return answer;
}

std::shared_ptr<const Comparison> Comparisons::find(std::uint64_t comparison) {
  const std::lock_guard lock(mutex_);
  const auto found = comparisons_.find(comparison);
  if (found == comparisons_.end())
    throw ValueError("gone",
                     "The comparison " + std::to_string(comparison) + " is no longer kept: make it again.");
  found->second.used = ++uses_;
  return found->second.comparison;
}

ComparedValues Comparisons::values_of(const Comparison& comparison, const Find& original,
                                      const CancelFlag& cancel) {
  const auto find = [&](const Side& side) -> Find {
    if (side.branch)
      return [this, branch = side.branch, &original, &cancel](std::uint64_t tensor) {
        const Find on_host = [&original](std::uint64_t id) { return original(id).on_host(); };
        return branches_.value(branch, tensor, false, on_host, cancel);
      };
    if (side.recorder == &recorder_) return original;
    return [recorder = side.recorder, &cancel](std::uint64_t tensor) {
      return find_value(*recorder, tensor, {}, &cancel).value;
    };
  };
  ComparedValues values{find(comparison.left()), find(comparison.right()), {}};
  const Side &left = comparison.left(), &right = comparison.right();
  if (left.same_records(right) && (left.branch == 0) != (right.branch == 0))
    values.may_differ = [this, branch = left.branch + right.branch, &cancel](std::uint64_t tensor) {
      return branches_.depends(branch, tensor, cancel);
    };
  return values;
}

namespace {

/// Of an op that only the eager side has, where a graph of this process ran on the other.
std::optional<std::string> note_of_row(const Comparison& comparison, const protocol::ComparedRow& row) {
  const auto& eager = comparison.graph_is_right() ? row.left : row.right;
  const auto& graph = comparison.graph_is_right() ? row.right : row.left;
  if (comparison.graph_is_right() == comparison.graph_is_left() || !eager || graph) return std::nullopt;
  const Side& other = comparison.graph_is_right() ? comparison.right() : comparison.left();
  if (other.recorder->file() || eager->kind != protocol::RecordKind::op) return std::nullopt;
  return change_of_op(eager->cell.empty() ? eager->file : eager->cell, eager->line, eager->op);
}

}  // namespace

protocol::ComparisonRows Comparisons::rows(const protocol::GetComparisonRows& request) {
  const auto comparison = find(request.comparison);
  protocol::ComparisonRows answer{request.comparison, request.first, {}};
  const auto& all = comparison->rows();
  const bool recorded = comparison->left().branch == 0 && comparison->right().branch == 0;
  const std::uint64_t end =
      std::min<std::uint64_t>(all.size(), request.first + std::min(request.count, most_compared_rows));
  for (std::uint64_t i = request.first; i < end; ++i) {
    protocol::ComparedRow& row = answer.rows.emplace_back();
    row.kind = all[i].kind;
    row.results = comparison->results(static_cast<std::size_t>(i));
    if (all[i].left) row.left = describe(*comparison->left().recorder, all[i].left, true);
    if (all[i].right) row.right = describe(*comparison->right().recorder, all[i].right, true);
    row.note = note_of_row(*comparison, row);
    if (row.results == protocol::Agreement::unknown && recorded && !comparison->port() &&
        comparison->exact() && row.left && row.right && written_otherwise(*comparison, *row.left, *row.right))
      row.results = protocol::Agreement::differ;
  }
  return answer;
}

protocol::ComparisonPlace Comparisons::place(const protocol::FindComparisonRow& request) {
  const auto comparison = find(request.comparison);
  std::int64_t row = -1;
  if (!request.record) {
    const std::uint64_t rows = comparison->rows().size();
    const std::int64_t from = request.from ? static_cast<std::int64_t>(std::min(*request.from, rows)) : -1;
    row = comparison->next_difference(from, request.backward);
  } else {
    row = comparison->row_of_left(*request.record);
    if (row < 0) row = comparison->row_of_right(*request.record);
  }
  protocol::ComparisonPlace answer{request.comparison, {}};
  if (row >= 0) answer.row = static_cast<std::uint64_t>(row);
  return answer;
}

protocol::ComparedOperands Comparisons::operands(const protocol::CompareOperands& request,
                                                 const Find& original, const CancelFlag& cancel) {
  const auto comparison = find(request.comparison);
  return compare_operands(*comparison, values_of(*comparison, original, cancel), request, &cancel);
}

protocol::FirstDifference Comparisons::first_difference(const protocol::FindFirstDifference& request,
                                                        const Find& original, const CancelFlag& cancel,
                                                        const Jobs::Report& report) {
  if (!(request.relative >= 0) || !(request.absolute >= 0))
    throw BadRequest("find_first_difference: a tolerance is a number that is not negative");
  const auto comparison = find(request.comparison);
  if (comparison->port())
    return first_port_difference(*comparison, values_of(*comparison, original, cancel), request, &cancel,
                                 report);
  return debug::first_difference(*comparison, values_of(*comparison, original, cancel), request, &cancel,
                                 report);
}

protocol::ComparedLayers Comparisons::layers(const protocol::CompareLayers& request, const Find& original,
                                             const CancelFlag& cancel, const Jobs::Report& report) {
  if (!(request.relative >= 0) || !(request.absolute >= 0))
    throw BadRequest("compare_layers: a tolerance is a number that is not negative");
  const auto comparison = find(request.comparison);
  if (!comparison->port())
    throw BadRequest("compare_layers: both sides are of one framework, and no name map was given");
  return compare_layers(*comparison, values_of(*comparison, original, cancel), request, &cancel, report);
}

Tensor Comparisons::value(const protocol::GetComparisonTile& request, const Find& original,
                          const CancelFlag& cancel) {
  const auto comparison = find(request.comparison);
  const ComparedValues values = values_of(*comparison, original, cancel);
  switch (request.part) {
    case protocol::ComparedPart::left:
      return values.left(request.left.value_or(0));
    case protocol::ComparedPart::right:
      return values.right(request.right.value_or(0));
    case protocol::ComparedPart::difference:
      break;
  }
  const Tensor left = values.left(request.left.value_or(0)), right = values.right(request.right.value_or(0));
  if (!comparison->port()) return right_minus_left(left, right);
  const bool any_axes = comparison->port()->other_orders(request.left.value_or(0), request.right.value_or(0));
  return right_minus_left(
      compare_layouts(left, right, {}, any_axes ? EqualShapes::any_axes : EqualShapes::same_axes, &cancel)
          .left,
      right);
}

protocol::ComparisonCurves Comparisons::curves(const protocol::GetComparisonCurves& request) {
  const auto comparison = find(request.comparison);
  return {request.comparison, compare_curves(comparison->left(), comparison->right(),
                                             std::min(request.points, most_curve_points))};
}

void Comparisons::drop(std::uint64_t comparison) {
  const std::lock_guard lock(mutex_);
  comparisons_.erase(comparison);
}

}  // namespace tapedeck::debug
