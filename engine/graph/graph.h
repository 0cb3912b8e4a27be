// A function as data: nodes in the order in which they run.
#pragma once

#include <boost/container/small_vector.hpp>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/names.h"
#include "engine/ops/core/op.h"
#include "engine/tape/tape.h"
#include "engine/tensor/unknown_shape.h"

namespace tapedeck::graph {

/// A result of a node.
struct Value {
  std::int32_t node = -1;
  std::int32_t result = 0;
  auto operator<=>(const Value&) const = default;
};

enum class NodeKind : std::uint8_t {
  parameter,  ///< an argument of the function, or a tensor of the function around it
  constant,   ///< a tensor that existed before the function was traced
  read,       ///< a variable's value at this point
  assign,     ///< gives a variable a value; has no results
  op,         ///< a call of a registry row
  branch,     ///< runs graphs[0] where its first input is true, else graphs[1]
  loop,       ///< runs graphs[1] on its results again and again, as long as graphs[0] of them is true; what
              ///< graphs[1] gives behind them is kept, as a list that is the last result (kept_list.h)
  unwind,     ///< runs graphs[0] on its results, and on what an iteration of a loop kept: once for each, the
              ///< last one first. Its inputs: first values of the results, the list, what graphs[0] captured
  absent,     ///< a gradient to which nothing has been added (Graph::has_gaps)
  custom,     ///< its first inputs' function with a gradient of its own gave the next ones, which are the
              ///< results
  host,       ///< calls `host` with its inputs' values
  // Tapes that the function makes and plays, where their gradients depend on what runs (control.h):
  tape_start,
  tape_stop,
  tape_watch,  ///< of its input, or of `variable`
  gradient  ///< of `targets` inputs, weighted by those behind them, with respect to the rest and to variables
};

struct Graph;
struct Part;

/// What is known of a value before the graph runs.
struct ValueSpec {
  DType dtype{};
  Shape shape;  ///< with sample extents where it is unknown
  UnknownShape unknown = {};
};
ValueSpec spec_of(const Tensor& tensor);
/// Of a variable whose shape assignments may change, what stays.
ValueSpec spec_of(const Variable& variable);
/// "float32 (None, 2)".
std::string to_string(const ValueSpec& spec);

/// A number of an op's attribute that each run reads from one of the node's last inputs, which are not the
/// op's.
struct LateNumber {
  std::int32_t attribute = 0;
  std::int32_t element = -1;  ///< of a list; -1: the attribute is a number
  std::int32_t input = 0;     ///< of the node
  std::int64_t index = 0;     ///< of the input's element; -1: the attribute is the list of all of them
  auto operator<=>(const LateNumber&) const = default;
};

/// What a node has to do with one of its graph's tapes.
struct TapeUse {
  std::int32_t tape = -1;                ///< number of the tape in this graph
  bool persistent = false;               ///< tape_start
  bool watch_accessed_variables = true;  ///< tape_start
  // gradient:
  std::int32_t targets = 0;                      ///< so many inputs
  std::vector<bool> weighted;                    ///< for each target: whether an input is its output gradient
  std::vector<std::optional<Variable>> sources;  ///< for each source: a variable, or nothing for an input
  Unconnected unconnected = Unconnected::none;
  /// What of the gradients the results are, in their order: of a source the gradient, or its rows' values and
  /// indices.
  enum class Part : std::uint8_t { whole, values, indices };
  std::vector<std::pair<std::int32_t, Part>> parts;
};

/// A function of the host language that each run calls: to print, to check, to compute, to read data.
struct HostCall {
  std::string name;
  /// Gives tensors of the node's dtypes and shapes.
  std::function<Tensors(std::span<const Tensor>)> function;
  /// Whether gradients flow through the ops that the function calls: each run's tapes have them.
  bool differentiable = false;
  /// Where `function` needs what the graph's owner owns: the same call, which owns that itself. For another
  /// graph, and for what may run this one when its owner has gone.
  std::function<HostCall()> owning;
};

/// A gradient that a custom node has in place of its ops' (tf.custom_gradient). The node's inputs: those of
/// the function, its outputs, and what graphs[0], of the outputs' cotangents, reads.
struct OwnGradient {
  std::string name;
  std::size_t inputs = 0, outputs = 0;
  std::vector<Variable> variables;  ///< inputs, too
  std::vector<bool> given;          ///< of each input and variable: whether graphs[0] has its gradient
  std::string error;                ///< why there is no graphs[0]
};

struct Node {
  NodeKind kind = NodeKind::op;
  const OpDef* op = nullptr;  ///< of an op; else nullptr
  Attributes attributes;
  boost::container::small_vector<Value, 4> inputs;
  TensorSpecs results;
  std::vector<UnknownShape> unknown;  ///< of each result; empty: all shapes are known
  std::vector<LateNumber> late;       ///< `attributes` has a sample there
  Tensor constant;                    ///< of a constant; else undefined
  std::optional<Variable> variable;   ///< of a read and an assignment
  std::string name;                   ///< of a parameter; set_shape_name
  /// Of a branch and a loop. They take what they captured behind their arguments, as inputs of the node: a
  /// branch's graphs take those alone; a loop's take its variables first.
  std::vector<std::shared_ptr<const Graph>> graphs;
  std::shared_ptr<const TapeUse> tape;  ///< of the kinds that use one
  std::shared_ptr<const HostCall> host;
  std::shared_ptr<const OwnGradient> own_gradient;
  /// A random op that goes on in its sequence: `key` and `counter` are None, and each run fills them in.
  bool draws = false;
  /// Draws again what that node drew: a VJP. -1: goes on in the sequence. Below: what a node of the graph
  /// drew whose gradient this one is (outer_draw).
  std::int32_t draw_of = -1;
  std::optional<Device> device;  ///< of the innermost `tf.device` around the call
  std::uint32_t location = 0;    ///< where the program called it (record/trace/source_location.h); 0: unknown
  std::uint32_t call = 0;        ///< what it wrote there; 0: unknown
  std::uint32_t scope = 0;       ///< its name scope (record/trace/scope.h)
  std::shared_ptr<const Part> part;  ///< the call of another function that it comes from (calls.h)
  Names names;                       ///< what the program's names held before it
  /// Ids of symbolic tensors of the trace, and which result each is: of a node that others were merged into,
  /// theirs, too.
  boost::container::small_vector<std::pair<std::uint64_t, std::int32_t>, 1> symbols;
};

/// The name of an identity that says more of its input's shape (GraphTracer::narrow).
constexpr const char* set_shape_name = "set_shape";

/// The name of an addition of gradients of which one or both may be absent.
constexpr const char* sum_name = "sum";

/// The name of an identity of a cotangent that may be absent: zeros where it is, and another input is not.
constexpr const char* filled_name = "filled";

/// Immutable once it is made: passes return new graphs. Nodes come after those whose results they read, and
/// assignments, reads and random ops are in the program's order.
struct Graph {
  std::string name;
  std::vector<Node> nodes;  ///< the parameters come first, in the order of the arguments
  std::vector<Value> results;
  std::size_t arguments = 0;     ///< parameters that the caller passes
  std::vector<Tensor> captured;  ///< what the others are: symbolic tensors of the function around this one
  /// Values may be absent in a run, as gradients are where no cotangent arrives: then the tensors are
  /// undefined, ops that read them give undefined ones, but for sums (sum_name) and filled_name.
  bool has_gaps = false;
  std::vector<bool> may_lack;  ///< of each result whether it may be absent; empty: none
  /// Constants with ids up to this one existed before the function, the side of a branch or the body of a
  /// loop was traced. A tape may watch them, so they are not folded, and are inputs where a run is one call.
  std::uint64_t watched_up_to = 0;

