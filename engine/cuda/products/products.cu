#include <algorithm>

#include "engine/cuda/handles.h"
#include "engine/cuda/products/products.h"

namespace tapedeck::cuda {
namespace {

cublasComputeType_t compute_type_of(DType dtype) {
  if (dtype == DType::float64) return CUBLAS_COMPUTE_64F;
  return dtype == DType::float32 && rounds_to_tensor_float_32() ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                : CUBLAS_COMPUTE_32F;
}

int small(std::int64_t extent, const char* name) {
  return small_extent(extent, "a matrix product", name);
}

}  // namespace

void multiply(const Product& product, const void* a, const void* b, void* out) {
  if (product.m == 0 || product.n == 0 || product.batch == 0) return;
  const bool wide = product.dtype == DType::float64;
  const float alpha = static_cast<float>(product.alpha), beta = static_cast<float>(product.beta);
  const auto number = [wide](const double& of, const float& narrow) {
    return wide ? static_cast<const void*>(&of) : static_cast<const void*>(&narrow);
  };
  const cudaDataType_t type = library_type(product.dtype);
  const cublasHandle_t handle = products_handle();
  Stream& stream = current_stream();
  stream.note_kernel("matrix product");
  // cuBLAS' matrices are column-major: to it a row-major one is its transpose, and (A·B)ᵀ is Bᵀ·Aᵀ.
  check_library(
      cublasGemmStridedBatchedEx(
          handle, product.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
          product.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, small(product.n, "n"), small(product.m, "m"),
          small(product.k, "k"), number(product.alpha, alpha), b, type,
          small(std::max<std::int64_t>(product.ldb, 1), "ldb"), product.b_step, a, type,
          small(std::max<std::int64_t>(product.lda, 1), "lda"), product.a_step, number(product.beta, beta),
          out, type, small(std::max<std::int64_t>(product.ldc, 1), "ldc"), product.out_step,
          small(product.batch, "batch"), compute_type_of(product.dtype), CUBLAS_GEMM_DEFAULT),
      "a matrix product");
  stream.note_work();
}

}  // namespace tapedeck::cuda
