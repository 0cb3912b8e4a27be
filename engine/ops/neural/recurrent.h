// The ops of recurrent.cpp and attention.cpp as C++ functions, and the same cells composed of other ops.
#pragma once

#include "engine/ops/core/checks.h"
#include "engine/ops/core/ops.h"

namespace tapedeck::ops {

/// For ops with a list after other inputs, whose shape rule may run before run_op has checked their number.
inline void require_inputs(const OpContext& c, std::size_t count) {
  if (c.inputs.size() < count)
    fail<InvalidArgumentError>(c.op.name, ": takes at least ", count, " tensors, got ", c.inputs.size());
}

/// How a recurrent op reads its sequences; see the rows' docstrings.
struct RecurrentReading {
  kernels::RecurrentCell cell;
  bool time_major, reverse;
  Tensor mask;  ///< undefined: every step runs
};

/// The cell step by step, in ops that have gradients: `inputs` and outputs as in the op (x, the states,
/// kernel, recurrent_kernel, bias; sequence, the states, and the saved values if any).
Tensors composed_recurrence(const RecurrentReading& reading, std::span<const Tensor> inputs);

}  // namespace tapedeck::ops
