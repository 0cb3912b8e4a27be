// What if: the past with something changed, in a branch beside the original.
#pragma once

#include "engine/protocol/requests.h"

namespace tapedeck::protocol {

enum class ChangeKind : std::uint8_t {
  value,      ///< the tensor's elements become `numbers` (row-major; one number: all
              ///< of them)
  element,    ///< one element becomes the one number
  attribute,  ///< the record's attribute of that name becomes `text`, as Python
              ///< writes it
  skip,       ///< the record's op passes its first input on
  zero,       ///< its results become zeros
  scale,      ///< its results times the one number
  clip        ///< its results clipped to plus and minus the one number
};
constexpr auto names(ChangeKind) {
  return std::array<std::string_view, 7>{"value", "element", "attribute", "skip", "zero", "scale", "clip"};
}

/// What its kind does not need is absent.
struct PastChange {
  ChangeKind kind = ChangeKind::value;
  std::optional<std::uint64_t> tensor;               ///< value, element
  std::optional<std::vector<std::int64_t>> element;  ///< element: one index per axis
  std::vector<double> numbers;
  std::optional<std::uint64_t> record;         ///< attribute, skip, zero, scale, clip
  std::optional<std::string> attribute, text;  ///< attribute
  std::optional<std::uint64_t> result = {};    ///< zero, scale, clip: that one of the op's results alone
  template <class Visit, class Self = PastChange>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("kind", &Self::kind), field("tensor", &Self::tensor), field("element", &Self::element),
                 field("numbers", &Self::numbers), field("record", &Self::record),
                 field("attribute", &Self::attribute), field("text", &Self::text),
                 field("result", &Self::result));
  }
};

/// What a change of many ops does with a number.
enum class SetAction : std::uint8_t { scale, add, set, clip };
constexpr auto names(SetAction) {
  return std::array<std::string_view, 4>{"scale", "add", "set", "clip"};
}

/// The same change of every op that a filter finds.
struct SetChange {
  std::string filter;  ///< a condition, see parse_set(): "op:gradient_descent and step >= 60"
  /// "out": the results; "out0" …, or its name ("q"): one of them; "in", "in0" …: an input; else the name of
  /// an attribute, or of an input: "learning_rate". Ops without it stay as they are.
  std::string subject;
  SetAction action = SetAction::scale;
  std::string value;  ///< a number; of an attribute that is set, what Python would write
  template <class Visit, class Self = SetChange>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("filter", &Self::filter), field("subject", &Self::subject),
                 field("action", &Self::action), field("value", &Self::value));
  }
};

/// A branch with these changes; what depends on them up to record `last` (absent:
/// the newest) runs again, and the points of curves that were made of it. Answer: Branched, with Progress
/// before it.
struct MakeBranch {
  std::vector<PastChange> changes;
  std::optional<std::uint64_t> last;
  std::vector<SetChange> sets = {};
  static constexpr const char* type = "make_branch";
  template <class Visit, class Self = MakeBranch>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("changes", &Self::changes), field("last", &Self::last), field("sets", &Self::sets));
  }
};

/// An op whose result moved.
struct Moved {
  std::uint64_t record = 0;
  std::string op;  ///< as in Record, and the next three
  std::string cell, file;
  std::uint32_t line = 0;
  TensorInfo tensor;
  double difference = 0;  ///< ‖branch − original‖ / ‖original‖; infinite where that is not a number
  double before = 0, after = 0;  ///< norms; of a scalar the value
  template <class Visit, class Self = Moved>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("record", &Self::record), field("op", &Self::op), field("cell", &Self::cell),
                 field("file", &Self::file), field("line", &Self::line), field("tensor", &Self::tensor),
                 field("difference", &Self::difference), field("before", &Self::before),
                 field("after", &Self::after));
  }
};

/// How an op hangs together with what Python read of values that are others in the branch.
enum class ReadLink : std::uint8_t {
  decision,  ///< its result is a truth value that Python read, and another in the branch
  same,      ///< it takes the very number or array that Python read
  possible   ///< it takes what came up only after Python had read: calculated from it, or not
};
constexpr auto names(ReadLink) {
  return std::array<std::string_view, 3>{"decision", "same", "possible"};
}

