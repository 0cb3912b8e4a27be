// Matrix products: oneDNN for float32, Eigen for float64, plain loops for integers and tiny matrices.
#pragma once

#include <cstdint>
#include <span>

#include "engine/tensor/dtype.h"

namespace tapedeck::cpu {

/// C = op(A)·op(B) with op(A) m × k, op(B) k × n and C m × n, contiguous. A transposed operand is stored the
/// other way round, row-major with its leading dimension.
struct MatmulSize {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
  std::int64_t lda, ldb;
};

/// One product for each pair of first elements in `a` and `b`; the results stand behind one another in `out`.
/// Work is cut into tiles that depend on the sizes alone, so results do not depend on the number of threads;
/// between tiles the calling thread checks for interrupts.
void matmul(DType dtype, const MatmulSize& size, std::span<const void* const> a,
            std::span<const void* const> b, void* out);

/// One product in the calling thread: c = op(A)·op(B), or c += with `add`; c's rows stand `ldc` values apart.
void sgemm(const MatmulSize& size, const float* a, const float* b, bool add, float* c, std::int64_t ldc);

}  // namespace tapedeck::cpu
