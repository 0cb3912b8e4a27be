// Compare: two stretches of what was recorded, op by op, and where they first differ.
#pragma once

#include "engine/protocol/replies.h"
#include "engine/protocol/requests.h"

namespace tapedeck::protocol {

enum class RunState : std::uint8_t { running, done, failed };
constexpr auto names(RunState) {
  return std::array<std::string_view, 3>{"running", "done", "failed"};
}

/// One run of a cell: the records between its start and its end.
struct CellRun {
  std::uint64_t number = 0;               ///< from 1, in the order in which they began
  std::string cell;                       ///< its id
  std::uint64_t execution = 0;            ///< Jupyter's number of the run; 0: not known
  std::uint64_t first = 1, last = 0;      ///< records [first, last]: an empty span where no op ran
  std::int64_t start_ns = 0, end_ns = 0;  ///< since the session's start; of one that runs, until now
  std::int64_t paused_ns = 0;             ///< of that time at the gate: the thread that waited longest
  RunState state = RunState::done;
  std::uint64_t forgotten = 0;  ///< how many of its records are no longer kept: the oldest ones
  /// How many of its records are calls of graph functions and their parts, which are no ops; absent: not
  /// known of a trace file.
  std::optional<std::uint64_t> calls = {};
  template <class Visit, class Self = CellRun>
  static constexpr auto fields(Visit&& visit) {
    return visit(
        field("number", &Self::number), field("cell", &Self::cell), field("execution", &Self::execution),
        field("first", &Self::first), field("last", &Self::last), field("start_ns", &Self::start_ns),
        field("end_ns", &Self::end_ns), field("paused_ns", &Self::paused_ns), field("state", &Self::state),
        field("forgotten", &Self::forgotten), field("calls", &Self::calls));
  }
};

/// The newest `count` runs of cells, at most 1000. Answer: CellRuns.
struct GetCellRuns {
  std::uint32_t count = 1000;
  static constexpr const char* type = "get_cell_runs";
  template <class Visit, class Self = GetCellRuns>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("count", &Self::count));
  }
};

struct CellRuns {
  std::uint64_t total = 0;    ///< that there were
  std::vector<CellRun> runs;  ///< the oldest first
  static constexpr const char* type = "cell_runs";
  template <class Visit, class Self = CellRuns>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("total", &Self::total), field("runs", &Self::runs));
  }
};

/// One of the two that are compared.
struct ComparedSide {
  std::uint64_t first = 1;              ///< record
  std::optional<std::uint64_t> last;    ///< absent: the newest
  std::optional<std::uint64_t> branch;  ///< of What if; absent: what was recorded
  std::optional<std::string> path;      ///< a trace file's; absent: this session
  template <class Visit, class Self = ComparedSide>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("first", &Self::first), field("last", &Self::last), field("branch", &Self::branch),
                 field("path", &Self::path));
  }
};

/// Aligns both sides op by op. Answer: Compared, with Progress before it. The four that were looked at last
/// are kept.
struct MakeComparison {
  ComparedSide left, right;
  /// A name map: "encoder/layer_0 = blocks.0" in lines, or a JSON object. With one the sides are compared as
  /// a port and its original.
  std::optional<std::string> names = {};
  static constexpr const char* type = "make_comparison";
  template <class Visit, class Self = MakeComparison>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("left", &Self::left), field("right", &Self::right), field("names", &Self::names));
  }
};

/// How many rows of each kind lie in a part of the comparison.
struct ComparisonPart {
  std::uint64_t same = 0, changed = 0, left = 0, right = 0;
  template <class Visit, class Self = ComparisonPart>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("same", &Self::same), field("changed", &Self::changed), field("left", &Self::left),
                 field("right", &Self::right));
  }
};

