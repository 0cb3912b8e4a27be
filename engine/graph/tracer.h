// Makes a graph of what a thread calls.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/graph/calls.h"
#include "engine/graph/graph.h"
#include "engine/graph/inference.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/tape/tape_tracer.h"

namespace tapedeck::graph {

struct Repeat;  // repeat.h

/// Used on one thread, between a TracerScope's begin and end:
///     GraphTracer tracer("f");
///     const Tensor x = tracer.parameter("x", {DType::float32, {2, 3}});
///     {
///       const TracerScope scope(&tracer);
///       results = the function's, of x
///     }
///     const Graph graph = tracer.finish(results);
class GraphTracer final : public TapeTracer {
 public:
  /// `around`: the tracer of the function that this one is called in; its symbolic tensors may be used here,
  /// as captured parameters.
  explicit GraphTracer(std::string name, GraphTracer* around = nullptr);

  /// Asked for the place in the program where capture_location() knows none; of nested functions, too.
  void set_locate(std::function<std::uint32_t()> locate) { locate_ = std::move(locate); }
  /// Where the program is.
  CallSite call_site() const;
  /// Another one for each tracer of the process.
  std::uint64_t number() const { return number_; }

  /// The graph will belong to another graph of the same owner, whose host calls it may share
  /// (HostCall::owning).
  void share_owner() { shares_owner_ = true; }
  bool shares_owner() const { return shares_owner_ || (around_ && around_->shares_owner()); }
  /// From now on a call may draw again what a call of the function around this one drew (outer_draw).
  void allow_outer_draws() { outer_draws_allowed_ = true; }
  /// The number of the node that gave this function's symbolic tensor.
  std::int32_t number_of(const Tensor& tensor) const { return values_.at(tensor.id()).node; }

  /// The graph is a program's, and no function's: TensorFlow 1 has its sessions run parts of it
  /// (program_graph.h).
  void set_program_graph() { is_program_graph_ = true; }
  bool is_program_graph() const { return is_program_graph_; }
  /// Whether what is traced becomes part of such a graph, as a branch's side does.
  bool is_in_program_graph() const {
    return is_program_graph_ || (around_ && around_->is_in_program_graph());
  }
  /// What was traced so far.
  const Graph& so_far() const { return graph_; }
  /// Where the tensor is in the graph; a constant that is not there yet becomes part of it. Throws
  /// InvalidArgumentError for a tensor of another graph.
  Value place_of(const Tensor& tensor) { return value_of(tensor, graph_.name); }
  /// As above; nothing for a tensor that is not in the graph.
  std::optional<Value> find(const Tensor& tensor) const {
    const auto known = values_.find(tensor.id());
    return known == values_.end() ? std::nullopt : std::optional(known->second);
  }
  /// The node's result, as the program has it; undefined for a node without one.
  Tensor tensor_at(Value value) const;

  /// The next argument, as the function sees it. To be called before the function's first op.
  Tensor parameter(const std::string& name, const ValueSpec& spec);
  /// The graph whose results these tensors are, symbolic or not. Throws InvalidArgumentError for an undefined
  /// one, and for one of a function that this one has no part in.
  Graph finish(std::span<const Tensor> results);

  Tensors call(const OpContext& context) override;
  bool is_open(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes) const override;
  Tensors call_open(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes,
                    Attributes& sample) override;
  Tensor read(const Variable& variable) override;
  void assign(const Variable& variable, const Tensor& value) override;
  void tape_started(std::uint64_t tape, bool persistent, bool watch_accessed_variables) override;
  void tape_stopped(std::uint64_t tape) override;
  void tape_watches(std::uint64_t tape, const Tensor& tensor) override;
  void tape_watches(std::uint64_t tape, const Variable& variable) override;
  void tape_paused(std::uint64_t tape) override;
  void tape_resumed(std::uint64_t tape, bool persistent, bool watch_accessed_variables) override;
  void tape_reset(std::uint64_t tape, bool is_active, bool persistent,
                  bool watch_accessed_variables) override;
  void tape_plays_often(std::uint64_t tape) override;
  Tensors gradient(const Tape::GradientCall& call, const std::function<Tensors()>& play) override;
  void playback_begins(std::span<const Tensor> targets) override;
  void vjp_begins(const TracedVjp& vjp) override;
  void part_ends(std::span<const Tensor> results) override;
  Tensors filled(std::span<const Tensor> cotangents) override;
  void adds_gradients(const Tensor& sum, const Tensor& one, const Tensor& other) override;

