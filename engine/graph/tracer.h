// Makes a graph of what a thread calls.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/tape/variable_tracer.h"

namespace tapedeck::graph {

/// Used on one thread, between a TracerScope's begin and end:
///     GraphTracer tracer("f");
///     const Tensor x = tracer.parameter("x", {DType::float32, {2, 3}});
///     {
///       const TracerScope scope(&tracer);
///       results = the function's, of x
///     }
///     const Graph graph = tracer.finish(results);
class GraphTracer final : public VariableTracer {
 public:
  /// `around`: the tracer of the function that this one is called in; its symbolic tensors may be used here,
  /// as captured parameters.
  explicit GraphTracer(std::string name, GraphTracer* around = nullptr);

  /// The next argument, as the function sees it. To be called before the function's first op.
  Tensor parameter(const std::string& name, const TensorSpec& spec);
  /// The graph whose results these tensors are, symbolic or not. Throws InvalidArgumentError for an undefined
  /// one, and for one of a function that this one has no part in.
  Graph finish(std::span<const Tensor> results);

  Tensors call(const OpContext& context) override;
  Tensor read(const Variable& variable) override;
  void assign(const Variable& variable, const Tensor& value) override;

 private:
  /// The number of a new node that takes these tensors.
  std::int32_t add(Node node, std::span<const Tensor> inputs);
  Value value_of(const Tensor& tensor, std::string_view what);
  Value constant_of(const Tensor& tensor);
  Value captured(const Tensor& tensor, std::string_view what);
  bool knows(const Tensor& tensor) const;
  Tensors results_of(std::int32_t node);

  Graph graph_;
  GraphTracer* const around_;
  std::unordered_map<std::uint64_t, Value> values_;  ///< by the id of the symbolic tensor, or of the constant
  std::unordered_map<std::uint64_t, Tensor> variables_;  ///< by the variable's id: its value at this point
  std::vector<Node> captures_;                           ///< parameters to come behind the arguments
};

/// Traces `function` with arguments of these dtypes and shapes, named "x0", "x1", …
Graph trace(const std::string& name, std::span<const TensorSpec> arguments,
            const std::function<Tensors(std::span<const Tensor>)>& function);

}  // namespace tapedeck::graph
