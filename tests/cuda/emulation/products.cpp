// cuBLAS by plain loops.
#include <bit>
#include <cmath>

#include "cublas_v2.h"
#include "engine/tensor/narrow_formats.h"
#include "factorizations.h"
#include "state.h"

namespace emulation {

struct Products {
  Stream* stream = nullptr;
  bool joins_halves = true;
};

namespace {

struct Float {
  using Stored = float;
  using Sum = float;
  static float load(float x) { return x; }
  static float store(float x) { return x; }
};
/// 10 bits of fraction, to the nearest, ties to even, as tensor cores get their factors.
struct TensorFloat32 : Float {
  static float load(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return std::isfinite(x) ? std::bit_cast<float>((bits + 0xfffU + (bits >> 13 & 1U)) & ~0x1fffU) : x;
  }
};
struct Double {
  using Stored = double;
  using Sum = double;
  static double load(double x) { return x; }
  static double store(double x) { return x; }
};
template <class Format>
struct Half {
  using Stored = std::uint16_t;
  using Sum = float;
  static float load(std::uint16_t x) { return Format::to_float(x); }
  static std::uint16_t store(float x) { return Format::from_float(x); }
};

/// A sum is no factor: it is read as it is.
template <class Type>
typename Type::Sum stored(typename Type::Stored value) {
  if constexpr (std::is_same_v<Type, TensorFloat32>)
    return value;
  else
    return Type::load(value);
}

struct Gemm {
  bool transpose_a, transpose_b;
  int m, n, k;
  double alpha, beta;
  const void* a;
  long long lda, a_step;
  const void* b;
  long long ldb, b_step;
  void* c;
  long long ldc, c_step;
  int batch;
  bool joins_halves;
};

template <class Type>
void compute(const Gemm& of) {
  using Stored = typename Type::Stored;
  using Sum = typename Type::Sum;
  for (int number = 0; number < of.batch; ++number) {
    const auto* a = static_cast<const Stored*>(of.a) + number * of.a_step;
    const auto* b = static_cast<const Stored*>(of.b) + number * of.b_step;
    auto* c = static_cast<Stored*>(of.c) + number * of.c_step;
    for (long long column = 0; column < of.n; ++column)
      for (long long row = 0; row < of.m; ++row) {
        Sum sum = 0;
        for (long long i = 0; i < of.k; ++i) {
          if (of.joins_halves && sizeof(Stored) == 2 && i == of.k / 2) sum = Type::load(Type::store(sum));
          sum += Type::load(a[of.transpose_a ? row * of.lda + i : i * of.lda + row]) *
                 Type::load(b[of.transpose_b ? i * of.ldb + column : column * of.ldb + i]);
        }
        Stored& to = c[column * of.ldc + row];
        sum *= static_cast<Sum>(of.alpha);
        if (of.beta != 0.0) sum += static_cast<Sum>(of.beta) * stored<Type>(to);
        to = Type::store(sum);
      }
  }
}

}  // namespace
}  // namespace emulation

