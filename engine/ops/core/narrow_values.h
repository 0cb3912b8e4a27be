// Conversion of storage-only dtypes (engine/tensor/narrow.h) with the kernels' threads and vector code.
#pragma once

#include "engine/tensor/tensor.h"

namespace tapedeck::ops {

/// As widened() and narrowed().
Tensor widen(const Tensor& tensor);
Tensor narrow(const Tensor& tensor, DType dtype, bool saturate = false);

}  // namespace tapedeck::ops
