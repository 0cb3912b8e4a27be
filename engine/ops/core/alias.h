// Ids of their own for tensors that share their values: ids say who made a tensor.
#pragma once

#include <span>

#include "engine/tensor/tensor.h"

namespace tapedeck::detail {

/// The same values as a tensor of its own, with a new id.
Tensor alias(const Tensor& tensor);

/// Gives every output that is also an input, or an earlier output, an id of its own.
void make_outputs_distinct(std::span<const Tensor> inputs, std::span<Tensor> outputs);

}  // namespace tapedeck::detail