using namespace emulation;

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  if (free == 0) return CUBLAS_STATUS_ALLOC_FAILED;
  *handle = new Products;
  count_made(Kind::products, 1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  handle->joins_halves = (mode & CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) == 0;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS         ? "no error"
         : status == CUBLAS_STATUS_INVALID_VALUE ? "an invalid value"
         : status == CUBLAS_STATUS_ALLOC_FAILED  ? "resource allocation failed"
                                                 : "not supported";
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transpose_a,
                                          cublasOperation_t transpose_b, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType_t a_type, int lda,
                                          long long a_step, const void* b, cudaDataType_t b_type, int ldb,
                                          long long b_step, const void* beta, void* c, cudaDataType_t c_type,
                                          int ldc, long long c_step, int batch,
                                          cublasComputeType_t compute_type, cublasGemmAlgo_t) {
  if (m < 0 || n < 0 || k < 0 || batch < 0 || a_type != b_type || a_type != c_type ||
      (compute_type == CUBLAS_COMPUTE_64F) != (a_type == CUDA_R_64F) ||
      (compute_type == CUBLAS_COMPUTE_32F_FAST_TF32 && a_type != CUDA_R_32F) ||
      lda < std::max(1, transpose_a == CUBLAS_OP_N ? m : k) ||
      ldb < std::max(1, transpose_b == CUBLAS_OP_N ? k : n) || ldc < std::max(1, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool wide = compute_type == CUBLAS_COMPUTE_64F;
  const auto number = [wide](const void* at) {
    return wide ? *static_cast<const double*>(at) : static_cast<double>(*static_cast<const float*>(at));
  };
  const Gemm of{.transpose_a = transpose_a == CUBLAS_OP_T,
                .transpose_b = transpose_b == CUBLAS_OP_T,
                .m = m,
                .n = n,
                .k = k,
                .alpha = number(alpha),
                .beta = number(beta),
                .a = a,
                .lda = lda,
                .a_step = a_step,
                .b = b,
                .ldb = ldb,
                .b_step = b_step,
                .c = c,
                .ldc = ldc,
                .c_step = c_step,
                .batch = batch,
                .joins_halves = handle->joins_halves};
  enqueue(handle->stream, "cublasGemmStridedBatchedEx",
          [of, type = a_type, rounded = compute_type == CUBLAS_COMPUTE_32F_FAST_TF32] {
            switch (type) {
              case CUDA_R_64F:
                return compute<Double>(of);
              case CUDA_R_16F:
                return compute<Half<tapedeck::Float16>>(of);
              case CUDA_R_16BF:
                return compute<Half<tapedeck::BFloat16>>(of);
              default:
                return rounded ? compute<TensorFloat32>(of) : compute<Float>(of);
            }
          });
  return CUBLAS_STATUS_SUCCESS;
}

namespace {

template <class T>
struct Triangular {
  bool lower, transposed, unit;
  int m, n;
  T alpha;
  int lda, ldb;

  void operator()(const T* a, T* b) const {
    const auto at = [&](long long i, long long j) { return a[transposed ? i * lda + j : j * lda + i]; };
    const bool is_upper = lower == transposed;  // op(A): the first column of X is known first
    for (long long row = 0; row < m; ++row)
      for (long long step = 0; step < n; ++step) {
        const long long j = is_upper ? step : n - 1 - step;
        T value = alpha * b[j * ldb + row];
        for (long long k = is_upper ? 0 : j + 1; k < (is_upper ? j : n); ++k)
          value -= b[k * ldb + row] * at(k, j);
        b[j * ldb + row] = unit ? value : value / at(j, j);
      }
  }
};

bool is_wrong(cublasSideMode_t side, int m, int n, int lda, int ldb) {
  return side != CUBLAS_SIDE_RIGHT || m < 0 || n < 0 || lda < std::max(1, n) || ldb < std::max(1, m);
}

}  // namespace

#define TAPEDECK_TRIANGULAR(letter, T)                                                                      \
  cublasStatus_t cublas##letter##trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,  \
                                      cublasOperation_t transpose, cublasDiagType_t diagonal, int m, int n, \
                                      const T* alpha, const T* a, int lda, T* b, int ldb) {                 \
    if (is_wrong(side, m, n, lda, ldb)) return CUBLAS_STATUS_INVALID_VALUE;                                 \
    const Triangular<T> solve{uplo == CUBLAS_FILL_MODE_LOWER,                                               \
                              transpose == CUBLAS_OP_T,                                                     \
                              diagonal == CUBLAS_DIAG_UNIT,                                                 \
                              m,                                                                            \
                              n,                                                                            \
                              *alpha,                                                                       \
                              lda,                                                                          \
                              ldb};                                                                         \
    enqueue(handle->stream, "cublas" #letter "trsm", [=] { solve(a, b); });                                 \
    return CUBLAS_STATUS_SUCCESS;                                                                           \
  }                                                                                                         \
  cublasStatus_t cublas##letter##trsmBatched(                                                               \
      cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t transpose,     \
      cublasDiagType_t diagonal, int m, int n, const T* alpha, const T* const a[], int lda, T* const b[],   \
      int ldb, int batch) {                                                                                 \
    if (is_wrong(side, m, n, lda, ldb) || batch < 0) return CUBLAS_STATUS_INVALID_VALUE;                    \
    const Triangular<T> solve{uplo == CUBLAS_FILL_MODE_LOWER,                                               \
                              transpose == CUBLAS_OP_T,                                                     \
                              diagonal == CUBLAS_DIAG_UNIT,                                                 \
                              m,                                                                            \
                              n,                                                                            \
                              *alpha,                                                                       \
                              lda,                                                                          \
                              ldb};                                                                         \
    enqueue(handle->stream, "cublas" #letter "trsmBatched", [=] {                                           \
      for (int i = 0; i < batch; ++i) solve(a[i], b[i]);                                                    \
    });                                                                                                     \
    return CUBLAS_STATUS_SUCCESS;                                                                           \
  }                                                                                                         \
  cublasStatus_t cublas##letter##getrfBatched(cublasHandle_t handle, int n, T* const a[], int lda,          \
                                              int* pivots, int* info, int batch) {                          \
    if (n < 0 || lda < std::max(1, n) || batch < 0) return CUBLAS_STATUS_INVALID_VALUE;                     \
    enqueue(handle->stream, "cublas" #letter "getrfBatched", [=] {                                          \
      for (int i = 0; i < batch; ++i) info[i] = eliminate(n, n, a[i], lda, pivots + std::ptrdiff_t{n} * i); \
    });                                                                                                     \
    return CUBLAS_STATUS_SUCCESS;                                                                           \
  }
TAPEDECK_TRIANGULAR(S, float)
TAPEDECK_TRIANGULAR(D, double)
#undef TAPEDECK_TRIANGULAR