/// Ops of one place that stay as recorded, though Python made, or may have made, what they take of a value
/// that is another in the branch.
struct ReadUse {
  ReadLink link = ReadLink::possible;
  std::uint64_t record = 0;  ///< the first
  std::string op;            ///< as in Record, and the next three
  std::string cell, file;
  std::uint32_t line = 0;
  std::uint64_t ops = 0;    ///< how many
  std::string subject;      ///< the attribute or input that it is; empty of a decision
  std::string first, last;  ///< what it is as text, at the first op and at the last one
  template <class Visit, class Self = ReadUse>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("link", &Self::link), field("record", &Self::record), field("op", &Self::op),
                 field("cell", &Self::cell), field("file", &Self::file), field("line", &Self::line),
                 field("ops", &Self::ops), field("subject", &Self::subject), field("first", &Self::first),
                 field("last", &Self::last));
  }
};

struct Branched {
  std::uint64_t branch = 0;     ///< names it in GetBranchTile and GetBranchStatistics
  std::string sentence;         ///< the result
  std::uint64_t depending = 0;  ///< results that depend on the changes
  std::vector<Moved> moved;     ///< those whose results moved most, at most 200
  bool complete = true;         ///< false: more may depend, or only the first were made; the sentence says it
  std::uint64_t ops = 0;        ///< that sets changed
  std::uint64_t curve_points = 0;  ///< that GetBranchSeries gives
  /// What stayed as it was recorded, and what is left out, each a sentence.
  std::vector<std::string> notes = {};
  std::vector<ReadUse> reads = {};  ///< by link; of one link in the order of their records; at most 200
  static constexpr const char* type = "branched";
  template <class Visit, class Self = Branched>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("branch", &Self::branch), field("sentence", &Self::sentence),
                 field("depending", &Self::depending), field("moved", &Self::moved),
                 field("complete", &Self::complete), field("ops", &Self::ops),
                 field("curve_points", &Self::curve_points), field("notes", &Self::notes),
                 field("reads", &Self::reads));
  }
};

/// As GetTile, of the tensor in the branch; with `difference` of branch minus
/// original. Answer: Tile.
struct GetBranchTile {
  std::uint64_t branch = 0;
  bool difference = false;
  GetTile tile;
  static constexpr const char* type = "get_branch_tile";
  template <class Visit, class Self = GetBranchTile>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("branch", &Self::branch), field("difference", &Self::difference),
                 field("tile", &Self::tile));
  }
};

/// As GetStatistics. Answer: Statistics.
struct GetBranchStatistics {
  std::uint64_t branch = 0;
  bool difference = false;
  GetStatistics statistics;
  static constexpr const char* type = "get_branch_statistics";
  template <class Visit, class Self = GetBranchStatistics>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("branch", &Self::branch), field("difference", &Self::difference),
                 field("statistics", &Self::statistics));
  }
};

/// The curves that are others in the branch: of each the point before the first that moved, and from there on
/// all whose tensors are known. Points from position `first` on. Answer: Series, without restarts.
struct GetBranchSeries {
  std::uint64_t branch = 0;
  std::uint64_t first = 0;
  static constexpr const char* type = "get_branch_series";
  template <class Visit, class Self = GetBranchSeries>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("branch", &Self::branch), field("first", &Self::first));
  }
};

/// Small values of the branch as text, as TensorInfo::preview has them; of at most 1000 tensors. Answer:
/// BranchPreviews.
struct GetBranchPreviews {
  std::uint64_t branch = 0;
  bool difference = false;
  std::vector<std::uint64_t> tensors;
  static constexpr const char* type = "get_branch_previews";
  template <class Visit, class Self = GetBranchPreviews>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("branch", &Self::branch), field("difference", &Self::difference),
                 field("tensors", &Self::tensors));
  }
};

struct BranchPreviews {
  std::vector<std::optional<std::string>> previews;  ///< in the request's order; absent: large, or lost
  static constexpr const char* type = "branch_previews";
  template <class Visit, class Self = BranchPreviews>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("previews", &Self::previews));
  }
};

/// The variable whose value the tensor is, or was, gets the tensor's value in the branch, while the gate is
/// stopped or no cell runs. Answer: TakenOver.
struct TakeOver {
  std::uint64_t branch = 0;
  std::uint64_t tensor = 0;
  static constexpr const char* type = "take_over";
  template <class Visit, class Self = TakeOver>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("branch", &Self::branch), field("tensor", &Self::tensor));
  }
};

struct TakenOver {
  std::string variable;  ///< its name
  TensorInfo tensor;     ///< its value now
  static constexpr const char* type = "taken_over";
  template <class Visit, class Self = TakenOver>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("variable", &Self::variable), field("tensor", &Self::tensor));
  }
};

/// The branch is no longer wanted. Answer: Status.
struct DropBranch {
  std::uint64_t branch = 0;
  static constexpr const char* type = "drop_branch";
  template <class Visit, class Self = DropBranch>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("branch", &Self::branch));
  }
};

}  // namespace tapedeck::protocol
