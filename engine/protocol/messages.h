// The debug protocol's messages: data only. Each is one struct with one field list; names, encoding and
// decoding come from that list (codec.h). README.md beside this file describes the conversation.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

namespace tapedeck::protocol {

/// Raised whenever a message changes. Both sides must have the same one.
constexpr std::uint32_t version = 2;

template <class Struct, class Member>
struct Field {
  const char* name;
  Member Struct::*member;
};
template <class Struct, class Member>
constexpr Field<Struct, Member> field(const char* name, Member Struct::*member) {
  return {name, member};
}

// ---- parts
// ------------------------------------------------------------------------------------------------------

enum class RecordKind : std::uint8_t { op, custom, playback, vjp };
enum class RecordState : std::uint8_t {
  pending,  ///< at the gate: inputs are there, outputs are only known by shape
  running,
  done,
  failed
};

/// The values' names on the wire and in files, in the order of the enumerators.
constexpr auto names(RecordKind) {
  return std::array<std::string_view, 4>{"op", "custom", "playback", "vjp"};
}
constexpr auto names(RecordState) {
  return std::array<std::string_view, 4>{"pending", "running", "done", "failed"};
}

struct TensorInfo {
  std::uint64_t id = 0;  ///< 0: no tensor (a gradient that is None), or not made yet
  std::string dtype;     ///< "float32"
  std::vector<std::int64_t> shape;
  std::string device;          ///< "/cpu:0"
  std::string name;            ///< a variable's name; else empty
  std::string preview;         ///< the values, where there are at most 4 and they are at hand; else empty
  std::uint64_t producer = 0;  ///< the record that made it; 0 for a leaf
  static constexpr auto fields() {
    return std::tuple(field("id", &TensorInfo::id), field("dtype", &TensorInfo::dtype),
                      field("shape", &TensorInfo::shape), field("device", &TensorInfo::device),
                      field("name", &TensorInfo::name), field("preview", &TensorInfo::preview),
                      field("producer", &TensorInfo::producer));
  }
};

struct AttributeText {
  std::string name;
  std::string value;  ///< as Python writes it
  static constexpr auto fields() {
    return std::tuple(field("name", &AttributeText::name), field("value", &AttributeText::value));
  }
};

/// One op, VJP, playback or custom gradient that ran, or waits at the gate.
struct Record {
  std::uint64_t number = 0;  ///< from 1, in the order in which they began
  RecordKind kind = RecordKind::op;
  RecordState state = RecordState::done;
  std::string op;  ///< "matmul"; a custom gradient's function name; "gradient" for a playback
  bool custom_gradient = false;
  std::uint64_t parent = 0;   ///< the custom, playback or vjp record that it ran inside of; 0: none
  std::uint32_t depth = 0;    ///< number of ancestors
  bool backward = false;      ///< a playback, or inside one
  std::uint64_t forward = 0;  ///< vjp: the record whose VJP it is. Ops inside a vjp have that vjp's value too
  std::uint64_t tape = 0;     ///< the innermost tape that recorded it, or is played; 0: none
  std::string scope;          ///< user's name scopes, "outer/inner"
  std::string cell;           ///< id of the cell whose source line ran; empty outside a notebook
  std::string file;           ///< source file, where no cell
  std::uint32_t line = 0;     ///< from 1; 0: unknown
  std::uint64_t thread = 0;   ///< 0 for the first thread seen, then 1, 2, …
  std::int64_t start_ns = 0;  ///< since the session's start
  std::int64_t duration_ns = 0;
  std::vector<AttributeText> attributes;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::string vjp_formula;  ///< of the op (op, vjp); empty for others
  std::string error;
  static constexpr auto fields() {
    return std::tuple(field("number", &Record::number), field("kind", &Record::kind),
                      field("state", &Record::state), field("op", &Record::op),
                      field("custom_gradient", &Record::custom_gradient), field("parent", &Record::parent),
                      field("depth", &Record::depth), field("backward", &Record::backward),
                      field("forward", &Record::forward), field("tape", &Record::tape),
                      field("scope", &Record::scope), field("cell", &Record::cell),
                      field("file", &Record::file), field("line", &Record::line),
                      field("thread", &Record::thread), field("start_ns", &Record::start_ns),
                      field("duration_ns", &Record::duration_ns), field("attributes", &Record::attributes),
                      field("inputs", &Record::inputs), field("outputs", &Record::outputs),
                      field("vjp_formula", &Record::vjp_formula), field("error", &Record::error));
  }
};

// ---- from the app
// -------------------------------------------------------------------------------------------------

struct Hello {
  std::uint32_t protocol_version = version;
  std::string program;
  static constexpr const char* type = "hello";
  static constexpr auto fields() {
    return std::tuple(field("protocol_version", &Hello::protocol_version), field("program", &Hello::program));
  }
};

struct GetStatus {
  static constexpr const char* type = "get_status";
  static constexpr auto fields() { return std::tuple(); }
};

/// Answer: Records.
struct GetRecords {
  std::uint64_t first = 1;
  std::uint32_t count = 0;    ///< at most 1000 a page
  bool with_previews = true;  ///< small values as text, where they are at hand
  static constexpr const char* type = "get_records";
  static constexpr auto fields() {
    return std::tuple(field("first", &GetRecords::first), field("count", &GetRecords::count),
                      field("with_previews", &GetRecords::with_previews));
  }
};

/// Records on or played from one tape, in order, up to `last`. With `around`: `limit` ops of the tape, as
/// many before that record (the op whose VJP it is, or runs in) as from it on, where there are so many; their
/// VJPs and what runs inside of them, and all playbacks. Without: the newest `limit` records. Answer:
/// TapeRecords.
struct GetTape {
  std::uint64_t tape = 0;
  std::uint64_t last = 0;
  std::uint32_t limit = 2000;
  std::uint64_t around = 0;
  static constexpr const char* type = "get_tape";
  static constexpr auto fields() {
    return std::tuple(field("tape", &GetTape::tape), field("last", &GetTape::last),
                      field("limit", &GetTape::limit), field("around", &GetTape::around));
  }
};

/// A rectangle of a tensor's values, after reshape and slicing. Answer: Tile.
struct GetTile {
  std::uint64_t tensor = 0;
  /// Empty: the tensor's own shape. Else a shape with the same number of elements.
  std::vector<std::int64_t> reshape;
  /// One per axis of that shape: an index, or -1 for a shown axis. At most two are shown: rows, then columns;
  /// with one shown axis that is the columns. Empty: the last two axes shown, 0 elsewhere.
  std::vector<std::int64_t> slice;
  std::int64_t row = 0, column = 0;  ///< first shown element
  std::int64_t rows = 0, columns = 0;
  /// Every cell of the tile stands for row_step × column_step elements (their mean); 1 for the numbers
  /// themselves.
  std::int64_t row_step = 1, column_step = 1;
  static constexpr const char* type = "get_tile";
  static constexpr auto fields() {
    return std::tuple(field("tensor", &GetTile::tensor), field("reshape", &GetTile::reshape),
                      field("slice", &GetTile::slice), field("row", &GetTile::row),
                      field("column", &GetTile::column), field("rows", &GetTile::rows),
                      field("columns", &GetTile::columns), field("row_step", &GetTile::row_step),
                      field("column_step", &GetTile::column_step));
  }
};

/// Answer: Statistics, of the whole tensor.
struct GetStatistics {
  std::uint64_t tensor = 0;
  std::uint32_t bins = 64;  ///< of the histogram
  static constexpr const char* type = "get_statistics";
  static constexpr auto fields() {
    return std::tuple(field("tensor", &GetStatistics::tensor), field("bins", &GetStatistics::bins));
  }
};

enum class GateCommand : std::uint8_t {
  run,        ///< open
  pause,      ///< stop before the next op
  step_op,    ///< stop before the next op, or VJP of a playback; enters custom gradients
  step_line,  ///< stop before the first op of another source line
  step_out    ///< stop after the playback or custom gradient that it is in
};
constexpr auto names(GateCommand) {
  return std::array<std::string_view, 5>{"run", "pause", "step_op", "step_line", "step_out"};
}
/// Answer: Status.
struct SetGate {
  GateCommand command = GateCommand::run;
  static constexpr const char* type = "set_gate";
  static constexpr auto fields() { return std::tuple(field("command", &SetGate::command)); }
};

/// Answer: Status. Each optional part is a vector of none or one value: only what is there is changed.
struct SetOptions {
  std::vector<bool> recording;
  std::vector<bool> break_at_cell_start;
  std::vector<std::uint64_t> budget_bytes;
  std::vector<bool> keep_everything;  ///< hold every value (tests, short sessions)
  static constexpr const char* type = "set_options";
  static constexpr auto fields() {
    return std::tuple(field("recording", &SetOptions::recording),
                      field("break_at_cell_start", &SetOptions::break_at_cell_start),
                      field("budget_bytes", &SetOptions::budget_bytes),
                      field("keep_everything", &SetOptions::keep_everything));
  }
};

/// Holds a value within the budget whatever its age, or lets it go. Answer: Status.
struct Pin {
  std::uint64_t tensor = 0;
  bool pinned = true;
  static constexpr const char* type = "pin";
  static constexpr auto fields() {
    return std::tuple(field("tensor", &Pin::tensor), field("pinned", &Pin::pinned));
  }
};

/// Answer: Series, with the points from `first` on of every series.
struct GetSeries {
  std::uint64_t first = 0;  ///< a position that an earlier answer gave as `next`
  static constexpr const char* type = "get_series";
  static constexpr auto fields() { return std::tuple(field("first", &GetSeries::first)); }
};

struct CellLabel {
  std::string cell;   ///< id
  std::string label;  ///< what the user sees at the cell, "[3]"
  static constexpr auto fields() {
    return std::tuple(field("cell", &CellLabel::cell), field("label", &CellLabel::label));
  }
};

/// The records that a filter (record_filter.h) lets through, from `first` on: as many as can be looked at in
/// a moment. Answer: FoundRecords; the next request goes on after what that looked at.
struct FindRecords {
  std::string filter;
  std::vector<CellLabel> labels;
  std::uint64_t first = 1;
  std::vector<std::uint64_t> again;  ///< older records that were open in earlier answers
  static constexpr const char* type = "find_records";
  static constexpr auto fields() {
    return std::tuple(field("filter", &FindRecords::filter), field("labels", &FindRecords::labels),
                      field("first", &FindRecords::first), field("again", &FindRecords::again));
  }
};

/// Drops the request with that id where it is not answered yet (a recomputation, say). No answer.
struct Cancel {
  std::uint64_t request = 0;
  static constexpr const char* type = "cancel";
  static constexpr auto fields() { return std::tuple(field("request", &Cancel::request)); }
};

// ---- from the session
// -----------------------------------------------------------------------------------------------

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

/// Also sent unasked, with request 0, when something in it changed: at once for the gate, else at most 30
/// times a second.
struct Status {
  std::uint64_t records = 0;  ///< number of the newest record; 0: none
  GateState gate = GateState::open;
  std::uint64_t stopped_before = 0;  ///< the pending record at the gate; 0 where not stopped
  std::uint64_t stepped_over = 0;  ///< the one that it was stopped before until the last step; 0 after a run
  /// Where stopped: the pending record, last, and before it what ran since the step began; at most 32.
  std::vector<Record> stop;
  std::uint64_t finished = 0;  ///< the newest record that finished
  std::uint64_t ended = 0;     ///< how many records finished or failed: a playback ends after newer records
  std::string stop_reason;     ///< "step", "pause", "cell start", "step out"
  std::string cell;            ///< where it is stopped
  std::uint32_t line = 0;
  std::string running_cell;  ///< the cell that runs now; empty: none
  bool recording = true;
  bool break_at_cell_start = false;
  bool keep_everything = false;
  std::uint64_t held_bytes = 0;    ///< values that the recorder holds
  std::uint64_t record_bytes = 0;  ///< the records themselves, and copies of small values
  std::uint64_t budget_bytes = 0;
  std::uint64_t leaves_dropped = 0;  ///< leaves that had to go: values behind them can not be had again
  std::uint64_t series_points = 0;   ///< total so far
  std::uint64_t pool_bytes = 0;      ///< in use by tensors, the recorder's included
  static constexpr const char* type = "status";
  static constexpr auto fields() {
    return std::tuple(
        field("records", &Status::records), field("gate", &Status::gate),
        field("stopped_before", &Status::stopped_before), field("stepped_over", &Status::stepped_over),
        field("stop", &Status::stop), field("ended", &Status::ended), field("finished", &Status::finished),
        field("stop_reason", &Status::stop_reason), field("cell", &Status::cell),
        field("line", &Status::line), field("running_cell", &Status::running_cell),
        field("recording", &Status::recording), field("break_at_cell_start", &Status::break_at_cell_start),
        field("keep_everything", &Status::keep_everything), field("held_bytes", &Status::held_bytes),
        field("record_bytes", &Status::record_bytes), field("budget_bytes", &Status::budget_bytes),
        field("leaves_dropped", &Status::leaves_dropped), field("series_points", &Status::series_points),
        field("pool_bytes", &Status::pool_bytes));
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
  std::string source;  ///< "held" or "recomputed"
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
  double minimum = 0, maximum = 0, mean = 0,
         deviation = 0;                  ///< of the finite values; NaN where there are none
  std::vector<std::uint64_t> histogram;  ///< equal bins from minimum to maximum
  std::string source;  ///< "held", "recomputed", or "kept statistics" where the value is gone
  static constexpr const char* type = "statistics";
  static constexpr auto fields() {
    return std::tuple(field("tensor", &Statistics::tensor), field("count", &Statistics::count),
                      field("finite", &Statistics::finite), field("zeros", &Statistics::zeros),
                      field("nan", &Statistics::nan),
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

using Request = std::variant<Hello, GetStatus, GetRecords, GetTape, GetTile, GetStatistics, SetGate,
                             SetOptions, Pin, GetSeries, FindRecords, Cancel>;
using Reply = std::variant<Welcome, Refused, Status, Records, TapeRecords, Tile, Statistics, Series,
                           FoundRecords, Progress, Failure>;

}  // namespace tapedeck::protocol
