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

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/draws.h"
#include "engine/graph/graph.h"

namespace tapedeck::graph {

class OuterGradients;
class TapedGraph;

/// Those of one graph. Safe from several threads.
class GradientGraphs {
 public:
  /// The graph must stay there.
  explicit GradientGraphs(const Graph& before);
  ~GradientGraphs();

  /// Runs the graph on checked arguments, and writes the call on the tapes of this thread, which records.
  /// Nothing where each node must be a call of its own:
  ///   - a branch or a loop where several tapes record, or one that may record VJPs: second derivatives need
  ///     the tensors inside;
  ///   - a loop whose variables begin as the same tensor, or as one that the body reads, too; a branch, or a
  ///     loop of no iteration, that passes on what is read behind it, too: these add to one sum in turns;
  ///   - in a branch or a loop, a VJP that draws again what the forward run drew, and a variable that the
  ///     function reads and assigns to;
  ///   - a tape or a call of the host that may take part in gradients, also by a watched tensor inside of it;
  ///   - shapes that only a run knows, where those of the arguments do not decide them (specializations.h);
  ///   - one tensor at several places of the arguments or variables, to whose gradient they add in turns;
  ///   - rows of an input that are gathered, as their gradient may be wanted as rows;
  ///   - no more than one node that a tape would have.
  /// Sides and bodies that are run so are calls themselves, each with its gradient's graph.
  /// `notes`: gets what tapes have of the first such run; may be nullptr.
  std::optional<Tensors> run_taped(std::span<const Tensor> arguments, const Draws* outer,
                                   OuterGradients* notes);
  /// For views: what the tapes of this thread, which records, have of a run with these arguments.
  void note_tapes(std::span<const Tensor> arguments, OuterGradients& notes);
  /// For views: the gradient of these inputs from all results, as it is traced. An Error says why a tape
  /// plays the VJPs one by one instead.
  Graph traced_gradient(const std::vector<bool>& known, bool alone) const;

 private:
  struct Known;
  std::optional<std::vector<bool>> known_to_tapes(std::span<const Tensor> arguments) const;
  std::shared_ptr<TapedGraph> taped_graph(const std::vector<bool>& known, bool alone);

  const std::optional<Graph> hoisted_;  ///< whose branches and loops read no variables, as far as possible
  const Graph& graph_;
  std::vector<Value> inputs_;  ///< what a tape may know before the graph runs
  /// Constants from before the trace inside of branches and loops: ids. A tape that watches one has each
  /// node.
  std::vector<std::uint64_t> inner_constants_;
  std::vector<std::size_t> readable_;  ///< nodes: parameters and variables that may have gradients
  std::string why_played_;             ///< why it is not possible for any inputs
  bool is_possible_ = false;           ///< for some inputs
  bool depends_on_tapes_ = false;      ///< what is kept: on whether a single tape records
  std::atomic<bool> noted_{false};     ///< a run while nothing records
  std::mutex mutex_;
  std::vector<bool> noted_last_;  ///< of `readable_`, and behind these `alone`: by note_tapes
  /// By what a tape knows, and whether a single one records; nullptr: not possible for these.
  std::map<std::pair<std::vector<bool>, bool>, std::shared_ptr<TapedGraph>> taped_;
};

}  // namespace tapedeck::graph
