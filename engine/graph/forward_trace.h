// The nodes of a taped graph on symbolic tensors, for the trace of its gradient.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/graph/frame.h"
#include "engine/graph/taped_graph.h"
#include "engine/graph/tracer.h"

namespace tapedeck::graph {

struct TapedGraph::Gradient {
  Gradient(Graph graph, std::size_t gradients);

  static constexpr std::size_t not_there = SIZE_MAX;
  const Executable executable;
  std::vector<std::size_t> places;  ///< of each input's and each output's gradient among the results
  /// Of each tensor of the forward run: its place among those that were kept; not_there: its shape alone is
  /// read.
  std::vector<std::size_t> kept;

  /// What a run, or a trace that makes this a part of its graph, has of the gradient at that place.
  Arrival arrival(std::size_t place) const;
  Tensors run(const tapedeck::detail::SummingRequest& request, Tensors& kept_values,
              const Draws& draws) const;
};

class TapedGraph::ForwardTrace {
 public:
  explicit ForwardTrace(const TapedGraph& taped);

  GraphTracer& tracer() { return tracer_; }
  const Tensor& symbol(Value value);
  /// Under a tape and a TracerScope.
  void run(Tape::State& tape);
  /// In the gradient's trace.
  void move_passed(std::map<Value, Tensor>& sums);
  /// The value whose symbol that is.
  Value value_of(const Tensor& symbol) const { return values_.at(symbol.id()); }
  /// The node of the graph that drew what this node of the trace draws.
  std::int32_t drawing_node(std::int32_t traced) const { return drawing_nodes_.at(traced); }

 private:
  using SummingRequest = tapedeck::detail::SummingRequest;
  void run_op_node(std::int32_t number);
  void run_custom(std::int32_t number);
  void run_control(std::int32_t number);
  Attributes drawn(const Node& node, std::int32_t number, std::span<const Tensor> inputs);
  // control_gradient.cpp: the gradients of a branch and a loop, traced while the tape is played.
  Tensors branch_vjp(std::int32_t number, const SummingRequest& request);
  Tensors loop_vjp(std::int32_t number, const SummingRequest& request);
  void move_passed_by_branch(std::int32_t number, std::map<Value, Tensor>& sums);
  void move_passed_by_loop(std::int32_t number, std::map<Value, Tensor>& sums);
  struct SideCall;
  struct LoopCall;
  static Arrival arrival_of(const Tensor& gradient);
  LoopCall call_of_body(std::int32_t number, const SummingRequest& request);
  static void settle(LoopCall& call, TapedGraph& body);
  static Tensors unwound(const LoopCall& call, const TapedGraph& body, std::span<const Tensor> values);
  SideCall call_of_side(std::int32_t number, std::size_t side, const SummingRequest& request);
  Tensors kept_of(std::int32_t number, std::size_t side);

  const TapedGraph& taped_;
  const Layout layout_;
  std::vector<Tensor> symbols_;  ///< by slot
  GraphTracer tracer_;
  std::unordered_map<std::uint64_t, Value> values_;               ///< by the symbol's id
  std::unordered_map<std::int32_t, Attributes> draws_;            ///< by node
  std::unordered_map<std::int32_t, std::int32_t> drawing_nodes_;  ///< by node of the trace
};

}  // namespace tapedeck::graph
