// A graph some of whose inputs a tape knows: what its run keeps for the gradient, and the gradient graphs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/graph/run.h"
#include "engine/graph/taped_nodes.h"
#include "engine/tape/tape_state.h"

namespace tapedeck::graph {

class TapedGraph : public std::enable_shared_from_this<TapedGraph> {
 public:
  /// `inputs`: the values that a tape knows. Nothing where each node must be a call of its own
  /// (gradient_graph.h). Traces the gradient of all inputs from all results, which is wanted most often.
  /// `alone`: a single tape records, which will have stopped when its VJPs run.
  static std::shared_ptr<TapedGraph> make(const Graph& graph, std::vector<Value> inputs, bool alone);
  /// The same of a branch's side or a loop's body.
  static std::shared_ptr<TapedGraph> make_nested(const Graph& graph, std::vector<Value> inputs);

  /// For views: the gradient of all inputs from all results, as it is traced before passes run over it.
  /// Nothing as for make; throws what the VJPs throw.
  static std::optional<Graph> gradient_graph(const Graph& graph, std::vector<Value> inputs, bool alone);

  /// Runs the graph and writes the call on the tapes of this thread.
  Tensors run(std::span<const Tensor> arguments, const Draws* outer);

  /// Whether gradients flow from that result.
  bool gives(std::size_t result) const { return places_[result] != no_place; }

 private:
  TapedGraph(const Graph& graph, std::vector<Value> inputs, TapedNodes nodes, bool alone, bool nested);
  static constexpr std::size_t no_place = SIZE_MAX;
  /// What a run finds of a gradient before the graph's VJPs add to it.
  enum class Arrival : std::uint8_t { none, always, maybe };
  /// Which gradients are wanted from which.
  struct Request {
    std::vector<Arrival> cotangents, sums;
    std::vector<bool> wanted, sources;
    bool is_taped = false;  ///< tapes record the playback, or it is traced
    auto operator<=>(const Request&) const = default;
  };
  struct Gradient;
  /// `kept` may be emptied where the request allows it.
  Tensors gradient(const detail::SummingRequest& request, Tensors& kept, const Draws& draws);
  Request everything() const;
  Request nothing() const;
  /// Whether gradients of other results flow through that one.
  bool reads_result(std::size_t result) const;
  /// Of a body: among the outputs, that result which is the input's next value; no_place: it is none.
  std::size_t place_of_variable(std::size_t input) const {
    return places_[static_cast<std::size_t>(inputs_[input].node)];
  }
  std::shared_ptr<const Gradient> traced(const Request& request);
  /// `as_traced`: gets the graph that is traced.
  std::unique_ptr<Gradient> trace(const Request& request, std::optional<Graph>* as_traced = nullptr) const;
  class ForwardTrace;
  std::unique_ptr<Gradient> made_gradient(Graph graph, const ForwardTrace& forward,
                                          std::vector<std::size_t> places, bool is_taped,
                                          std::optional<Graph>* as_traced) const;

  void collect_kept();
  void keep_of(std::int32_t number);
  void add_kept_results(std::int32_t number);
  Graph forward_graph();
  Graph keeping_side(std::int32_t number, std::size_t side) const;
  Graph keeping_graph() const;

  const bool alone_, nested_;
  std::vector<Value> inputs_;     ///< of the call
  std::vector<bool> takes_part_;  ///< by node: whether a tape has it
  const std::map<std::int32_t, TapedControl> controls_;
  Graph graph_;  ///< with branches and loops that give what their VJPs read, behind their own results
  std::map<std::int32_t, std::size_t> own_results_;  ///< of these nodes: how many are their own
  std::vector<Value> outputs_;                       ///< the results that depend on them, and `kept_` that do
  std::size_t result_outputs_ = 0;                   ///< so many of the outputs are results
  std::vector<Value> kept_;                          ///< what VJPs read
  std::vector<std::size_t> places_;  ///< of each result among the outputs; no_place: it is none
  std::vector<std::size_t> output_places_, kept_places_,
      input_places_;                           ///< among the forward graph's results
  Graph forward_graph_;                        ///< of a nested one
  std::unique_ptr<const Executable> forward_;  ///< of another
  std::mutex mutex_;
  std::map<Request, std::shared_ptr<const Gradient>> gradients_;
};

}  // namespace tapedeck::graph
