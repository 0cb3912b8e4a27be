// Order of the values in rows.
#pragma once

#include <cstdint>

#include "engine/tensor/dtype.h"

namespace tapedeck::cpu {

// NaN counts as larger than every number. Equal values keep their order. Not for bool.

/// The values of each of the contiguous `rows` × `count`, in order.
void sort_rows(bool descending, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
               void* out);

/// Where those values stood.
void argsort_rows(bool descending, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                  std::int32_t* out);

/// The first `k` ≤ `count` of the descending order: values and positions, rows × k.
void top_k_rows(DType dtype, const void* values, std::int64_t rows, std::int64_t count, std::int64_t k,
                void* out, std::int32_t* positions);

}  // namespace tapedeck::cpu
