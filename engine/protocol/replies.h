// The debug protocol's messages from the session.
#pragma once

#include "engine/protocol/breakpoints.h"
#include "engine/protocol/requests.h"

namespace tapedeck::protocol {

struct Welcome {
  std::uint32_t protocol_version = version;
  std::string engine_version;
  std::uint64_t pid = 0;
  std::vector<std::string> devices;
  std::int64_t started_unix_ms = 0;
  static constexpr const char* type = "welcome";
  template <class Visit, class Self = Welcome>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("protocol_version", &Self::protocol_version),
                 field("engine_version", &Self::engine_version), field("pid", &Self::pid),
                 field("devices", &Self::devices), field("started_unix_ms", &Self::started_unix_ms));
  }
};

/// The answer to a Hello of another version; the connection is of no use afterwards.
struct Refused {
  std::uint32_t protocol_version = version;
  std::string reason;  ///< a sentence for the user, with both versions
  static constexpr const char* type = "refused";
  template <class Visit, class Self = Refused>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("protocol_version", &Self::protocol_version), field("reason", &Self::reason));
  }
};

enum class GateState : std::uint8_t { open, will_stop, stopped };
constexpr auto names(GateState) {
  return std::array<std::string_view, 3>{"open", "will_stop", "stopped"};
}

/// What tensors use of a GPU's memory.
struct GpuMemory {
  std::string device;  ///< "/gpu:0"
  std::uint64_t used_bytes = 0;
  std::uint64_t total_bytes = 0;
  template <class Visit, class Self = GpuMemory>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("device", &Self::device), field("used_bytes", &Self::used_bytes),
                 field("total_bytes", &Self::total_bytes));
  }
  bool operator==(const GpuMemory&) const = default;
};

/// A gradient that is complete: the playback adds nothing more to it.
struct CompleteGradient {
  std::uint64_t stop = 0;    ///< which stop it is, above all records' numbers
  TensorInfo source;         ///< what it is the gradient of
  TensorInfo gradient;       ///< where `rows`: the values of those rows, one after another
  bool rows = false;         ///< only some rows of the source have a gradient
  std::uint32_t place = 0;   ///< among the playback's results, from 0
  std::uint32_t places = 0;  ///< how many those are
  template <class Visit, class Self = CompleteGradient>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("stop", &Self::stop), field("source", &Self::source),
                 field("gradient", &Self::gradient), field("rows", &Self::rows), field("place", &Self::place),
                 field("places", &Self::places));
  }
};

/// Also sent unasked, with request 0, when something in it changed: at once for the gate, else at most 30
/// times a second.
/// Whether graph functions of a new session run their Python code at each call.
constexpr bool functions_eager_at_start = false;