  const TensorSpec& spec(Value value) const {
    return nodes[static_cast<std::size_t>(value.node)].results[static_cast<std::size_t>(value.result)];
  }
  UnknownShape unknown(Value value) const {
    const Node& node = nodes[static_cast<std::size_t>(value.node)];
    return node.unknown.empty() ? UnknownShape{} : node.unknown[static_cast<std::size_t>(value.result)];
  }
  ValueSpec value_spec(Value value) const { return {spec(value).dtype, spec(value).shape, unknown(value)}; }
  /// How the graph reads, a line a node, attributes at their defaults left out:
  ///     f(x: float32 (2, 3)) -> %2
  ///     %1 = constant float32 (3, 4)
  ///     %2 = matmul(x, %1)
  std::string text() const;
};

/// How many inputs of an op's node are its op's.
std::size_t operand_count(const Node& node);
/// Whether only a run knows shapes that the node reads or gives, or numbers among its attributes.
bool is_open(const Graph& graph, const Node& node);
/// Whether inputs give numbers of that attribute.
bool is_late(const Node& node, std::size_t attribute);
/// The attribute as text, with "%4[0]" in the place of a number that an input gives. `name`: of that input.
std::string attribute_text(const Graph& graph, const Node& node, std::size_t attribute,
                           const std::function<std::string(Value)>& name);
/// The node's results as they are known; `unknown` is left empty where all are.
void set_results(Node& node, std::span<const ValueSpec> results);

/// Puts the numbers that the node's last inputs give in their places. Throws InvalidArgumentError where an
/// input has no such element, SymbolicValueError where it has no value.
void fill_late_numbers(const Node& node, std::span<const Tensor> inputs, std::vector<Attribute>& attributes);
/// Node::draw_of for the draw of a node of the graph whose gradient the node's graph is, and back.
constexpr std::int32_t outer_draw(std::int32_t node) {
  return -2 - node;
}
inline std::optional<std::int32_t> outer_draw_of(const Node& node) {
  return node.draw_of <= -2 ? std::optional(-2 - node.draw_of) : std::nullopt;
}

/// Whether running the node does more than give its results: it may not be left out, moved or merged.
bool has_effect(const Node& node);

/// Whether some node uses a tape that records while the graph runs; what runs between such nodes may not be
/// merged or moved.
bool uses_tapes(const Graph& graph);

}  // namespace tapedeck::graph
