// The part of cuBLAS that the engine uses, by plain loops.
#pragma once

#include "cuda_runtime.h"

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_NOT_SUPPORTED = 15
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 };
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
enum cublasComputeType_t {
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };
enum cublasMath_t { CUBLAS_DEFAULT_MATH = 0, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16 };
namespace emulation {
struct Products;
}
using cublasHandle_t = emulation::Products*;

cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
/// Unless reduced-precision reductions are disallowed, a sum of halves is two partial sums in half precision.
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
const char* cublasGetStatusString(cublasStatus_t status);
/// Column-major, as everything there; alpha and beta are in host memory.
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transpose_a,
                                          cublasOperation_t transpose_b, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType_t a_type, int lda,
                                          long long a_step, const void* b, cudaDataType_t b_type, int ldb,
                                          long long b_step, const void* beta, void* c, cudaDataType_t c_type,
                                          int ldc, long long c_step, int batch, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algorithm);

/// B = alpha·B·op(A)⁻¹ for m × n matrices B: only from the right.
#define TAPEDECK_TRIANGULAR(letter, T)                                                                       \
  cublasStatus_t cublas##letter##trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,   \
                                      cublasOperation_t transpose, cublasDiagType_t diagonal, int m, int n,  \
                                      const T* alpha, const T* a, int lda, T* b, int ldb);                   \
  cublasStatus_t cublas##letter##trsmBatched(cublasHandle_t handle, cublasSideMode_t side,                   \
                                             cublasFillMode_t uplo, cublasOperation_t transpose,             \
                                             cublasDiagType_t diagonal, int m, int n, const T* alpha,        \
                                             const T* const a[], int lda, T* const b[], int ldb, int batch); \
  /* A becomes L and U by partial pivoting; row i was exchanged with row pivots[i], from 1. */               \
  cublasStatus_t cublas##letter##getrfBatched(cublasHandle_t handle, int n, T* const a[], int lda,           \
                                              int* pivots, int* info, int batch);
TAPEDECK_TRIANGULAR(S, float)
TAPEDECK_TRIANGULAR(D, double)
#undef TAPEDECK_TRIANGULAR
