// Which elementwise loops exist.
#pragma once

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

/// Whether there is a loop for this dtype (of the inputs).
bool has_kernel(Unary op, DType dtype);
bool has_kernel(Binary op, DType dtype);

/// About how many nanoseconds an element takes, of operands of this dtype.
double element_cost(Unary op, DType dtype);
double element_cost(Binary op, DType dtype);
/// An output this large leaves the cache before it is read: writing past the cache saves reading its lines
/// first.
constexpr std::int64_t streaming_bytes = std::int64_t{16} << 20;

}  // namespace tapedeck::cpu
