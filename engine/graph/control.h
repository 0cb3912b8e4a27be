// Branches, loops and host calls of graph functions: what decides is a value that is known when the graph
// runs.
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
/// where the results differ in number or dtype, and for another predicate; FailedPreconditionError where
/// nothing is traced. Of results of different shapes what both have is known.
Tensors branch(const Tensor& predicate, const std::function<Tensors()>& if_true,
               const std::function<Tensors()>& if_false);

/// What is known of a loop's variable in all iterations; nothing: what is known of it before the first.
using Invariant = std::optional<ValueSpec>;
using Step = std::function<Tensors(std::span<const Tensor>)>;
/// What the variables are when `condition` of them is false for the first time; `body` gives their next
/// values. `invariants`: one for each variable, or none at all; what is unknown there may change from
/// iteration to iteration. Errors as of branch, of the body's results against the variables, whose shapes
/// must stay.
Tensors loop(std::span<const Tensor> variables,
             const std::function<Tensor(std::span<const Tensor>)>& condition, const Step& body,
             std::span<const Invariant> invariants = {});

/// A loop backwards over what a loop's iterations kept.
struct Unwind {
  Tensors variables;           ///< their values before
  std::vector<bool> may_lack;  ///< whether a run may find no value for each variable
  Tensor list;                 ///< what the iterations kept (kept_list.h)
  std::vector<ValueSpec> kept;
  Tensors at_the_end;  ///< what the body gets for the first iteration alone, for others it is absent
};
/// What `body` makes of the variables when it runs for each iteration, the last one first. It gets the
/// variables, behind them what was kept, and what is there at the end; it gives the variables' next values.
Tensors unwind(const Unwind& loop, const Step& body);

/// Whether a gradient may flow from the node's results back to each of its inputs.
std::vector<bool> differentiable_inputs(const Node& node);
/// Puts a call on the tapes of this thread whose VJP is not known before the graph runs. Playing it here only
/// says which gradients there are: `through` names the inputs that get one. They depend on inputs and
/// cotangents, and have gradients themselves.
void put_on_tapes(const std::string& name, std::span<const Tensor> inputs, const std::vector<bool>& through,
                  std::span<const Tensor> results);

/// What the function returns for these tensors' values when the graph runs. Errors: FailedPreconditionError
/// where nothing is traced; of a run, InvalidArgumentError where the function returns tensors of another
/// number, dtype or shape.
Tensors host_call(HostCall call, std::span<const ValueSpec> results, std::span<const Tensor> inputs);

}  // namespace tapedeck::graph
