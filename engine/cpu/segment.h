// Sums of rows by number.
#pragma once

#include <cstdint>

#include "engine/tensor/dtype.h"

namespace tapedeck::cpu {

/// target[segments[i]] += rows[i] in order of i; target (segment_count × width) starts as zeros. Segments lie
/// in range.
void segment_sum(DType dtype, const void* rows, const std::int64_t* segments, std::int64_t count,
                 std::int64_t width, void* target);

}  // namespace tapedeck::cpu
