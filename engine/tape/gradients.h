// Functions in, gradient functions out: the `tfe` interface, for C++.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "engine/tape/tape.h"

namespace tapedeck {

using TensorFunction = std::function<Tensor(std::span<const Tensor>)>;
using GradientsFunction = std::function<Tensors(std::span<const Tensor>)>;

/// f ↦ gradients of f with respect to all its arguments, or to those at `params`. Applying it n times gives
/// the n-th derivative. Throws InvalidArgumentError for an index out of range.
GradientsFunction gradients_function(TensorFunction f, std::vector<int> params = {});

/// As gradients_function, and the value.
std::function<std::pair<Tensor, Tensors>(std::span<const Tensor>)> value_and_gradients_function(
    TensorFunction f, std::vector<int> params = {});

using VariableGradients = std::vector<std::pair<Tensor, Variable>>;
/// Gradients with respect to every trainable variable that f read, in order of first use. Throws
/// InvalidArgumentError where f used none.
std::function<VariableGradients()> implicit_gradients(std::function<Tensor()> f);
std::function<std::pair<Tensor, VariableGradients>()> implicit_value_and_gradients(std::function<Tensor()> f);

}  // namespace tapedeck
