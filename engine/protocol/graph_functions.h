// Graph functions: those of the session that were traced, why each trace was made, and a trace's graph before
// and after each pass.
#pragma once

#include "engine/protocol/record.h"

namespace tapedeck::protocol {

/// What made a call need a trace of its own.
enum class TraceCause : std::uint8_t {
  first,     ///< there was none before
  shape,     ///< of a tensor
  dtype,     ///< of a tensor
  number,    ///< of Python, which is part of the signature
  value,     ///< another value of Python: a bool, a string, None, a dtype
  object,    ///< another object, or another variable
  structure  ///< other arguments: more, fewer, of other kinds
};
constexpr auto names(TraceCause) {
  return std::array<std::string_view, 7>{"first", "shape", "dtype", "number", "value", "object", "structure"};
}

/// One difference from the nearest earlier trace of the function.
struct TraceReason {
  TraceCause cause = TraceCause::first;
  std::string argument;  ///< "x", "batch[0]"; empty: none
  std::string text;      ///< "argument x: shape (3,) became (4,)"
  template <class Visit, class Self = TraceReason>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("cause", &Self::cause), field("argument", &Self::argument),
                 field("text", &Self::text));
  }
};

/// The gradient of a trace, for tapes around its calls. While ops are recorded a tape plays the VJP of each
/// of them, while nothing records it runs this graph.
struct TraceGradient {
  std::uint64_t id = 0;  ///< by which GetGraph names it
  std::string inputs;    ///< what the tapes have: "x, w and 3 more"
  std::string
      why_played;  ///< why a tape always plays VJPs; empty: it does not, or the graph was not asked for
  std::uint64_t nodes = 0;  ///< as in FunctionTrace; 0: the graph was not asked for
  template <class Visit, class Self = TraceGradient>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("id", &Self::id), field("inputs", &Self::inputs),
                 field("why_played", &Self::why_played), field("nodes", &Self::nodes));
  }
};

struct FunctionTrace {
  std::uint64_t id = 0;   ///< by which GetGraph names it
  std::string signature;  ///< as the program would write it: "step(x: float32 (3,), k=2)"
  std::vector<TraceReason> reasons;
  std::uint64_t calls = 0;  ///< that ran it
  /// How often it became part of another function's graph, also of one that was traced anew: a loop's body
  /// may be traced twice. No count of graphs.
  std::uint64_t inlined = 0;
  /// Nodes without arguments, with those of branches and loops: of the graph that runs, and as it was traced.
  std::uint64_t nodes = 0, traced_nodes = 0;
  std::optional<std::uint64_t> after;  ///< the newest record when it was made; absent: there was none
  std::string cell, file;              ///< of the line that called the function, as in Record
  std::uint32_t line = 0;
  std::vector<TraceGradient> gradients;  ///< by what tapes around calls had
  template <class Visit, class Self = FunctionTrace>
  static constexpr auto fields(Visit&& visit) {
    return visit(
        field("id", &Self::id), field("signature", &Self::signature), field("reasons", &Self::reasons),
        field("calls", &Self::calls), field("inlined", &Self::inlined), field("nodes", &Self::nodes),
        field("traced_nodes", &Self::traced_nodes), field("after", &Self::after), field("cell", &Self::cell),
        field("file", &Self::file), field("line", &Self::line), field("gradients", &Self::gradients));
  }
};

struct GraphFunctionInfo {
  std::uint64_t id = 0;
  std::string name;
  std::string cell, file;  ///< of its first line, as in Record
  std::uint32_t line = 0;
  std::uint64_t total = 0;            ///< traces that it has
  std::vector<FunctionTrace> traces;  ///< the newest 100, in the order in which they were made
  template <class Visit, class Self = GraphFunctionInfo>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("id", &Self::id), field("name", &Self::name), field("cell", &Self::cell),
                 field("file", &Self::file), field("line", &Self::line), field("total", &Self::total),
                 field("traces", &Self::traces));
  }
};

/// The functions that are alive and have traces, in the order of their first ones. Runs none of the program's
/// code. Answer: GraphFunctions.
struct GetGraphFunctions {
  std::uint32_t first = 0;
  std::uint32_t count = 0;  ///< at most 200
  static constexpr const char* type = "get_graph_functions";
  template <class Visit, class Self = GetGraphFunctions>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("first", &Self::first), field("count", &Self::count));
  }
};

