#include <cublas_v2.h>

#include <algorithm>
#include <limits>

#include "engine/cuda/products.h"
#include "engine/cuda/runtime.h"

namespace tapedeck::cuda {
namespace {

void check_product(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  check(cudaGetLastError(), what);  // where an error that came late is behind it
  throw DeviceError(std::string(what) + " failed: " + cublasGetStatusString(status));
}

/// One for each thread and device: what is set on a handle holds for its next call.
struct Handles {
  std::array<cublasHandle_t, detail::most_gpus> of_device{};
  ~Handles() {
    for (const cublasHandle_t handle : of_device)
      if (handle && !is_lost()) cublasDestroy(handle);
  }
};

cublasHandle_t current_handle() {
  static thread_local Handles handles;
  const Stream& stream = current_stream();
  cublasHandle_t& handle = handles.of_device[static_cast<std::size_t>(stream.device)];
  if (!handle) {
    check_product(cublasCreate(&handle), "cublasCreate");
    check_product(cublasSetStream(handle, stream.handle), "cublasSetStream");
  }
  return handle;
}

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return CUDA_R_64F;
    case DType::float16:
      return CUDA_R_16F;
    case DType::bfloat16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

int small(std::int64_t extent, const char* name) {
  if (extent > std::numeric_limits<int>::max())
    fail<UnimplementedError>("a matrix product with ", name, " = ", extent,
                             ": cuBLAS takes up to 2147483647");
  return static_cast<int>(extent);
}

}  // namespace

void multiply(const Product& product, const void* a, const void* b, void* out) {
  if (product.m == 0 || product.n == 0 || product.batch == 0) return;
  const bool wide = product.dtype == DType::float64;
  const float alpha = static_cast<float>(product.alpha), beta = static_cast<float>(product.beta);
  const auto number = [wide](const double& of, const float& narrow) {
    return wide ? static_cast<const void*>(&of) : static_cast<const void*>(&narrow);
  };
  const cudaDataType_t type = type_of(product.dtype);
  const cublasHandle_t handle = current_handle();
  Stream& stream = current_stream();
  stream.note_kernel("matrix product");
  // cuBLAS' matrices are column-major: to it a row-major one is its transpose, and (A·B)ᵀ is Bᵀ·Aᵀ.
  check_product(
      cublasGemmStridedBatchedEx(
          handle, product.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
          product.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, small(product.n, "n"), small(product.m, "m"),
          small(product.k, "k"), number(product.alpha, alpha), b, type,
          small(std::max<std::int64_t>(product.ldb, 1), "ldb"), product.b_step, a, type,
          small(std::max<std::int64_t>(product.lda, 1), "lda"), product.a_step, number(product.beta, beta),
          out, type, small(std::max<std::int64_t>(product.ldc, 1), "ldc"), product.out_step,
          small(product.batch, "batch"), wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
      "a matrix product");
  stream.note_work();
}

}  // namespace tapedeck::cuda