  /// Whether a run may find no value for the tensor, which is a gradient: nothing arrives at it.
  bool may_lack(const Tensor& tensor) const;

  // ---- for those who want to read a symbolic tensor (known_value.cpp)
  /// Its value, where that follows from constants and shapes alone, and is small.
  std::optional<Tensor> known_value(const Tensor& tensor) const;
  /// Its value as the program would have it here if nothing were traced: what known_value computes, of random
  /// ops and of variables, too. For first values of variables. Nothing where it depends on an argument that
  /// has no first value.
  std::optional<Tensor> computed_now(const Tensor& tensor);
  /// What the parameter is in the call for which the function is traced.
  void set_first_value(const Tensor& parameter, const Tensor& value);
  /// What is passed as a number of an attribute where only a run knows it: a number that tells is_open() of
  /// it. It is the element at `index` of the tensor, and goes to the next call of an op. Index -1, alone in a
  /// list: the list of all elements, of which not even the number need be known.
  std::int64_t late_number(const Tensor& tensor, std::int64_t index);
  /// From now on the tensor has what of this shape is known, too; each run checks it, also where a branch
  /// says so of a tensor of the function around it. Throws InvalidArgumentError where that cannot be.
  void narrow(const Tensor& tensor, const Shape& shape, UnknownShape unknown);

  /// "x", "matmul_7:0"; "" for a tensor of another function.
  std::string name_of(const Tensor& tensor) const;

  /// These outputs of a function of these inputs get the gradient that `vjp` gives, which is traced now.
  void add_own_gradient(OwnGradient own, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                        const CustomVjp& vjp);
  /// Each run calls the function with the values of these tensors; the results are what it returns
  /// (host_call() in control.h puts them on tapes, too).
  Tensors add_host_call(HostCall call, std::span<const ValueSpec> results, std::span<const Tensor> inputs);

  /// A gradient that no run has.
  Tensor absent(const ValueSpec& spec);
  /// A run may find no value for this parameter or result of a branch.
  void lacks(const Tensor& tensor);
  /// Arguments may be undefined in a run.
  void allow_gaps() { graph_.has_gaps = true; }

  /// A branch or a loop on these tensors; returns its results (control.h).
  Tensors add_control(Node node, std::span<const Tensor> inputs);
  /// What leads from the sources to the targets, for tf.gradients (repeat.h).
  Repeat repeat(std::span<const Tensor> targets, std::span<const Tape::Source> sources,
                std::span<const Tensor> held);

