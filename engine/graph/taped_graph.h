// A graph some of whose inputs a tape knows: what its run keeps for the gradient, and the gradient graphs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/graph/run.h"
#include "engine/tape/tape_state.h"

namespace tapedeck::graph {

class TapedGraph : public std::enable_shared_from_this<TapedGraph> {
 public:
  /// `inputs`: the values that a tape knows. Nothing where each node must be a call of its own
  /// (gradient_graph.h). Traces the gradient of all inputs from all results, which is wanted most often.
  static std::shared_ptr<TapedGraph> make(const Graph& graph, std::vector<Value> inputs);

  /// Runs the graph and writes the call on the tapes of this thread.
  Tensors run(std::span<const Tensor> arguments, const Draws* outer);

 private:
  TapedGraph(const Graph& graph, std::vector<Value> inputs, std::vector<bool> taped);
  /// Which gradients are wanted from which.
  struct Request {
    std::vector<bool> cotangents, sums, wanted, sources;
    bool is_taped = false;  ///< tapes record the playback, or it is traced
    auto operator<=>(const Request&) const = default;
  };
  struct Gradient;
  /// `kept` may be emptied where the request allows it.
  Tensors gradient(const detail::SummingRequest& request, Tensors& kept, const Draws& draws);
  Request everything() const;
  std::shared_ptr<const Gradient> traced(const Request& request);
  std::unique_ptr<Gradient> trace(const Request& request) const;
  class ForwardTrace;

  const Graph graph_;
  std::vector<Value> inputs_;        ///< of the call
  std::vector<Value> outputs_;       ///< the results that depend on them, and `kept_` that do
  std::size_t result_outputs_ = 0;   ///< so many of the outputs are results
  std::vector<Value> kept_;          ///< what VJPs read
  std::vector<bool> takes_part_;     ///< by node: whether a tape has it
  std::vector<std::size_t> places_;  ///< of each result among the outputs; no_place: it is none
  std::vector<std::size_t> output_places_, kept_places_,
      input_places_;  ///< among the forward graph's results
  std::unique_ptr<const Executable> forward_;
  std::mutex mutex_;
  std::map<Request, std::shared_ptr<const Gradient>> gradients_;
};

}  // namespace tapedeck::graph
