// The one way in: every op, from Python, C++, a VJP or an optimiser, goes through run_op.
//
// It runs the shape rule (all checks), asks the observer's gate, runs the forward function, writes the tapes
// of this thread, and tells the observer. With nobody attached and no tape, that is one relaxed load and two
// branches.
#pragma once

#include "engine/ops/op.h"

namespace tapedeck {

Tensors run_op(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes = {});

/// For ops with one output.
Tensor run_op1(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes = {});
inline Tensor run_op1(const OpDef& op, std::initializer_list<Tensor> inputs,
                      const Attributes& attributes = {}) {
  return run_op1(op, std::span<const Tensor>(inputs.begin(), inputs.size()), attributes);
}

/// Runs an op again for the recorder: no tape, no observer, no gate.
Tensors replay_op(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes);

}  // namespace tapedeck
