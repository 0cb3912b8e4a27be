// Graphs as JSON (README.md).
#pragma once

#include "engine/graph/arrays/arrays.h"
#include "engine/graph/graph.h"
#include "engine/saved_model/weights.h"

namespace tapedeck::saved_model {

class GraphWriter {
 public:
  GraphWriter(std::span<const Variable> variables, WeightsToWrite& weights);
  /// Throws UnimplementedError for what cannot be saved, with the place in the program where it was traced:
  /// calls of the program's functions, and variables that are not among the model's.
  Json write(const graph::Graph& graph);

 private:
  Json node(const graph::Graph& graph, const graph::Node& node);
  void add_op(const graph::Node& node, Json& entry) const;
  void add_tape(const graph::Graph& graph, const graph::Node& node, Json& entry) const;
  void add_own_gradient(const graph::Graph& graph, const graph::Node& node, Json& entry) const;
  static void add_array_call(const graph::ArrayCallForm& form, Json& entry);
  std::size_t number_of(const Variable& variable, const graph::Graph& graph) const;

  std::map<std::uint64_t, std::size_t> variables_;  ///< by their ids
  WeightsToWrite& weights_;
  std::size_t constants_ = 0;
};

}  // namespace tapedeck::saved_model
