// Where the user's program stops: what the app asks for, and what became of it.
#pragma once

#include "engine/protocol/record.h"

namespace tapedeck::protocol {

enum class BreakpointKind : std::uint8_t {
  line,   ///< before a line runs, each time; where the condition looks at ops, at the first that fulfils it
  op,     ///< an op by name, or by a pattern with *
  read,   ///< what reads a variable, or the tensor of a number
  write,  ///< an assignment to a variable
  cell,   ///< the first op that a cell runs
  exception,  ///< an op that fails: stops at it, before the error reaches the program
  playback,   ///< the start of a playback
  vjp,        ///< a VJP, by its op's name or pattern, or that of the record of a number
  condition   ///< whatever fulfils the condition
};
constexpr auto names(BreakpointKind) {
  return std::array<std::string_view, 9>{"line",      "op",       "read", "write",    "cell",
                                         "exception", "playback", "vjp",  "condition"};
}

enum class BreakpointAction : std::uint8_t {
  stop,
  log,   ///< writes a line into the cell's output
  point  ///< adds a point to a curve
};
constexpr auto names(BreakpointAction) {
  return std::array<std::string_view, 3>{"stop", "log", "point"};
}

/// As the user's form has it: fields that the kind has no use for are left as they are, and an empty text
/// asks for nothing.
struct Breakpoint {
  std::uint64_t id = 0;  ///< the app's choice: 1, 2, …
  BreakpointKind kind = BreakpointKind::line;
  std::string cell;        ///< line, cell: the cell's id
  std::uint32_t line = 0;  ///< line: from 1
  /// op, vjp: name or pattern; read, write: the variable's name. Numbers: read "#12" a tensor, vjp "#12" the
  /// record whose VJP it is. Empty: any.
  std::string target;
  std::string condition;       ///< must hold as well (condition.h); empty: always
  std::uint64_t from_hit = 1;  ///< hits before this one are only counted
  bool enabled = true;
  bool once = false;  ///< does nothing after it has stopped once
  BreakpointAction action = BreakpointAction::stop;
  /// log: the line, where {max(out)} or {op} is replaced by its value then. point: "NAME = norm(grad)", or
  /// the quantity alone.
  std::string text;
  template <class Visit, class Self = Breakpoint>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("id", &Self::id), field("kind", &Self::kind), field("cell", &Self::cell),
                 field("line", &Self::line), field("target", &Self::target),
                 field("condition", &Self::condition), field("from_hit", &Self::from_hit),
                 field("enabled", &Self::enabled), field("once", &Self::once), field("action", &Self::action),
                 field("text", &Self::text));
  }
};

/// All breakpoints from now on. One that was there before, and is the same, goes on counting. Answer:
/// Breakpoints.
struct SetBreakpoints {
  std::vector<Breakpoint> breakpoints;
  /// What `cell:3` in a condition means for cells whose executions the session does not know; else it is the
  /// execution's number, as in a filter.
  std::vector<CellLabel> labels = {};
  static constexpr const char* type = "set_breakpoints";
  template <class Visit, class Self = SetBreakpoints>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("breakpoints", &Self::breakpoints), field("labels", &Self::labels));
  }
};

struct BreakpointState {
  std::uint64_t id = 0;
  std::uint64_t hits = 0;
  std::optional<std::string> problem;  ///< why it does not work, a sentence; absent: it works
  std::optional<std::string> part;     ///< what the problem is in: "condition", "target", "text"
  std::uint64_t position = 0;          ///< where in it, in bytes
  std::optional<std::string> note;     ///< why it will never be hit, as far as is known
  template <class Visit, class Self = BreakpointState>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("id", &Self::id), field("hits", &Self::hits), field("problem", &Self::problem),
                 field("part", &Self::part), field("position", &Self::position), field("note", &Self::note));
  }
};

/// In the order of the request.
struct Breakpoints {
  std::vector<BreakpointState> states;
  static constexpr const char* type = "breakpoints";
  template <class Visit, class Self = Breakpoints>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("states", &Self::states));
  }
};

struct BreakpointHits {
  std::uint64_t id = 0;
  std::uint64_t hits = 0;
  /// Of a line, where the condition or the text asks for an op: in how many of its runs there was none that
  /// the condition could fit. A log or a point whose condition asks for none was hit in those, too.
  std::uint64_t without_op = 0;
  template <class Visit, class Self = BreakpointHits>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("id", &Self::id), field("hits", &Self::hits), field("without_op", &Self::without_op));
  }
};

}  // namespace tapedeck::protocol
