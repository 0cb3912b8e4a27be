// How run_op computes with dtypes that lack kernels for some ops.
#pragma once

#include "engine/ops/core/op.h"

namespace tapedeck::detail {

/// Whether an input or output of the call has such a dtype.
inline bool needs_other_compute(const OpContext& context) {
  for (const Tensor& input : context.inputs)
    if (input.dtype() >= DType::int8) return true;
  for (const TensorSpec& output : context.outputs)
    if (output.dtype >= DType::int8) return true;
  return false;
}

/// Runs the forward function on what it accepts: narrow values widened, uint64 as int64, or everything
/// unchanged. Throws TypeMismatchError if the op does not support strings, uint64 or complex numbers.
Tensors compute_otherwise(const OpContext& context);

}  // namespace tapedeck::detail
