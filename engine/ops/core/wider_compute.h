// How run_op computes where a tensor is of a dtype without kernels of every op.
#pragma once

#include "engine/ops/core/op.h"

namespace tapedeck::detail {

/// True where an input or output of the call is of such a dtype.
inline bool needs_other_compute(const OpContext& context) {
  for (const Tensor& input : context.inputs)
    if (input.dtype() >= DType::int8) return true;
  for (const TensorSpec& output : context.outputs)
    if (output.dtype >= DType::int8) return true;
  return false;
}

/// Runs the forward function on what it takes: narrow values widened, uint64 as int64, or everything as it
/// is. Throws TypeMismatchError where the op does nothing with strings, uint64 or complex numbers.
Tensors compute_otherwise(const OpContext& context);

}  // namespace tapedeck::detail