struct Status {
  std::uint64_t records = 0;  ///< number of the newest record; 0: none
  GateState gate = GateState::open;
  std::optional<std::uint64_t> stopped_before;  ///< the record at the gate, pending; absent: not stopped
  bool stopped_after = false;  ///< that record has ended: its outputs, or its error, made it stop
  /// Stopped before a line, where no record waits: which stop it is, above all records' numbers.
  std::optional<std::uint64_t> stopped_at_line;
  /// Stopped where a gradient is complete: after the record `stopped_before`, which made it so.
  std::optional<CompleteGradient> complete_gradient;
  /// The one that it was stopped before until the last step; absent after a run.
  std::optional<std::uint64_t> stepped_over;
  /// "f ran, 12 ops", where the last step went over or out of a call of a graph function; absent after
  /// another command.
  std::optional<std::string> stepped_call;
  /// Where stopped: the pending record, last, and before it what ran since the step began; at most 32.
  std::vector<Record> stop;
  std::uint64_t finished = 0;  ///< the newest record that finished
  std::uint64_t ended = 0;     ///< how many records finished or failed: a playback ends after newer records
  /// "step", "pause", "cell start", "step out"; of breakpoints: which and why. Absent: not stopped.
  std::optional<std::string> stop_reason;
  std::vector<std::uint64_t> stop_breakpoints;  ///< those that stopped it there
  std::vector<BreakpointHits> hits;             ///< of all breakpoints
  std::string cell;                             ///< where it is stopped, as in Record
  std::uint32_t line = 0;
  std::optional<std::string> running_cell;  ///< the cell that runs now
  std::uint64_t cells_ended = 0;            ///< how many cells have run
  bool recording = true;
  bool break_at_cell_start = false;
  bool keep_everything = false;
  bool replay_on_cpu = false;
  bool functions_eagerly = functions_eager_at_start;
  /// Values that the recorder holds, also those that the program has too; with `record_bytes` it is what the
  /// recording takes of its budget. Values that were computed again for a view are not part of it.
  std::uint64_t held_bytes = 0;
  std::uint64_t record_bytes = 0;  ///< records, copies of small values, names and curves
  std::uint64_t budget_bytes = 0;
  std::uint64_t leaves_dropped = 0;  ///< dropped leaves: values computed from them are lost
  /// Changes whenever values of records may have been lost, see GetLostRecords; 0: none is lost.
  std::uint64_t values_lost = 0;
  std::uint64_t series_points = 0;   ///< total so far
  std::uint64_t series_thinned = 0;  ///< of them, how many were dropped to make room
  std::uint64_t pictures = 0;        ///< positions of histograms and images so far
  bool full = false;  ///< no record can begin any more: all numbers are used up, and the recording is off
  std::optional<std::string> trace_file;   ///< path of the file that this is; absent: a live session
  std::optional<std::string> trace_title;  ///< of a file: the notebook or program that was recorded
  std::uint64_t pool_bytes = 0;            ///< in use by tensors, the recorder's included
  std::uint64_t pooled_bytes = 0;          ///< free, kept for the next tensors
  std::vector<GpuMemory> gpus;             ///< those that the session can use
  std::uint64_t device_times = 0;          ///< of how many records the GPUs' times are known
  std::uint64_t device_times_pending = 0;  ///< and of how many they have not yet
  static constexpr const char* type = "status";
  template <class Visit, class Self = Status>
  static constexpr auto fields(Visit&& visit) {
    return visit(
        field("records", &Self::records), field("gate", &Self::gate),
        field("stopped_before", &Self::stopped_before), field("stopped_after", &Self::stopped_after),
        field("stopped_at_line", &Self::stopped_at_line),
        field("complete_gradient", &Self::complete_gradient),
        field("stop_breakpoints", &Self::stop_breakpoints), field("hits", &Self::hits),
        field("stepped_over", &Self::stepped_over), field("stepped_call", &Self::stepped_call),
        field("stop", &Self::stop), field("ended", &Self::ended), field("finished", &Self::finished),
        field("stop_reason", &Self::stop_reason), field("cell", &Self::cell), field("line", &Self::line),
        field("running_cell", &Self::running_cell), field("cells_ended", &Self::cells_ended),
        field("recording", &Self::recording), field("break_at_cell_start", &Self::break_at_cell_start),
        field("keep_everything", &Self::keep_everything), field("replay_on_cpu", &Self::replay_on_cpu),
        field("functions_eagerly", &Self::functions_eagerly), field("held_bytes", &Self::held_bytes),
        field("record_bytes", &Self::record_bytes), field("budget_bytes", &Self::budget_bytes),
        field("leaves_dropped", &Self::leaves_dropped), field("values_lost", &Self::values_lost),
        field("series_points", &Self::series_points), field("series_thinned", &Self::series_thinned),
        field("pictures", &Self::pictures), field("full", &Self::full),
        field("trace_file", &Self::trace_file), field("trace_title", &Self::trace_title),
        field("pool_bytes", &Self::pool_bytes), field("pooled_bytes", &Self::pooled_bytes),
        field("gpus", &Self::gpus), field("device_times", &Self::device_times),
        field("device_times_pending", &Self::device_times_pending));
  }
};

/// By which requests name the stop where the program is; absent: it is not stopped.
inline std::optional<std::uint64_t> stop_id(const Status& status) {
  if (status.complete_gradient) return status.complete_gradient->stop;
  return status.stopped_before ? status.stopped_before : status.stopped_at_line;
}

struct Records {
  std::uint64_t total = 0;
  std::vector<Record> records;
  static constexpr const char* type = "records";
  template <class Visit, class Self = Records>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("total", &Self::total), field("records", &Self::records));
  }
};

/// Of the records that were asked about, in their order: those with an input or a result that is neither held
/// nor can be computed again, because what it depends on went over the budget or was forgotten.
struct LostRecords {
  std::uint64_t version = 0;  ///< Status::values_lost at that time
  std::vector<std::uint64_t> records;
  static constexpr const char* type = "lost_records";
  template <class Visit, class Self = LostRecords>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("version", &Self::version), field("records", &Self::records));
  }
};

