// Separate ids for tensors that share their values: an id identifies the op that made the tensor.
#pragma once

#include <span>

#include "engine/tensor/tensor.h"

namespace tapedeck::detail {

/// A separate tensor with the same values and a new id.
Tensor alias(const Tensor& tensor);

/// Gives every output that is also an input, or an earlier output, a separate id.
void make_outputs_distinct(std::span<const Tensor> inputs, std::span<Tensor> outputs);

}  // namespace tapedeck::detail
