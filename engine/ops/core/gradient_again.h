// Second derivatives of ops whose gradient is a separate op.
#pragma once

#include <functional>
#include <span>

#include "engine/ops/core/op.h"

namespace tapedeck::ops {

/// The call of a gradient op: `gradients of function's outputs, weighted by cotangents, with respect to
/// some of its inputs`.
struct GradientCall {
  /// The forward op, composed of others that have gradients.
  std::function<Tensors(std::span<const Tensor> inputs)> function;
  std::span<const Tensor> inputs;
  std::span<const std::int64_t> given;   ///< which outputs have a cotangent, and
  std::span<const Tensor> cotangents;    ///< these
  std::span<const std::int64_t> wanted;  ///< the inputs whose gradients were computed
};

/// The gradients of the call's inputs, then of its cotangents, from those of its outputs (undefined where
/// none arrived). Runs the function and its gradient again on tapes; undefined if a tensor is not connected.
/// Defined in engine/tape, which is above the ops.
Tensors gradients_of_gradients(const GradientCall& call, std::span<const Tensor> cotangents);

}  // namespace tapedeck::ops
