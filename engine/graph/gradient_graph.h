// A run of a graph as one call on the tapes, whose gradient is a graph.
//
// The run returns what the VJPs of its nodes read (VjpReads), and that alone. The first playback that wants
// gradients of some inputs from those of some outputs plays the nodes on symbolic tensors; the graph of that
// is kept for the next such playback, and passes run over it. It is run as any graph is, so other tapes have
// that run as one call, too: gradients of any order.
//
// Its results are bit for bit those of VJPs that are played one by one: where the tape has already added up
// something for an input, the gradient graph begins with that sum.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/graph/draws.h"
#include "engine/graph/graph.h"

namespace tapedeck::graph {

class TapedGraph;

/// Those of one graph. Safe from several threads.
class GradientGraphs {
 public:
  explicit GradientGraphs(const Graph& graph);
  ~GradientGraphs();

  /// Runs the graph on checked arguments, and writes the call on the tapes of this thread, which records.
  /// Nothing where each node must be a call of its own:
  ///   - a branch, a loop, a custom gradient, a tape or a call of the host that may take part in gradients,
  ///     also by a watched tensor inside of it;
  ///   - shapes that only a run knows;
  ///   - one tensor at several places of the arguments or variables, to whose gradient they add in turns;
  ///   - rows of an input that are gathered, as their gradient may be wanted as rows;
  ///   - no more than one node that a tape would have.
  std::optional<Tensors> run_taped(std::span<const Tensor> arguments, const Draws* outer);

 private:
  struct Known;
  std::optional<std::vector<bool>> known_to_tapes(std::span<const Tensor> arguments) const;
  std::shared_ptr<TapedGraph> taped_graph(const std::vector<bool>& known, bool alone);

  const Graph graph_;  ///< whose branches and loops read no variables, as far as possible
  std::vector<Value> inputs_;  ///< what a tape may know before the graph runs
  /// Constants from before the trace inside of branches and loops: ids. A tape that watches one has each
  /// node.
  std::vector<std::uint64_t> inner_constants_;
  bool is_possible_ = false;       ///< for some inputs
  bool depends_on_tapes_ = false;  ///< what is kept: on whether a single tape records
  std::mutex mutex_;
  /// By what a tape knows, and whether a single one records; nullptr: not possible for these.
  std::map<std::pair<std::vector<bool>, bool>, std::shared_ptr<TapedGraph>> taped_;
};

}  // namespace tapedeck::graph
