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
  static constexpr auto fields() {
    return std::tuple(field("protocol_version", &Welcome::protocol_version),
                      field("engine_version", &Welcome::engine_version), field("pid", &Welcome::pid),
                      field("devices", &Welcome::devices),
                      field("started_unix_ms", &Welcome::started_unix_ms));
  }
};

/// The answer to a Hello of another version; the connection is of no use afterwards.
struct Refused {
  std::uint32_t protocol_version = version;
  std::string reason;  ///< a sentence for the user, with both versions
  static constexpr const char* type = "refused";
  static constexpr auto fields() {
    return std::tuple(field("protocol_version", &Refused::protocol_version),
                      field("reason", &Refused::reason));
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
  static constexpr auto fields() {
    return std::tuple(field("device", &GpuMemory::device), field("used_bytes", &GpuMemory::used_bytes),
                      field("total_bytes", &GpuMemory::total_bytes));
  }
  bool operator==(const GpuMemory&) const = default;
};

/// Also sent unasked, with request 0, when something in it changed: at once for the gate, else at most 30
/// times a second.
struct Status {
  std::uint64_t records = 0;  ///< number of the newest record; 0: none
  GateState gate = GateState::open;
  std::uint64_t stopped_before = 0;  ///< the record at the gate, pending; 0 where not stopped
  bool stopped_after = false;        ///< that record has ended: its outputs, or its error, made it stop
  std::uint64_t stepped_over = 0;  ///< the one that it was stopped before until the last step; 0 after a run
  /// Where stopped: the pending record, last, and before it what ran since the step began; at most 32.
  std::vector<Record> stop;
  std::uint64_t finished = 0;  ///< the newest record that finished
  std::uint64_t ended = 0;     ///< how many records finished or failed: a playback ends after newer records
  std::string stop_reason;     ///< "step", "pause", "cell start", "step out"; of breakpoints: which and why
  std::vector<std::uint64_t> stop_breakpoints;  ///< those that stopped it there
  std::vector<BreakpointHits> hits;             ///< of all breakpoints
  std::string cell;                             ///< where it is stopped
  std::uint32_t line = 0;
  std::string running_cell;       ///< the cell that runs now; empty: none
  std::uint64_t cells_ended = 0;  ///< how many cells have run
  bool recording = true;
  bool break_at_cell_start = false;
  bool keep_everything = false;
  bool replay_on_cpu = false;
  std::uint64_t held_bytes = 0;    ///< values that the recorder holds
  std::uint64_t record_bytes = 0;  ///< records, copies of small values, names and curves
  std::uint64_t budget_bytes = 0;
  std::uint64_t leaves_dropped = 0;  ///< leaves that had to go: values behind them can not be had again
  std::uint64_t series_points = 0;   ///< total so far
  std::uint64_t series_thinned = 0;  ///< of them, how many had to go so that the others have room
  std::uint64_t pictures = 0;        ///< positions of histograms and images so far
  bool full = false;  ///< no record can begin any more: all numbers are used up, and the recording is off
  std::string trace_file;                  ///< path of the file that this is; empty: a live session
  std::string trace_title;                 ///< of a file: the notebook or program that was recorded
  std::uint64_t pool_bytes = 0;            ///< in use by tensors, the recorder's included
  std::uint64_t pooled_bytes = 0;          ///< free, kept for the next tensors
  std::vector<GpuMemory> gpus;             ///< those that the session can use
  std::uint64_t device_times = 0;          ///< of how many records GPUs have told when they did the work
  std::uint64_t device_times_pending = 0;  ///< and of how many they have not yet
  static constexpr const char* type = "status";
  static constexpr auto fields() {
    return std::tuple(
        field("records", &Status::records), field("gate", &Status::gate),
        field("stopped_before", &Status::stopped_before), field("stopped_after", &Status::stopped_after),
        field("stop_breakpoints", &Status::stop_breakpoints), field("hits", &Status::hits),
        field("stepped_over", &Status::stepped_over), field("stop", &Status::stop),
        field("ended", &Status::ended), field("finished", &Status::finished),
        field("stop_reason", &Status::stop_reason), field("cell", &Status::cell),
        field("line", &Status::line), field("running_cell", &Status::running_cell),
        field("cells_ended", &Status::cells_ended), field("recording", &Status::recording),
        field("break_at_cell_start", &Status::break_at_cell_start),
        field("keep_everything", &Status::keep_everything), field("replay_on_cpu", &Status::replay_on_cpu),
        field("held_bytes", &Status::held_bytes), field("record_bytes", &Status::record_bytes),
        field("budget_bytes", &Status::budget_bytes), field("leaves_dropped", &Status::leaves_dropped),
        field("series_points", &Status::series_points), field("series_thinned", &Status::series_thinned),
        field("pictures", &Status::pictures), field("full", &Status::full),
        field("trace_file", &Status::trace_file), field("trace_title", &Status::trace_title),
        field("pool_bytes", &Status::pool_bytes), field("pooled_bytes", &Status::pooled_bytes),
        field("gpus", &Status::gpus), field("device_times", &Status::device_times),
        field("device_times_pending", &Status::device_times_pending));
  }
};

struct Records {
  std::uint64_t total = 0;
  std::vector<Record> records;
  static constexpr const char* type = "records";
  static constexpr auto fields() {
    return std::tuple(field("total", &Records::total), field("records", &Records::records));
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
  static constexpr auto fields() {
    return std::tuple(field("tape", &TapeRecords::tape), field("dropped", &TapeRecords::dropped),
                      field("ops", &TapeRecords::ops), field("vjps", &TapeRecords::vjps),
                      field("before", &TapeRecords::before), field("after", &TapeRecords::after),
                      field("records", &TapeRecords::records));
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
  static constexpr auto fields() {
    return std::tuple(field("tensor", &Tile::tensor), field("shape", &Tile::shape),
                      field("total_rows", &Tile::total_rows), field("total_columns", &Tile::total_columns),
                      field("row", &Tile::row), field("column", &Tile::column), field("rows", &Tile::rows),
                      field("columns", &Tile::columns), field("row_step", &Tile::row_step),
                      field("column_step", &Tile::column_step), field("values", &Tile::values),
                      field("exact", &Tile::exact), field("dtype", &Tile::dtype),
                      field("source", &Tile::source));
  }
};

struct Statistics {
  std::uint64_t tensor = 0;
  std::uint64_t count = 0, finite = 0, zeros = 0, nan = 0, positive_infinity = 0, negative_infinity = 0;
  std::uint64_t subnormals = 0;  ///< arithmetic on them is slow
  double minimum = 0, maximum = 0, mean = 0,
         deviation = 0;                  ///< of the finite values; NaN where there are none
  std::vector<std::uint64_t> histogram;  ///< equal bins from minimum to maximum
  std::string source;                    ///< as a tile's, or "kept statistics" where the value is gone
  static constexpr const char* type = "statistics";
  static constexpr auto fields() {
    return std::tuple(field("tensor", &Statistics::tensor), field("count", &Statistics::count),
                      field("finite", &Statistics::finite), field("zeros", &Statistics::zeros),
                      field("subnormals", &Statistics::subnormals), field("nan", &Statistics::nan),
                      field("positive_infinity", &Statistics::positive_infinity),
                      field("negative_infinity", &Statistics::negative_infinity),
                      field("minimum", &Statistics::minimum), field("maximum", &Statistics::maximum),
                      field("mean", &Statistics::mean), field("deviation", &Statistics::deviation),
                      field("histogram", &Statistics::histogram), field("source", &Statistics::source));
  }
};

struct SeriesPoint {
  std::string series;  ///< "loss", or "cell 3: loss"
  double step = 0;
  double value = 0;
  std::uint64_t record = 0;  ///< newest record when the point was made: where the cursor goes
  static constexpr auto fields() {
    return std::tuple(field("series", &SeriesPoint::series), field("step", &SeriesPoint::step),
                      field("value", &SeriesPoint::value), field("record", &SeriesPoint::record));
  }
};

/// What a summary shows at a step: how values were spread, or the images of a batch.
struct Picture {
  std::string name;
  double step = 0;
  std::uint64_t record = 0;    ///< newest when it was added; 0: none yet
  std::uint64_t number = 0;    ///< how many of that name came before it, also those that had to go
  std::vector<double> limits;  ///< of a histogram's bins, rising, one more than counts; empty for images, and
                               ///< where no value was finite
  std::vector<double> counts;
  std::uint64_t not_finite = 0;        ///< values of a histogram that are in no bin
  std::int64_t width = 0, height = 0;  ///< of each image; 0 for a histogram
  std::vector<std::string> pngs;       ///< images, in base64
  static constexpr auto fields() {
    return std::tuple(field("name", &Picture::name), field("step", &Picture::step),
                      field("record", &Picture::record), field("number", &Picture::number),
                      field("limits", &Picture::limits), field("counts", &Picture::counts),
                      field("not_finite", &Picture::not_finite), field("width", &Picture::width),
                      field("height", &Picture::height), field("pngs", &Picture::pngs));
  }
};

struct Pictures {
  std::uint64_t next = 0;              ///< ask from here on the next time
  std::vector<Picture> pictures;       ///< about 1 MB an answer, or one that is larger
  std::vector<std::string> restarted;  ///< names whose older pictures are void
  static constexpr const char* type = "pictures";
  static constexpr auto fields() {
    return std::tuple(field("next", &Pictures::next), field("pictures", &Pictures::pictures),
                      field("restarted", &Pictures::restarted));
  }
};

struct Series {
  std::uint64_t next = 0;              ///< ask from here on the next time
  std::vector<SeriesPoint> points;     ///< at most 10,000 an answer
  std::vector<std::string> restarted;  ///< series whose older points are void: their cell ran again
  static constexpr const char* type = "series";
  static constexpr auto fields() {
    return std::tuple(field("next", &Series::next), field("points", &Series::points),
                      field("restarted", &Series::restarted));
  }
};

struct FoundRecords {
  std::uint64_t scanned = 0;         ///< the last record that was looked at
  std::uint64_t total = 0;           ///< number of the newest record
  std::vector<std::uint64_t> runs;   ///< first and last of each run of numbers that match, ascending
  std::vector<std::uint64_t> again;  ///< those of the request's `again` that match now
  std::vector<std::uint64_t> open;   ///< of all that were looked at, those that have not ended
  static constexpr const char* type = "found_records";
  static constexpr auto fields() {
    return std::tuple(field("scanned", &FoundRecords::scanned), field("total", &FoundRecords::total),
                      field("runs", &FoundRecords::runs), field("again", &FoundRecords::again),
                      field("open", &FoundRecords::open));
  }
};

/// How far a request has come that takes longer (a recomputation). Its answer follows.
struct Progress {
  std::uint64_t done = 0, total = 0;  ///< ops
  static constexpr const char* type = "progress";
  static constexpr auto fields() {
    return std::tuple(field("done", &Progress::done), field("total", &Progress::total));
  }
};

/// The answer to a request that could not be met.
struct Failure {
  std::string reason;  ///< a sentence for the user
  std::string code;    ///< "gone", "cancelled", "bad_request", "too_expensive", "no_such_tensor"
  static constexpr const char* type = "failure";
  static constexpr auto fields() {
    return std::tuple(field("reason", &Failure::reason), field("code", &Failure::code));
  }
};

}  // namespace tapedeck::protocol
