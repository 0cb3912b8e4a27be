// Runs graphs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/graph/graph.h"

namespace tapedeck::graph {

/// A graph with what running it needs to know beforehand. Immutable; may run on several threads at once.
class Executable {
 public:
  explicit Executable(Graph graph);

  /// The results for these arguments, those of the graph's `captured` behind them. Bit for bit what the same
  /// ops give when the program calls them one by one.
  ///
  /// Where an observer listens or a tape of this thread records, each node goes through run_op, under the
  /// location and scope in which it was traced: it is recorded, may stop at the gate, and is differentiated
  /// as any op. Otherwise nodes run without their checks, and a value is dropped behind its last reader.
  ///
  /// Errors: InvalidArgumentError where number, dtype or shape of the arguments are not the parameters'; what
  /// the ops throw.
  Tensors operator()(std::span<const Tensor> arguments) const;

  /// The same as a call of the function: where an observer listens, with a record around it. Inside a trace
  /// the nodes are marked as the call's.
  Tensors call(std::span<const Tensor> arguments) const;

  const Graph& graph() const { return graph_; }

 private:
  void check(std::span<const Tensor> arguments) const;
  struct Run;
  Tensors run_node(std::size_t number, std::span<const Tensor> inputs, Run& run) const;
  Tensors run_branch(std::size_t number, std::span<const Tensor> inputs) const;
  Tensors run_custom(std::size_t number, std::span<const Tensor> inputs) const;
  Tensors run_loop(std::size_t number, std::span<const Tensor> inputs) const;

  Graph graph_;
  std::vector<std::vector<std::shared_ptr<const Executable>>> nested_;  ///< of each node: its graphs
  std::vector<std::size_t> first_slots_;                ///< of each node's results, in the list of all values
  std::vector<std::vector<std::size_t>> last_read_by_;  ///< slots to be emptied behind each node
  std::size_t slots_ = 0;
};

/// Where the node came from that made a run of this thread fail (record/trace/source_location.h); 0: unknown.
/// Asked again, it is 0.
std::uint32_t take_failed_location();

}  // namespace tapedeck::graph
