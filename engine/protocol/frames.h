// Variables, frames and expressions of the host language (Python), at a stop or between two
// cells.
#pragma once

#include "engine/protocol/record.h"
#include "engine/protocol/replies.h"

namespace tapedeck::protocol {

/// Where a value is looked for.
enum class ValueScope : std::uint8_t {
  globals,  ///< of the frame; without a frame the notebook's own
  locals,   ///< of the frame
  result    ///< of an evaluation: its number is the name
};
constexpr auto names(ValueScope) {
  return std::array<std::string_view, 3>{"globals", "locals", "result"};
}

/// A variable, or an item of what it holds.
struct ValuePlace {
  std::optional<std::uint64_t> stop;  ///< where the program is stopped (stop_id); absent: no cell runs
  std::uint32_t frame = 0;            ///< of that stop's Frames, 0 the innermost; without a stop no matter
  ValueScope scope = ValueScope::globals;
  std::optional<std::string> name;  ///< absent: the scope itself, whose items are its variables
  std::vector<std::uint64_t> path;  ///< positions: the item of the item of the variable
  /// A record: the values are those before it ran, as far as they are known. Absent: as they are now.
  std::optional<std::uint64_t> moment = {};
  template <class Visit, class Self = ValuePlace>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("stop", &Self::stop), field("frame", &Self::frame), field("scope", &Self::scope),
                 field("name", &Self::name), field("path", &Self::path), field("moment", &Self::moment));
  }
};

enum class ValueKind : std::uint8_t {
  value,
  code  ///< a function, class or module
};
constexpr auto names(ValueKind) {
  return std::array<std::string_view, 2>{"value", "code"};
}

/// One value as a row of a table shows it.
struct ValueInfo {
  std::string name;        ///< "x"; of an item "[0]", "['key']", ".attribute"
  std::uint64_t item = 0;  ///< its position, for a path
  ValueKind kind = ValueKind::value;
  std::string type;                                ///< name of its class
  std::string text;                                ///< its repr on one line, cut off where it is long
  std::optional<std::vector<std::int64_t>> shape;  ///< tensors, variables, arrays
  std::optional<std::string> dtype;                ///< the same
  std::optional<std::string> device;               ///< tensors and variables
  std::optional<std::uint64_t> bytes;              ///< absent: not known
  std::uint64_t items = 0;                         ///< what it has inside; 0: nothing to unfold
  std::optional<std::uint64_t> tensor;             ///< id of a tensor's or variable's value
  std::optional<std::string> edit;                 ///< Python text that makes the value, where it is small
  std::optional<std::string> problem;  ///< why there is no text: its repr raised, or took too long
  /// Which moment's it is, where that is not the one that the scope is of: "now", "at op 217".
  std::optional<std::string> as_of = {};
  template <class Visit, class Self = ValueInfo>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("name", &Self::name), field("item", &Self::item), field("kind", &Self::kind),
                 field("type", &Self::type), field("text", &Self::text), field("shape", &Self::shape),
                 field("dtype", &Self::dtype), field("device", &Self::device), field("bytes", &Self::bytes),
                 field("items", &Self::items), field("tensor", &Self::tensor), field("edit", &Self::edit),
                 field("problem", &Self::problem), field("as_of", &Self::as_of));
  }
};

/// The frames of the thread that waits at the gate, libraries' left out; with a `moment` those of
/// the nearest stop before it. What Python's names have at a stop is noted with its first page. Answer:
/// Frames.
struct GetFrames {
  std::optional<std::uint64_t> stop;         ///< as in ValuePlace
  std::uint32_t first = 0, count = 0;        ///< from the innermost; at most 500
  std::optional<std::uint64_t> moment = {};  ///< as in ValuePlace
  static constexpr const char* type = "get_frames";
  template <class Visit, class Self = GetFrames>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("stop", &Self::stop), field("first", &Self::first), field("count", &Self::count),
                 field("moment", &Self::moment));
  }
};

/// What is inside of a place, by page. Answer: Variables.
struct GetVariables {
  ValuePlace place;
  std::uint64_t first = 0;
  std::uint32_t count = 0;  ///< at most 500
  static constexpr const char* type = "get_variables";
  template <class Visit, class Self = GetVariables>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("place", &Self::place), field("first", &Self::first), field("count", &Self::count));
  }
};

/// Runs Python code where the place's scope is: an expression, or statements where `statements` is set. Its
/// ops are neither recorded nor stopped, and tapes that are its own work. Random state, counters and curves
/// stay as they were; of an expression also variables and names. Answer: Evaluation.
struct Evaluate {
  std::optional<std::uint64_t> stop;  ///< as in ValuePlace
  std::uint32_t frame = 0;
  std::string code;
  bool statements = false;
  std::optional<std::uint32_t> limit_ms;  ///< it is ended after that time; absent: only by Cancel
  /// As in ValuePlace: names have that record's values where these are known, and nothing is assigned.
  std::optional<std::uint64_t> moment = {};
  static constexpr const char* type = "evaluate";
  template <class Visit, class Self = Evaluate>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("stop", &Self::stop), field("frame", &Self::frame), field("code", &Self::code),
                 field("statements", &Self::statements), field("limit_ms", &Self::limit_ms),
                 field("moment", &Self::moment));
  }
};

/// Gives the variable or item the value of an expression. Answer: Evaluation, with the new value.
struct Assign {
  ValuePlace place;
  std::string code;
  static constexpr const char* type = "assign";
  template <class Visit, class Self = Assign>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("place", &Self::place), field("code", &Self::code));
  }
};

