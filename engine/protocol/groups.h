// What the records of a session fall into: runs of cells, steps of training, and scopes, each as a list of
// where it begins. A view makes headings of them.
#pragma once

#include "engine/protocol/compare.h"

namespace tapedeck::protocol {

/// The groups that are new since an earlier answer: as much as can be found in a moment. Answer:
/// RecordGroups; the next request goes on after what that covers. Of the last run and the last step that an
/// answer had, more may be known later: ask for them again.
struct GetRecordGroups {
  std::uint64_t first = 1;  ///< record from which on scopes are wanted
  std::uint64_t run = 1;    ///< runs of cells from this number on
  std::uint64_t step = 1;   ///< steps from this one on, of all that the session made
  static constexpr const char* type = "get_record_groups";
  template <class Visit, class Self = GetRecordGroups>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("first", &Self::first), field("run", &Self::run), field("step", &Self::step));
  }
};

/// The records of one run of a cell.
struct RunGroup {
  std::uint64_t number = 0;     ///< from 1, in the order in which they began
  std::string cell;             ///< its id
  std::uint64_t execution = 0;  ///< Jupyter's number of the run; 0: not known
  std::uint64_t of_cell = 0;    ///< which run of its cell it is, from 1
  std::uint64_t first = 1;
  std::optional<std::uint64_t> last;  ///< below `first`: no op ran; absent: it runs
  bool failed = false;
  template <class Visit, class Self = RunGroup>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("number", &Self::number), field("cell", &Self::cell),
                 field("execution", &Self::execution), field("of_cell", &Self::of_cell),
                 field("first", &Self::first), field("last", &Self::last), field("failed", &Self::failed));
  }
};

/// A call of a graph function, or a part of one: a record of kind `call`, with those inside it.
struct CallGroup {
  std::uint64_t record = 0;
  std::uint64_t around = 0;  ///< the call or part that it is in; 0: none
  std::string name;          ///< as of the record
  std::uint64_t scope = 0;   ///< place in the answer's `scopes`
  template <class Visit, class Self = CallGroup>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("record", &Self::record), field("around", &Self::around), field("name", &Self::name),
                 field("scope", &Self::scope));
  }
};

struct RecordGroups {
  std::uint64_t covered = 0;   ///< the newest record whose groups are known now
  std::uint64_t total = 0;     ///< number of the newest record
  std::vector<RunGroup> runs;  ///< at most 1000
  /// Lists side by side, one entry a step: its records, and which step of its cell's run it is, from 1. A
  /// step belongs to the run in which it ends, and none of its records is older than that. At most 16,384.
  std::vector<std::uint64_t> step_firsts, step_lasts, step_numbers;
  std::vector<std::string> scopes;  ///< names; empty: none, or forgotten before it was read
  /// Side by side: a record, and the place in `scopes` of what it and those after it have. At most 16,384.
  std::vector<std::uint64_t> scope_begins, scope_places;
  /// Beside these: the innermost call or part of one that they are in, which may be the record itself; 0:
  /// none.
  std::vector<std::uint64_t> scope_calls;
  std::vector<CallGroup> calls;  ///< from the request's record on, up to `covered`
  static constexpr const char* type = "record_groups";
  template <class Visit, class Self = RecordGroups>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("covered", &Self::covered), field("total", &Self::total), field("runs", &Self::runs),
                 field("step_firsts", &Self::step_firsts), field("step_lasts", &Self::step_lasts),
                 field("step_numbers", &Self::step_numbers), field("scopes", &Self::scopes),
                 field("scope_begins", &Self::scope_begins), field("scope_places", &Self::scope_places),
                 field("scope_calls", &Self::scope_calls), field("calls", &Self::calls));
  }
};

}  // namespace tapedeck::protocol
