// The debug protocol's messages from the app.
#pragma once

#include "engine/protocol/record.h"

namespace tapedeck::protocol {

/// Raised whenever a message changes. Both sides must have the same one.
constexpr std::uint32_t version = 14;

struct Hello {
  std::uint32_t protocol_version = version;
  std::string program;
  static constexpr const char* type = "hello";
  template <class Visit, class Self = Hello>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("protocol_version", &Self::protocol_version), field("program", &Self::program));
  }
};

struct GetStatus {
  static constexpr const char* type = "get_status";
  template <class Visit>
  static constexpr auto fields(Visit&& visit) {
    return visit();
  }
};

/// Answer: Records.
struct GetRecords {
  std::uint64_t first = 1;
  std::uint32_t count = 0;    ///< at most 1000 a page
  bool with_previews = true;  ///< small values as text, where they are at hand
  static constexpr const char* type = "get_records";
  template <class Visit, class Self = GetRecords>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("first", &Self::first), field("count", &Self::count),
                 field("with_previews", &Self::with_previews));
  }
};

/// Which of these records, at most 4096, have lost values. Answer: LostRecords.
struct GetLostRecords {
  std::vector<std::uint64_t> records;
  static constexpr const char* type = "get_lost_records";
  template <class Visit, class Self = GetLostRecords>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("records", &Self::records));
  }
};

/// Records on or played from one tape, in order, up to `last` (absent: the newest). With `around`: `limit`
/// ops of the tape, as many before that record (the op whose VJP it is, or runs in) as from it on, where
/// there are so many; their VJPs and what runs inside of them, and all playbacks. Without: the newest `limit`
/// records. Answer: TapeRecords.
struct GetTape {
  std::uint64_t tape = 0;
  std::optional<std::uint64_t> last;
  std::uint32_t limit = 2000;
  std::optional<std::uint64_t> around;  ///< a record
  static constexpr const char* type = "get_tape";
  template <class Visit, class Self = GetTape>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("tape", &Self::tape), field("last", &Self::last), field("limit", &Self::limit),
                 field("around", &Self::around));
  }
};

/// Which value of its elements a cell of a tile shows. Where one of them is NaN each of these is NaN.
enum class CellValue : std::uint8_t {
  mean,
  extreme,  ///< the one with the largest magnitude, with its sign; of two alike the positive one
  minimum,
  maximum
};
constexpr auto names(CellValue) {
  return std::array<std::string_view, 4>{"mean", "extreme", "minimum", "maximum"};
}

/// A rectangle of a tensor's values, after reshape and slicing. Answer: Tile.
struct GetTile {
  std::uint64_t tensor = 0;
  /// Absent: the tensor's own shape. Else a shape with the same number of elements.
  std::optional<std::vector<std::int64_t>> reshape;
  /// One per axis of that shape: an index, or -1 for a shown axis. At most two are shown: rows, then columns;
  /// with one shown axis that is the columns. Absent: the last two axes shown, 0 elsewhere.
  std::optional<std::vector<std::int64_t>> slice;
  std::int64_t row = 0, column = 0;  ///< first shown element
  std::int64_t rows = 0, columns = 0;
  /// Every cell of the tile covers row_step × column_step elements (see `cell`); 1 for the numbers
  /// themselves.
  std::int64_t row_step = 1, column_step = 1;
  CellValue cell = CellValue::mean;
  static constexpr const char* type = "get_tile";
  template <class Visit, class Self = GetTile>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("tensor", &Self::tensor), field("reshape", &Self::reshape),
                 field("slice", &Self::slice), field("row", &Self::row), field("column", &Self::column),
                 field("rows", &Self::rows), field("columns", &Self::columns),
                 field("row_step", &Self::row_step), field("column_step", &Self::column_step),
                 field("cell", &Self::cell));
  }
};

/// What FindElement looks for.
enum class Sought : std::uint8_t {
  nan,
  infinity,  ///< of either sign
  minimum,   ///< of the finite values; of complex numbers the magnitudes, of strings the numbers of bytes
  maximum
};
constexpr auto names(Sought) {
  return std::array<std::string_view, 4>{"nan", "infinity", "minimum", "maximum"};
}

/// Where in the whole tensor such an element is. Answer: FoundElement.
struct FindElement {
  std::uint64_t tensor = 0;
  Sought sought = Sought::nan;
  /// A place in row-major order: the first one behind it, and behind the last one the first of all. Absent:
  /// the first of all.
  std::optional<std::int64_t> after;
  std::optional<std::uint64_t> branch;  ///< of its value there; with `difference` of branch minus original
  bool difference = false;
  static constexpr const char* type = "find_element";
  template <class Visit, class Self = FindElement>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("tensor", &Self::tensor), field("sought", &Self::sought), field("after", &Self::after),
                 field("branch", &Self::branch), field("difference", &Self::difference));
  }
};