 private:
  /// The number of a new node that takes these tensors.
  std::int32_t add(Node node, std::span<const Tensor> inputs);
  Value value_of(const Tensor& tensor, std::string_view what);
  Value constant_of(const Tensor& tensor);
  Value captured(const Tensor& tensor, std::string_view what);
  bool knows(const Tensor& tensor) const;
  static void forget_marks();  ///< of calls that failed before they were made
  std::int32_t draw_of(const OpContext& context);
  struct Evaluation;
  class Repetition;
  ValueSpec spec_of(Value value) const;
  Worlds worlds_of(const Tensor& tensor) const;
  Worlds worlds_of(Value value) const;
  /// What known_value gives, in a world. `assumed` becomes true where numbers had to be assumed for it.
  std::optional<Tensor> value_in_world(const Tensor& tensor, std::size_t world, bool& assumed) const;
  std::vector<OpenNumber> open_numbers(const OpDef& op, const Attributes& attributes, Node& node,
                                       Tensors& inputs) const;
  bool depends_on_unknown(const Tensor& tensor, std::int64_t index, std::int64_t value) const;
  std::vector<bool> reached_sources(const Tape::GradientCall& call);
  std::optional<Tensor> evaluated(Value value, Evaluation& evaluation) const;
  std::optional<Tensor> evaluated_op(Value value, Evaluation& evaluation) const;
  std::optional<Tensor> assumed_value(Value value, Evaluation& evaluation) const;
  std::optional<Tensor> shape_known(const OpDef& op, Value value, const Evaluation& evaluation) const;
  std::optional<Tensor> evaluated(const Tensor& tensor, Evaluation& evaluation) const;
  Tensors results_of(std::int32_t node, const std::vector<Worlds>* worlds = nullptr);
  Tensors add_call(Node&& node, const OpContext& context, std::span<const Tensor> inputs,
                   const std::vector<Worlds>* worlds);
  void add_tape_node(NodeKind kind, TapeUse use, std::optional<Variable> variable,
                     std::span<const Tensor> inputs);
  std::int32_t tape_of(std::uint64_t id, const char* what) const;
  bool runs_decide_since(std::int32_t tape) const;
  Tensor variables_value(const Variable& variable) const;
  Tensors tried_gradients(const Tape::GradientCall& call, const std::function<Tensors()>& play);
  static void give_source_shapes(const Tape::GradientCall& call, std::span<const Tensor> gradients,
                                 bool is_open);
  Tensors gradient_of_runs(const Tape::GradientCall& call, const std::function<Tensors()>& play);
  void drop_nodes_from(std::size_t first, std::size_t first_capture);
  void drop_unused_tapes();
  void begin_part(Part part);
  const Node* node_of(const Tensor& tensor) const;

  Graph graph_;
  GraphTracer* const around_;
  const std::uint64_t number_;
  std::function<std::uint32_t()> locate_;
  std::unordered_map<std::uint64_t, Value> values_;  ///< by the id of the symbolic tensor, or of the constant
  std::vector<Tensors> tensors_;  ///< by the node: its results as the function knows them; none of a constant
  std::unordered_map<std::uint64_t, Tensor> variables_;  ///< by the variable's id: its value at this point
  std::map<Value, Worlds> worlds_;                       ///< of values whose shape is not known
  std::size_t open_up_to_ = 0;  ///< behind the last node of which something was unknown
  std::vector<Node> captures_;  ///< parameters to come behind the arguments
  struct OwnTape {
    std::uint64_t id = 0;
    std::size_t first_node = 0;
    bool played_by_runs = false;
  };
  std::vector<OwnTape> tapes_;  ///< in the order in which they began
  /// By the number that the trace gave a draw: the node that draws.
  std::unordered_map<std::int64_t, std::int32_t> draws_;
  std::set<std::uint64_t> lacking_;   ///< ids of tensors that a run may find absent
  std::map<Value, Tensor> computed_;  ///< by computed_now: what is random has one value
  bool outer_draws_allowed_ = false, shares_owner_ = false, is_program_graph_ = false;
  struct OpenPart {
    OpenPart(std::shared_ptr<Part> opened, std::uint32_t scope)
        : part(std::move(opened)), traced(part), whole_scope(scope) {}
    std::shared_ptr<Part> part;
    TracedPartScope traced;
    WholeScope whole_scope;
  };
  std::vector<std::unique_ptr<OpenPart>> parts_;  ///< of playbacks that are being traced
  bool guessing_ = false;  ///< a tape is played to see what is connected; its nodes are dropped
};

/// Traces `function` with arguments of these dtypes and shapes, named "x0", "x1", …
Graph trace(const std::string& name, std::span<const TensorSpec> arguments,
            const std::function<Tensors(std::span<const Tensor>)>& function);
/// The same, with arguments of which not the whole shape is known.
Graph trace_open(const std::string& name, std::span<const ValueSpec> arguments,
                 const std::function<Tensors(std::span<const Tensor>)>& function);

}  // namespace tapedeck::graph
