// Values of dtypes that are stored only (engine/tensor/narrow.h), converted by the kernels' threads and
// vectors.
#pragma once

#include "engine/tensor/tensor.h"

namespace tapedeck::ops {

/// As widened() and narrowed().
Tensor widen(const Tensor& tensor);
Tensor narrow(const Tensor& tensor, DType dtype, bool saturate = false);

}  // namespace tapedeck::ops
