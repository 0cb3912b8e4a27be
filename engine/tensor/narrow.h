// Element types that are stored but have no kernels: ops compute in a wider type and round back.
#pragma once

#include "engine/tensor/tensor.h"

namespace tapedeck {

/// The same values in compute_dtype(), row-major; the tensor itself if its dtype has kernels.
Tensor widened(const Tensor& tensor);

/// Values of a narrow dtype. From int32 and int64 to integers: wraps around or, with `saturate`, clamps. From
/// float32 and float64 to float16 and bfloat16: rounds to nearest, halves to even; too large ones become
/// infinite or, with `saturate`, finite ones the largest finite number. Other pairs: UnimplementedError.
Tensor narrowed(const Tensor& tensor, DType dtype, bool saturate = false);

/// Of float16 and bfloat16 values in float32: the float32 with the fewest decimal digits that rounds to the
/// same narrow value, so that 0.1 prints as 0.1. Row-major.
Tensor printable(const Tensor& wide, DType dtype);

}  // namespace tapedeck
