// What is known of results whose shapes depend on values.
#pragma once

#include <vector>

#include "engine/ops/core/op.h"
#include "engine/tensor/unknown_shape.h"

namespace tapedeck::graph {

/// A result of a call, with a sample shape.
struct OpenResult {
  TensorSpec spec;
  UnknownShape unknown;
};

/// Of a call of a row with OpDef::shape_of_values, which passed its checks. Each such row has its entry here;
/// throws UnimplementedError for another.
std::vector<OpenResult> results_of_values(const OpDef& op, std::span<const Tensor> inputs,
                                          const Attributes& attributes);

}  // namespace tapedeck::graph