struct TapeRecords {
  std::uint64_t tape = 0;
  std::uint64_t dropped = 0;  ///< older ones that the limit left out
  std::uint64_t ops = 0;      ///< on the tape, up to `last`
  std::uint64_t vjps = 0;     ///< played from it, up to `last`
  std::uint64_t before = 0;   ///< ops that come before the first one here
  std::uint64_t after = 0;    ///< ops that come after the last one here
  std::vector<Record> records;
  static constexpr const char* type = "tape_records";
  template <class Visit, class Self = TapeRecords>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("tape", &Self::tape), field("dropped", &Self::dropped), field("ops", &Self::ops),
                 field("vjps", &Self::vjps), field("before", &Self::before), field("after", &Self::after),
                 field("records", &Self::records));
  }
};

struct Tile {
  std::uint64_t tensor = 0;
  std::vector<std::int64_t> shape;                 ///< of the whole tensor, after reshape
  std::int64_t total_rows = 0, total_columns = 0;  ///< of the slice
  std::int64_t row = 0, column = 0, rows = 0, columns = 0;
  std::int64_t row_step = 1, column_step = 1;
  std::vector<double> values;      ///< rows × columns, row-major; ints and bools as doubles
  std::vector<std::string> exact;  ///< int64 values past 2^53 as text, same order; else empty
  std::string dtype;
  /// "held", "recomputed", or where that was elsewhere: "computed again on /cpu:0; it ran on /gpu:0"
  std::string source;
  static constexpr const char* type = "tile";
  template <class Visit, class Self = Tile>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("tensor", &Self::tensor), field("shape", &Self::shape),
                 field("total_rows", &Self::total_rows), field("total_columns", &Self::total_columns),
                 field("row", &Self::row), field("column", &Self::column), field("rows", &Self::rows),
                 field("columns", &Self::columns), field("row_step", &Self::row_step),
                 field("column_step", &Self::column_step), field("values", &Self::values),
                 field("exact", &Self::exact), field("dtype", &Self::dtype), field("source", &Self::source));
  }
};

struct Statistics {
  std::uint64_t tensor = 0;
  std::uint64_t count = 0, finite = 0, zeros = 0, nan = 0, positive_infinity = 0, negative_infinity = 0;
  std::uint64_t subnormals = 0;  ///< arithmetic on them is slow
  /// Of the finite values; absent where there are none.
  std::optional<double> minimum, maximum, mean, deviation;
  std::vector<std::uint64_t> histogram;  ///< equal bins from minimum to maximum
  std::string source;                    ///< as a tile's, or "kept statistics" where the value is gone
  static constexpr const char* type = "statistics";
  template <class Visit, class Self = Statistics>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("tensor", &Self::tensor), field("count", &Self::count), field("finite", &Self::finite),
                 field("zeros", &Self::zeros), field("subnormals", &Self::subnormals),
                 field("nan", &Self::nan), field("positive_infinity", &Self::positive_infinity),
                 field("negative_infinity", &Self::negative_infinity), field("minimum", &Self::minimum),
                 field("maximum", &Self::maximum), field("mean", &Self::mean),
                 field("deviation", &Self::deviation), field("histogram", &Self::histogram),
                 field("source", &Self::source));
  }
};

struct FoundElement {
  std::uint64_t tensor = 0;
  std::optional<std::int64_t> place;  ///< in row-major order; absent: there is none
  std::vector<std::int64_t> index;    ///< the same, one per axis
  double value = 0;
  std::uint64_t alike = 0;  ///< how many elements match, this one included
  std::uint64_t rank = 0;   ///< the place of this one among them, from 1
  std::string source;       ///< as a tile's
  static constexpr const char* type = "found_element";
  template <class Visit, class Self = FoundElement>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("tensor", &Self::tensor), field("place", &Self::place), field("index", &Self::index),
                 field("value", &Self::value), field("alike", &Self::alike), field("rank", &Self::rank),
                 field("source", &Self::source));
  }
};

/// Up to 10,000 in an answer, so that a point has no optional parts.
struct SeriesPoint {
  std::string series;  ///< of which curve: CurveInfo::series
  double step = 0;
  double value = 0;
  std::uint64_t record = 0;  ///< newest record when the point was made, where the cursor goes; 0: none yet
  template <class Visit, class Self = SeriesPoint>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("series", &Self::series), field("step", &Self::step), field("value", &Self::value),
                 field("record", &Self::record));
  }
};

/// The key of a drawing: distinguishes drawings of the same name made by different cells.
inline std::string drawn_key(const std::string& name, const std::string& cell) {
  return cell.empty() ? name : name + '\x1f' + cell;
}

