#include "engine/graph/results_of_values.h"

namespace tapedeck::graph {

std::vector<OpenResult> results_of_values(const OpDef& op, std::span<const Tensor> inputs,
                                          const Attributes& attributes) {
  constexpr UnknownShape first_axis{1, false};
  if (op.name == "where_indices") return {{{DType::int64, {1, inputs[0].rank()}}, first_axis}};
  if (op.name == "unique" || op.name == "unique_with_counts") {
    const DType index = std::get<DType>(attributes[op.place_of("out_idx")]);
    std::vector<OpenResult> results{{{inputs[0].dtype(), {1}}, first_axis}, {{index, inputs[0].shape()}, {}}};
    if (op.name == "unique_with_counts") results.push_back({{index, {1}}, first_axis});
    return results;
  }
  if (inputs.size() == 1 && inputs[0].dtype() == DType::string)  // the words or letters of a string
    return {{{DType::string, {1}}, first_axis}};
  fail<UnimplementedError>(
      op.name,
      ": the shape of its result depends on values, which a graph function does not have "
      "while it is traced");
}

}  // namespace tapedeck::graph
