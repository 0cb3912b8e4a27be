// The graph that a program of TensorFlow 1 builds call by call, and the parts of it that its sessions run.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/tracer.h"

namespace tapedeck::graph {

/// Its tracer is open while the program builds; it is never finished, and grows as long as the program calls
/// ops. Nodes are in the order of the program, so a part of the graph runs in that order, too. Used with
/// Python's lock held.
class ProgramGraph {
 public:
  ProgramGraph();

  GraphTracer& tracer() { return tracer_; }
  const GraphTracer& tracer() const { return tracer_; }
  std::int32_t size() const { return static_cast<std::int32_t>(tracer_.so_far().nodes.size()); }

  /// The nodes from `first` up to `last` run behind `before` (tf.control_dependencies). Throws
  /// InvalidArgumentError where a number of `before` is not that of an earlier node.
  void depend(std::int32_t first, std::int32_t last, std::span<const std::int32_t> before);
  /// Those of the nodes from `first` up to `last` that assign, print or call Python: what an operation
  /// without a value is made of.
  std::vector<std::int32_t> effects(std::int32_t first, std::int32_t last) const;

  /// What a run needs.
  struct Part {
    Graph graph;  ///< parameters: the feeds
    /// Numbers of its nodes, in this graph.
    std::vector<std::int32_t> nodes;
    /// Placeholders that it needs and that are not fed: no run is possible then.
    std::vector<std::int32_t> unfed;
    std::vector<Variable> needed;    ///< read before the part assigns to them
    std::vector<Variable> assigned;  ///< may be assigned to
  };
  /// What gives the fetches and runs the nodes `also`, where `feeds` have values: (name of the parameter,
  /// tensor).
  Part part(std::span<const std::pair<std::string, Tensor>> feeds, std::span<const Tensor> fetches,
            std::span<const std::int32_t> also);

 private:
  class Cut;

  GraphTracer tracer_;
  std::map<std::int32_t, std::set<std::int32_t>> before_;  ///< by the node: what runs before it
};

}  // namespace tapedeck::graph
