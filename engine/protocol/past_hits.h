// Where breakpoints would have stopped: a search through the records, backward or forward.
#pragma once

#include "engine/protocol/breakpoints.h"

namespace tapedeck::protocol {

/// An element of what was assigned or made, against a number.
struct ElementTest {
  std::vector<std::int64_t> element;  ///< one index per axis
  std::string comparison;             ///< "<", "<=", "==", "!=", ">=", ">"
  double value = 0;                   ///< where equality is asked for, to six digits
  template <class Visit, class Self = ElementTest>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("element", &Self::element), field("comparison", &Self::comparison),
                 field("value", &Self::value));
  }
};

/// The first record, from `from` on and in that direction, at which one of the breakpoints would have
/// stopped: as many records as can be looked at in a moment. What does not stop (logs, points) and what is
/// off is left out; hits are not counted. Answer: FoundHit; the next request goes on where that ended.
struct FindHit {
  std::vector<Breakpoint> breakpoints;
  std::vector<CellLabel> labels;  ///< as SetBreakpoints has them; older executions by their own numbers
  std::uint64_t from = 1;
  bool forward = false;
  std::optional<ElementTest>
      element;  ///< must hold as well, of the variable's value, or the op's first result
  static constexpr const char* type = "find_hit";
  template <class Visit, class Self = FindHit>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("breakpoints", &Self::breakpoints), field("labels", &Self::labels),
                 field("from", &Self::from), field("forward", &Self::forward),
                 field("element", &Self::element));
  }
};

struct FoundHit {
  std::optional<std::uint64_t> record;   ///< absent: none so far
  std::uint64_t next = 0;                ///< where the search goes on; 0: it has come to the end
  std::uint64_t oldest = 1, newest = 0;  ///< the records that are kept
  std::uint64_t looked_at = 0;           ///< records, by this answer
  std::uint64_t lost = 0;       ///< of these, how many could not be decided: a value of theirs is lost
  std::uint64_t undecided = 0;  ///< and how many, because Python names and curves are not recorded
  std::vector<std::uint64_t> breakpoints;  ///< those that held at the record
  std::string reason;                      ///< what held, "max(abs(out)) > 3, it is 7.3"
  std::optional<double> value;             ///< what decided, where it was a value
  std::vector<BreakpointState> problems;   ///< of breakpoints that can't be looked for
  /// Where the search ends: those of lines of which no op is recorded, so that it can't stop there. Of a long
  /// trace it is not known of all.
  std::vector<std::uint64_t> without_ops;
  static constexpr const char* type = "found_hit";
  template <class Visit, class Self = FoundHit>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("record", &Self::record), field("next", &Self::next), field("oldest", &Self::oldest),
                 field("newest", &Self::newest), field("looked_at", &Self::looked_at),
                 field("lost", &Self::lost), field("undecided", &Self::undecided),
                 field("breakpoints", &Self::breakpoints), field("reason", &Self::reason),
                 field("value", &Self::value), field("problems", &Self::problems),
                 field("without_ops", &Self::without_ops));
  }
};

}  // namespace tapedeck::protocol