/// Answer: Statistics, of the whole tensor.
struct GetStatistics {
  std::uint64_t tensor = 0;
  std::uint32_t bins = 64;  ///< of the histogram
  static constexpr const char* type = "get_statistics";
  template <class Visit, class Self = GetStatistics>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("tensor", &Self::tensor), field("bins", &Self::bins));
  }
};

enum class GateCommand : std::uint8_t {
  run,        ///< open
  pause,      ///< stop before the next op
  step_op,    ///< stop before the next op, or VJP of a playback; enters custom gradients, goes over calls
  step_line,  ///< stop before another source line, where the host reports lines; else before its first op;
              ///< stopped before a call: before the first op in it
  step_out,   ///< stop after the playback, custom gradient or call that it is in
  end         ///< the process is being ended: what waits is abandoned, and nothing stops any more
};
constexpr auto names(GateCommand) {
  return std::array<std::string_view, 6>{"run", "pause", "step_op", "step_line", "step_out", "end"};
}
/// Answer: Status.
struct SetGate {
  GateCommand command = GateCommand::run;
  static constexpr const char* type = "set_gate";
  template <class Visit, class Self = SetGate>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("command", &Self::command));
  }
};

/// Answer: Status. Only what is there is changed.
struct SetOptions {
  std::optional<bool> recording;
  std::optional<bool> break_at_cell_start;
  std::optional<std::uint64_t> budget_bytes;
  std::optional<bool> keep_everything;  ///< hold every value (tests, short sessions)
  std::optional<bool> replay_on_cpu;    ///< compute values again on the CPU, not where their ops ran
  std::optional<bool> functions_eagerly = std::nullopt;  ///< calls of graph functions run their Python code
  static constexpr const char* type = "set_options";
  template <class Visit, class Self = SetOptions>
  static constexpr auto fields(Visit&& visit) {
    return visit(
        field("recording", &Self::recording), field("break_at_cell_start", &Self::break_at_cell_start),
        field("budget_bytes", &Self::budget_bytes), field("keep_everything", &Self::keep_everything),
        field("replay_on_cpu", &Self::replay_on_cpu), field("functions_eagerly", &Self::functions_eagerly));
  }
};

/// Holds a value within the budget whatever its age, or releases it. Answer: Status.
struct Pin {
  std::uint64_t tensor = 0;
  bool pinned = true;
  static constexpr const char* type = "pin";
  template <class Visit, class Self = Pin>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("tensor", &Self::tensor), field("pinned", &Self::pinned));
  }
};

/// Answer: Series, with the points from `first` on of every series.
struct GetSeries {
  std::uint64_t first = 0;  ///< a position that an earlier answer gave as `next`
  static constexpr const char* type = "get_series";
  template <class Visit, class Self = GetSeries>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("first", &Self::first));
  }
};

/// Answer: Pictures, the histograms and images from `first` on.
struct GetPictures {
  std::uint64_t first = 0;  ///< a position that an earlier answer gave as `next`
  static constexpr const char* type = "get_pictures";
  template <class Visit, class Self = GetPictures>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("first", &Self::first));
  }
};

/// The records that a filter (record_filter.h) lets through, from `first` on: as many as can be searched in a
/// moment. Answer: FoundRecords; the next request continues after them.
struct FindRecords {
  std::string filter;
  std::vector<CellLabel> labels;
  std::uint64_t first = 1;
  std::vector<std::uint64_t> again;            ///< older records that were open in earlier answers
  std::optional<bool> backward;                ///< only forward or only backward records; absent: both
  std::vector<std::uint64_t> bookmarked = {};  ///< ascending: the records that the filter calls so
  static constexpr const char* type = "find_records";
  template <class Visit, class Self = FindRecords>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("filter", &Self::filter), field("labels", &Self::labels), field("first", &Self::first),
                 field("again", &Self::again), field("backward", &Self::backward),
                 field("bookmarked", &Self::bookmarked));
  }
};

/// Drops the request with that id where it is not answered yet (a recomputation, say). No answer.
struct Cancel {
  std::uint64_t request = 0;
  static constexpr const char* type = "cancel";
  template <class Visit, class Self = Cancel>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("request", &Self::request));
  }
};

}  // namespace tapedeck::protocol