struct GraphFunctions {
  bool run_eagerly = false;  ///< functions are called as they are; nothing is traced now
  std::uint32_t first = 0, total = 0;
  std::vector<GraphFunctionInfo> functions;
  static constexpr const char* type = "graph_functions";
  template <class Visit, class Self = GraphFunctions>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("run_eagerly", &Self::run_eagerly), field("first", &Self::first),
                 field("total", &Self::total), field("functions", &Self::functions));
  }
};

/// Rows of the graph of a trace or a gradient, a node a row; nodes of branches and loops behind their node.
/// Answer: GraphRows.
struct GetGraph {
  std::uint64_t trace = 0;
  std::uint32_t stage = 0;  ///< 0: as it was traced; n: after the nth pass
  std::uint32_t first = 0;
  std::uint32_t count = 0;  ///< at most 2000
  static constexpr const char* type = "get_graph";
  template <class Visit, class Self = GetGraph>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("trace", &Self::trace), field("stage", &Self::stage), field("first", &Self::first),
                 field("count", &Self::count));
  }
};

/// What a pass left, and how many nodes it changed.
struct GraphStage {
  std::string name;         ///< "as traced", "constant folding"
  std::uint64_t nodes = 0;  ///< as in FunctionTrace
  std::uint64_t folded = 0, merged = 0, removed = 0, fused = 0;
  template <class Visit, class Self = GraphStage>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("name", &Self::name), field("nodes", &Self::nodes), field("folded", &Self::folded),
                 field("merged", &Self::merged), field("removed", &Self::removed),
                 field("fused", &Self::fused));
  }
};

/// What the stage's pass made of a node. Merged and removed ones are not in the graph any longer; fused ones
/// run in one loop, in an observed run one by one.
enum class NodeChange : std::uint8_t { none, folded, merged, removed, fused };
constexpr auto names(NodeChange) {
  return std::array<std::string_view, 5>{"none", "folded", "merged", "removed", "fused"};
}

struct GraphInput {
  std::string name;         ///< "%3", "%3:1", "x"
  std::int64_t number = 0;  ///< of its node, among those of the same graph
  template <class Visit, class Self = GraphInput>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("name", &Self::name), field("number", &Self::number));
  }
};

struct GraphRow {
  std::uint32_t depth = 0;  ///< in branches and loops; a row's parent is the last one of less depth
  std::optional<std::int64_t> number;  ///< as it was traced, in every stage; absent: a heading, or "return"
  std::string name;                    ///< "%3"; an argument's own
  std::string op;                      ///< "matmul", "constant", "loop"; of a heading "while", "if true"
  std::vector<GraphInput> inputs;      ///< of "return": the results
  std::string attributes;              ///< those that are not at their defaults; of a constant its value
  std::string result;                  ///< "float32 (2, 3)"; of several with commas
  std::string cell, file;              ///< of its line, as in Record
  std::uint32_t line = 0;
  std::string scope;  ///< its name scope
  NodeChange change = NodeChange::none;
  std::string note;  ///< "folded: was add(%1, %2)"
  template <class Visit, class Self = GraphRow>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("depth", &Self::depth), field("number", &Self::number), field("name", &Self::name),
                 field("op", &Self::op), field("inputs", &Self::inputs),
                 field("attributes", &Self::attributes), field("result", &Self::result),
                 field("cell", &Self::cell), field("file", &Self::file), field("line", &Self::line),
                 field("scope", &Self::scope), field("change", &Self::change), field("note", &Self::note));
  }
};

struct GraphRows {
  std::uint64_t trace = 0;
  std::uint32_t stage = 0;
  std::vector<GraphStage> stages;  ///< as traced, and after each pass; the last one runs
  std::uint32_t first = 0, total = 0;
  std::vector<GraphRow> rows;
  static constexpr const char* type = "graph_rows";
  template <class Visit, class Self = GraphRows>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("trace", &Self::trace), field("stage", &Self::stage), field("stages", &Self::stages),
                 field("first", &Self::first), field("total", &Self::total), field("rows", &Self::rows));
  }
};

}  // namespace tapedeck::protocol
