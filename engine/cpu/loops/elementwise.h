// Which elementwise loops exist.
#pragma once

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

/// Whether there is a loop for this dtype (of the inputs).
bool has_kernel(Unary op, DType dtype);
bool has_kernel(Binary op, DType dtype);

}  // namespace tapedeck::cpu