struct Compared {
  std::uint64_t comparison = 0;  ///< names it in the requests that follow
  std::string sentence;          ///< the result of the alignment, and what is missing
  std::uint64_t rows = 0;
  std::uint64_t same = 0, other_attributes = 0, other_shapes = 0, only_left = 0, only_right = 0;
  ComparedSide left, right;           ///< as they were compared: the records that are kept
  std::vector<ComparisonPart> parts;  ///< of about as many rows each, at most 512
  /// The sides are of two frameworks (or one is a file of tensors): ops are paired by layer and kind, values
  /// may have their axes in another order, and there are layers to compare.
  bool port = false;
  static constexpr const char* type = "compared";
  template <class Visit, class Self = Compared>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("sentence", &Self::sentence),
                 field("rows", &Self::rows), field("same", &Self::same),
                 field("other_attributes", &Self::other_attributes),
                 field("other_shapes", &Self::other_shapes), field("only_left", &Self::only_left),
                 field("only_right", &Self::only_right), field("left", &Self::left),
                 field("right", &Self::right), field("parts", &Self::parts), field("port", &Self::port));
  }
};

enum class RowKind : std::uint8_t { same, other_attributes, other_shapes, only_left, only_right };
constexpr auto names(RowKind) {
  return std::array<std::string_view, 5>{"same", "other_attributes", "other_shapes", "only_left",
                                         "only_right"};
}

/// Whether values are the same, as far as they were compared.
enum class Agreement : std::uint8_t { unknown, agree, differ };
constexpr auto names(Agreement) {
  return std::array<std::string_view, 3>{"unknown", "agree", "differ"};
}

struct ComparedRow {
  RowKind kind = RowKind::same;
  Agreement results = Agreement::unknown;
  std::optional<Record> left, right;  ///< absent: only the other side has it
  /// Of one side: what the other one's graph made of the op: "merged with line 3", "folded", "removed".
  std::optional<std::string> note = {};
  template <class Visit, class Self = ComparedRow>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("kind", &Self::kind), field("results", &Self::results), field("left", &Self::left),
                 field("right", &Self::right), field("note", &Self::note));
  }
};

/// Rows from `first` on, counted from 0; at most 500. Answer: ComparisonRows.
struct GetComparisonRows {
  std::uint64_t comparison = 0, first = 0;
  std::uint32_t count = 0;
  static constexpr const char* type = "get_comparison_rows";
  template <class Visit, class Self = GetComparisonRows>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("first", &Self::first),
                 field("count", &Self::count));
  }
};

struct ComparisonRows {
  std::uint64_t comparison = 0, first = 0;
  std::vector<ComparedRow> rows;
  static constexpr const char* type = "comparison_rows";
  template <class Visit, class Self = ComparisonRows>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("first", &Self::first),
                 field("rows", &Self::rows));
  }
};

/// The row after (or before) row `from` that is not the same on both sides, of a run of such rows the first;
/// without it from outside. With `record`: the row that has it, on the left if there. Answer:
/// ComparisonPlace.
struct FindComparisonRow {
  std::uint64_t comparison = 0;
  std::optional<std::uint64_t> from;
  bool backward = false;
  std::optional<std::uint64_t> record;
  static constexpr const char* type = "find_comparison_row";
  template <class Visit, class Self = FindComparisonRow>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("from", &Self::from),
                 field("backward", &Self::backward), field("record", &Self::record));
  }
};

struct ComparisonPlace {
  std::uint64_t comparison = 0;
  std::optional<std::uint64_t> row;  ///< absent: there is none
  static constexpr const char* type = "comparison_place";
  template <class Visit, class Self = ComparisonPlace>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("row", &Self::row));
  }
};

