// How long rows are reduced: block by block, then the blocks' results in order.
#pragma once

#include <cstdint>

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

constexpr std::int64_t reduced_block =
    4096;  ///< elements of a row that one loop reduces: 64 in a lane of float32

/// Reduces the results of a row's blocks, of a floating dtype.
void combine_reduced_blocks(Reduction op, DType dtype, const void* parts, std::int64_t count, void* out);

}  // namespace tapedeck::cpu