/// How the name or attribute that ends at `position` could go on. Answer: Completions.
struct Complete {
  std::optional<std::uint64_t> stop;  ///< as in ValuePlace
  std::uint32_t frame = 0;
  std::string code;
  std::uint32_t position = 0;  ///< in code points
  static constexpr const char* type = "complete";
  template <class Visit, class Self = Complete>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("stop", &Self::stop), field("frame", &Self::frame), field("code", &Self::code),
                 field("position", &Self::position));
  }
};

/// Makes the recorder keep a tensor, variable or array, so that its values can be asked for by its id.
/// Answer: HeldValue.
struct HoldValue {
  ValuePlace place;
  static constexpr const char* type = "hold_value";
  template <class Visit, class Self = HoldValue>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("place", &Self::place));
  }
};

/// The value that a variable has, or had before a record ran. Answer: HeldValue; its tensor has no id where
/// the variable came later.
struct GetVersion {
  std::uint64_t tensor = 0;                  ///< id of any value that the variable had
  std::optional<std::uint64_t> moment = {};  ///< absent: now
  static constexpr const char* type = "get_version";
  template <class Visit, class Self = GetVersion>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("tensor", &Self::tensor), field("moment", &Self::moment));
  }
};

/// Statistics of a tensor, variable or array as it is now, or at the place's moment; at most 4096 bins.
/// Answer: Statistics.
struct SummarizeValue {
  ValuePlace place;
  std::uint32_t bins = 16;
  static constexpr const char* type = "summarize_value";
  template <class Visit, class Self = SummarizeValue>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("place", &Self::place), field("bins", &Self::bins));
  }
};

struct Frame {
  std::string function;     ///< "step"; "<module>" for a cell's own lines
  std::string cell;         ///< id; empty: no cell's, as in Record
  std::string file;         ///< where no cell
  std::uint32_t line = 0;   ///< from 1
  bool has_locals = false;  ///< of its own: false where they are the globals
  template <class Visit, class Self = Frame>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("function", &Self::function), field("cell", &Self::cell), field("file", &Self::file),
                 field("line", &Self::line), field("has_locals", &Self::has_locals));
  }
};

struct Frames {
  std::uint64_t stop = 0;   ///< 0: it was asked for none
  std::string thread;       ///< its name in Python
  std::uint32_t total = 0;  ///< how many there are
  std::uint32_t first = 0;
  std::vector<Frame> frames;
  std::optional<std::uint64_t> moment = {};  ///< as it was asked for
  /// With a moment: the record that the nearest earlier stop was before, or after. Absent: there was none.
  std::optional<std::uint64_t> noted = {};
  bool noted_after = false;
  /// The cell whose beginning was nearer; `noted` is the first record from then on.
  std::optional<std::string> noted_cell = {};
  /// With a cell: the function that the moment's record ran in, whose locals no stop has noted. Absent: none.
  std::optional<std::string> unknown_function = {};
  static constexpr const char* type = "frames";
  template <class Visit, class Self = Frames>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("stop", &Self::stop), field("thread", &Self::thread), field("total", &Self::total),
                 field("first", &Self::first), field("frames", &Self::frames), field("moment", &Self::moment),
                 field("noted", &Self::noted), field("noted_after", &Self::noted_after),
                 field("noted_cell", &Self::noted_cell), field("unknown_function", &Self::unknown_function));
  }
};

struct Variables {
  std::uint64_t total = 0;
  std::uint64_t first = 0;
  std::vector<ValueInfo> variables;
  static constexpr const char* type = "variables";
  template <class Visit, class Self = Variables>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("total", &Self::total), field("first", &Self::first),
                 field("variables", &Self::variables));
  }
};

struct Evaluation {
  std::optional<ValueInfo> value;       ///< absent: an error, or statements that end with no expression
  std::optional<std::uint64_t> result;  ///< its number, for a place; absent: nothing to unfold or show
  std::string printed;
  std::optional<std::string> text;       ///< of a value that statements end with: as a cell shows it
  std::optional<std::string> error;      ///< last line of the traceback: "NameError: name 'y' is not defined"
  std::optional<std::string> traceback;  ///< whole; absent where there is no error
  std::optional<std::string> note;       ///< what the user should know: where an assignment has no effect
  std::optional<std::string> moment = {};  ///< which moment's it is; absent: none was asked for
  static constexpr const char* type = "evaluation";
  template <class Visit, class Self = Evaluation>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("value", &Self::value), field("result", &Self::result),
                 field("printed", &Self::printed), field("text", &Self::text), field("error", &Self::error),
                 field("traceback", &Self::traceback), field("note", &Self::note),
                 field("moment", &Self::moment));
  }
};

struct Completions {
  std::uint32_t start = 0;  ///< in code points: what comes from there to the position is replaced
  std::vector<std::string> matches;
  static constexpr const char* type = "completions";
  template <class Visit, class Self = Completions>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("start", &Self::start), field("matches", &Self::matches));
  }
};

struct HeldValue {
  TensorInfo tensor;
  bool variable = false;  ///< its value: GetVersion has those of other moments
  static constexpr const char* type = "held_value";
  template <class Visit, class Self = HeldValue>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("tensor", &Self::tensor), field("variable", &Self::variable));
  }
};

}  // namespace tapedeck::protocol