/// A tensor of a row on both sides.
struct ComparedOperand {
  std::string role;  ///< "a", "result", "result 2": the op's own names
  bool result = false;
  std::optional<TensorInfo> left, right;
  Agreement values = Agreement::unknown;
  std::optional<std::string> problem;      ///< why it is unknown
  std::uint64_t count = 0, differing = 0;  ///< elements
  double max_absolute = 0, max_relative = 0;
  std::optional<std::vector<std::int64_t>> element;    ///< the one that differs most
  std::optional<std::string> left_value, right_value;  ///< there
  std::optional<std::string> left_text, right_text;    ///< all of it where it is small
  /// Of a port: "after transposing 0,2,3,1": how the left one's axes are those of the right one. `element` is
  /// one of the left tensor so laid out.
  std::optional<std::string> layout = {};
  template <class Visit, class Self = ComparedOperand>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("role", &Self::role), field("result", &Self::result), field("left", &Self::left),
                 field("right", &Self::right), field("values", &Self::values),
                 field("problem", &Self::problem), field("count", &Self::count),
                 field("differing", &Self::differing), field("max_absolute", &Self::max_absolute),
                 field("max_relative", &Self::max_relative), field("element", &Self::element),
                 field("left_value", &Self::left_value), field("right_value", &Self::right_value),
                 field("left_text", &Self::left_text), field("right_text", &Self::right_text),
                 field("layout", &Self::layout));
  }
};

/// The operands of a row side by side. Two elements agree where |left − right| ≤ absolute + relative ·
/// max(|left|, |right|); NaN agrees with NaN. Answer: ComparedOperands.
struct CompareOperands {
  std::uint64_t comparison = 0, row = 0;
  double relative = 0, absolute = 0;
  static constexpr const char* type = "compare_operands";
  template <class Visit, class Self = CompareOperands>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("row", &Self::row),
                 field("relative", &Self::relative), field("absolute", &Self::absolute));
  }
};

struct ComparedOperands {
  std::uint64_t comparison = 0, row = 0;
  std::vector<ComparedOperand> operands;  ///< the inputs, then the results
  std::vector<std::string> attributes;    ///< "axis: 0 | 1": those that differ
  static constexpr const char* type = "compared_operands";
  template <class Visit, class Self = ComparedOperands>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("row", &Self::row),
                 field("operands", &Self::operands), field("attributes", &Self::attributes));
  }
};

/// The first row whose values differ by more than the tolerance: bisected, then followed back along the data.
/// Answer: FirstDifference, with Progress before it.
struct FindFirstDifference {
  std::uint64_t comparison = 0;
  double relative = 0, absolute = 0;
  std::vector<CellLabel> labels;  ///< for the sentence
  static constexpr const char* type = "find_first_difference";
  template <class Visit, class Self = FindFirstDifference>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("relative", &Self::relative),
                 field("absolute", &Self::absolute), field("labels", &Self::labels));
  }
};

enum class DifferenceKind : std::uint8_t {
  none,   ///< nothing that was looked at differs
  op,     ///< an op whose inputs agree, and whose results differ
  leaf,   ///< a value that no op of the two sides made: it differs from the start
  ops,    ///< different ops made it, or ops that are on one side only
  passed  ///< it came from before, but what it came from is gone
};
constexpr auto names(DifferenceKind) {
  return std::array<std::string_view, 5>{"none", "op", "leaf", "ops", "passed"};
}

struct FirstDifference {
  std::uint64_t comparison = 0;
  DifferenceKind kind = DifferenceKind::none;
  std::string sentence;
  std::optional<std::uint64_t> row;       ///< where; of a leaf: the row that takes it
  std::optional<TensorInfo> left, right;  ///< the tensor that differs
  std::uint64_t looked_at = 0;            ///< rows whose values were compared
  std::uint64_t rows = 0;                 ///< that could have been
  bool complete = true;                   ///< false: the sentence says what is missing
  static constexpr const char* type = "first_difference";
  template <class Visit, class Self = FirstDifference>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("kind", &Self::kind),
                 field("sentence", &Self::sentence), field("row", &Self::row), field("left", &Self::left),
                 field("right", &Self::right), field("looked_at", &Self::looked_at),
                 field("rows", &Self::rows), field("complete", &Self::complete));
  }
};

/// What of a layer is compared.
enum class LayerRole : std::uint8_t { output, value, output_gradient, value_gradient };
constexpr auto names(LayerRole) {
  return std::array<std::string_view, 4>{"output", "value", "output_gradient", "value_gradient"};
}

