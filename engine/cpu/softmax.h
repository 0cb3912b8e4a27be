// Softmax and logsumexp over contiguous rows of float32 or float64.
#pragma once

#include <cstdint>

#include "engine/tensor/dtype.h"

namespace tapedeck::cpu {

/// out = exp(x − max) / Σ exp(x − max), row by row.
void softmax(DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out);
/// out = x − max − log Σ exp(x − max), row by row.
void log_softmax(DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out);
/// out = max + log Σ exp(x − max), one number a row; an infinite maximum is the answer itself.
void logsumexp(DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out);

}  // namespace tapedeck::cpu
