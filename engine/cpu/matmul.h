// Matrix products of every dtype, in batches.
#pragma once

#include <cstdint>
#include <span>

#include "engine/cpu/gemm.h"
#include "engine/tensor/dtype.h"

namespace tapedeck::cpu {

/// One product for each pair of first elements in `a` and `b`; the results stand behind one another in `out`.
/// Results do not depend on the number of threads; the calling thread checks for interrupts. C is contiguous.
void matmul(DType dtype, const MatmulSize& size, std::span<const void* const> a,
            std::span<const void* const> b, void* out);

}  // namespace tapedeck::cpu
