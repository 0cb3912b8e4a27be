// Branches, loops and host calls of graph functions: what decides is a value that is known when the graph runs.
//
// A tape that a function makes and plays itself is played while it is traced: its gradients become nodes like
// any others. Where branches or loops are on the tape, only a run knows which ops there are; then the tape
// becomes part of the graph, and each run makes, fills and plays a tape of its own. Either way gradients have
// every order that eager code has.
#pragma once

#include <functional>
#include <optional>

#include "engine/graph/tracer.h"

namespace tapedeck::graph {

/// The results of one of the two functions, which are both traced. `predicate`: a scalar bool of the graph
/// that this thread traces. They may use tensors of the function around them. Errors: InvalidArgumentError
/// where the results differ in number, dtype or shape, and for another predicate; FailedPreconditionError
/// where nothing is traced.
Tensors branch(const Tensor& predicate, const std::function<Tensors()>& if_true,
               const std::function<Tensors()>& if_false);

using Step = std::function<Tensors(std::span<const Tensor>)>;
/// What the variables are when `condition` of them is false for the first time; `body` gives their next
/// values. Errors as of branch, of the body's results against the variables.
Tensors loop(std::span<const Tensor> variables,
             const std::function<Tensor(std::span<const Tensor>)>& condition, const Step& body);

/// What the function returns for these tensors' values when the graph runs. Errors: FailedPreconditionError
/// where nothing is traced; of a run, InvalidArgumentError where the function returns tensors of another number,
/// dtype or shape.
Tensors host_call(HostCall call, const TensorSpecs& results, std::span<const Tensor> inputs);

}  // namespace tapedeck::graph
