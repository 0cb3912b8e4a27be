// Matrix products by cuBLAS, on the calling thread's stream.
#pragma once

#include <cstdint>

#include "engine/tensor/dtype.h"

namespace tapedeck::cuda {

/// out[i] = alpha·op(a[i])·op(b[i]) + beta·out[i] for `batch` products of row-major matrices, op(a) m × k and
/// op(b) k × n. A transposed operand is stored transposed. Leading dimensions are the distance of rows; steps
/// the distance of matrices (0: the same one for all), in elements.
struct Product {
  DType dtype =
      DType::float32;  ///< float32, float64, float16 or bfloat16; the last two accumulate in float32
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t batch = 1;
  std::int64_t a_step = 0, b_step = 0, out_step = 0;
  double alpha = 1.0, beta = 0.0;  ///< if beta is 0, `out` is not read
};
/// Does nothing if m, n or batch is 0; with k = 0 the result is beta·out.
void multiply(const Product& product, const void* a, const void* b, void* out);

}  // namespace tapedeck::cuda