/// What a curve is, beside its points.
struct CurveInfo {
  std::string series;           ///< tells it from all others
  std::string name;             ///< the program's, "loss": each cell that uses it draws a curve of its own
  std::string cell;             ///< id of the cell that drew it; empty: no cell
  std::uint64_t execution = 0;  ///< of the cell, that added to it last; 0: not known
  std::string x;  ///< what its steps are: "step", "index" of a list, "hit" of a breakpoint, or a name of the
                  ///< program's
  template <class Visit, class Self = CurveInfo>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("series", &Self::series), field("name", &Self::name), field("cell", &Self::cell),
                 field("execution", &Self::execution), field("x", &Self::x));
  }
};

/// What a summary shows at a step: how values were spread, or the images of a batch.
struct Picture {
  std::string name;
  std::string cell;             ///< id of the cell that made it; empty: no cell
  std::uint64_t execution = 0;  ///< of the cell; 0: not known
  double step = 0;
  std::optional<std::uint64_t> record;  ///< newest when it was added; absent: there was none yet
  std::uint64_t number = 0;             ///< how many of that name and cell came before it, also those gone
  std::vector<double> limits;  ///< of a histogram's bins, rising, one more than counts; empty for images, and
                               ///< where no value was finite
  std::vector<double> counts;
  std::uint64_t not_finite = 0;        ///< values of a histogram that are in no bin
  std::int64_t width = 0, height = 0;  ///< of each image; 0 for a histogram
  std::vector<std::string> pngs;       ///< images, in base64
  template <class Visit, class Self = Picture>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("name", &Self::name), field("cell", &Self::cell), field("execution", &Self::execution),
                 field("step", &Self::step), field("record", &Self::record), field("number", &Self::number),
                 field("limits", &Self::limits), field("counts", &Self::counts),
                 field("not_finite", &Self::not_finite), field("width", &Self::width),
                 field("height", &Self::height), field("pngs", &Self::pngs));
  }
};

struct Pictures {
  std::uint64_t next = 0;              ///< ask from here on the next time
  std::vector<Picture> pictures;       ///< about 1 MB an answer, or one that is larger
  std::vector<std::string> restarted;  ///< whose older pictures are void: drawn_key() of name and cell
  static constexpr const char* type = "pictures";
  template <class Visit, class Self = Pictures>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("next", &Self::next), field("pictures", &Self::pictures),
                 field("restarted", &Self::restarted));
  }
};

struct Series {
  std::uint64_t next = 0;              ///< ask from here on the next time
  std::vector<SeriesPoint> points;     ///< at most 10,000 an answer
  std::vector<std::string> restarted;  ///< series whose older points are void: their cell ran again
  std::vector<CurveInfo> curves;       ///< of the series that `points` are of
  static constexpr const char* type = "series";
  template <class Visit, class Self = Series>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("next", &Self::next), field("points", &Self::points),
                 field("restarted", &Self::restarted), field("curves", &Self::curves));
  }
};

struct FoundRecords {
  std::uint64_t scanned = 0;         ///< the last record that was looked at
  std::uint64_t total = 0;           ///< number of the newest record
  std::vector<std::uint64_t> runs;   ///< first and last of each run of numbers that match, ascending
  std::vector<std::uint64_t> again;  ///< those of the request's `again` that match now
  std::vector<std::uint64_t> open;   ///< of all that were looked at, those that have not ended
  std::uint64_t lost = 0;  ///< how many could not be decided, for a value that the filter asks for is lost
  static constexpr const char* type = "found_records";
  template <class Visit, class Self = FoundRecords>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("scanned", &Self::scanned), field("total", &Self::total), field("runs", &Self::runs),
                 field("again", &Self::again), field("open", &Self::open), field("lost", &Self::lost));
  }
};

/// How far a request has come that takes longer (a recomputation). Its answer follows.
struct Progress {
  std::uint64_t done = 0, total = 0;  ///< ops
  static constexpr const char* type = "progress";
  template <class Visit, class Self = Progress>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("done", &Self::done), field("total", &Self::total));
  }
};

/// The answer to a request that could not be met.
struct Failure {
  std::string reason;  ///< a sentence for the user
  std::string code;    ///< "gone", "cancelled", "bad_request", "too_expensive", "no_such_tensor"
  static constexpr const char* type = "failure";
  template <class Visit, class Self = Failure>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("reason", &Self::reason), field("code", &Self::code));
  }
};

}  // namespace tapedeck::protocol