struct ComparedLayerPart {
  LayerRole role = LayerRole::output;
  ComparedOperand tensors;           ///< `role` there is its name: "kernel | weight"
  std::optional<std::uint64_t> row;  ///< of an output
  template <class Visit, class Self = ComparedLayerPart>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("role", &Self::role), field("tensors", &Self::tensors), field("row", &Self::row));
  }
};

struct ComparedLayer {
  std::optional<std::string> left,
      right;  ///< names; absent: only the other side has it; empty: outside of layers
  std::vector<ComparedLayerPart> parts;  ///< none where only one side has the layer
  template <class Visit, class Self = ComparedLayer>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("left", &Self::left), field("right", &Self::right), field("parts", &Self::parts));
  }
};

/// The layers of both sides of a port: their outputs, weights and gradients in the first pass. Answer:
/// ComparedLayers, with Progress before it.
struct CompareLayers {
  std::uint64_t comparison = 0;
  double relative = 0, absolute = 0;
  std::vector<CellLabel> labels;  ///< for the sentence
  static constexpr const char* type = "compare_layers";
  template <class Visit, class Self = CompareLayers>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("relative", &Self::relative),
                 field("absolute", &Self::absolute), field("labels", &Self::labels));
  }
};

struct ComparedLayers {
  std::uint64_t comparison = 0;
  std::string sentence;                ///< the first that differs, with both lines
  std::vector<ComparedLayer> layers;   ///< in the left side's order, then those of the right side alone
  std::optional<std::uint64_t> first;  ///< the layer that differs first; absent: none does
  std::optional<std::uint64_t> row;    ///< the first op in it that differs
  bool complete = true;                ///< false: some values are gone, the sentence says how many
  static constexpr const char* type = "compared_layers";
  template <class Visit, class Self = ComparedLayers>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("sentence", &Self::sentence),
                 field("layers", &Self::layers), field("first", &Self::first), field("row", &Self::row),
                 field("complete", &Self::complete));
  }
};

enum class ComparedPart : std::uint8_t { left, right, difference };
constexpr auto names(ComparedPart) {
  return std::array<std::string_view, 3>{"left", "right", "difference"};
}

/// As GetTile, of a tensor of one side, or of right minus left. Answer: Tile.
struct GetComparisonTile {
  std::uint64_t comparison = 0;
  ComparedPart part = ComparedPart::left;
  std::optional<std::uint64_t> left, right;  ///< tensors, those that the part needs
  GetTile tile;
  static constexpr const char* type = "get_comparison_tile";
  template <class Visit, class Self = GetComparisonTile>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("part", &Self::part),
                 field("left", &Self::left), field("right", &Self::right), field("tile", &Self::tile));
  }
};

/// The points that each side's records added to curves. Answer: ComparisonCurves.
struct GetComparisonCurves {
  std::uint64_t comparison = 0;
  std::uint32_t points = 1000;  ///< of one curve at most; more are thinned out evenly
  static constexpr const char* type = "get_comparison_curves";
  template <class Visit, class Self = GetComparisonCurves>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("points", &Self::points));
  }
};

struct CurvePart {
  std::string x;  ///< what its steps are, as in CurveInfo
  std::vector<double> steps, values, records;
  template <class Visit, class Self = CurvePart>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("x", &Self::x), field("steps", &Self::steps), field("values", &Self::values),
                 field("records", &Self::records));
  }
};

struct ComparedCurve {
  std::string name;
  CurvePart left, right;  ///< without points where that side has none
  template <class Visit, class Self = ComparedCurve>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("name", &Self::name), field("left", &Self::left), field("right", &Self::right));
  }
};

struct ComparisonCurves {
  std::uint64_t comparison = 0;
  std::vector<ComparedCurve> curves;  ///< at most 100
  static constexpr const char* type = "comparison_curves";
  template <class Visit, class Self = ComparisonCurves>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison), field("curves", &Self::curves));
  }
};

/// The comparison is no longer wanted. Answer: Status.
struct DropComparison {
  std::uint64_t comparison = 0;
  static constexpr const char* type = "drop_comparison";
  template <class Visit, class Self = DropComparison>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("comparison", &Self::comparison));
  }
};

}  // namespace tapedeck::protocol
