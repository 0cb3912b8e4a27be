#include <algorithm>

#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/linear_algebra/runs.h"
#include "engine/cuda/products/products.h"

namespace tapedeck::cuda {
namespace {

constexpr int tile = 16;

/// Steps: how many values lie between the rows of a and between the columns of b (`outer`), along k
/// (`inner`), and between the matrices of the batch.
struct Steps {
  std::int64_t outer, inner, matrix;
};

/// A block makes tile × tile values. T is unsigned: overflow wraps around.
template <class T>
__global__ void whole_number_products(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                                      const T* a, Steps a_step, const T* b, Steps b_step, T* out,
                                      std::int64_t out_step) {
  __shared__ T left[tile][tile + 1];
  __shared__ T right[tile][tile + 1];
  const int row = static_cast<int>(threadIdx.x) / tile, column = static_cast<int>(threadIdx.x) % tile;
  const std::int64_t down = (m + tile - 1) / tile, across = (n + tile - 1) / tile;
  for (std::int64_t block = blockIdx.x; block < batch * down * across; block += gridDim.x) {
    const std::int64_t matrix = block / (down * across);
    const std::int64_t top = block / across % down * tile, from = block % across * tile;
    T sum{};
    for (std::int64_t first = 0; first < k; first += tile) {
      const std::int64_t left_k = first + column, right_k = first + row;
      left[row][column] = top + row < m && left_k < k
                              ? a[matrix * a_step.matrix + (top + row) * a_step.outer + left_k * a_step.inner]
                              : T(0);
      right[row][column] =
          from + column < n && right_k < k
              ? b[matrix * b_step.matrix + (from + column) * b_step.outer + right_k * b_step.inner]
              : T(0);
      __syncthreads();
      for (int p = 0; p < tile; ++p) sum = static_cast<T>(sum + left[row][p] * right[p][column]);
      __syncthreads();
    }
    if (top + row < m && from + column < n) out[matrix * out_step + (top + row) * n + from + column] = sum;
  }
}

template <class T>
void multiply_whole_numbers(const MatmulSize& size, MatrixList a, MatrixList b, T* out) {
  const std::int64_t tiles = (size.m + tile - 1) / tile * ((size.n + tile - 1) / tile),
                     step = size.m * size.n;
  for (const Run& run : runs_of(static_cast<std::int64_t>(a.size()), {a, b})) {
    const Steps a_step{size.transpose_a ? 1 : size.lda, size.transpose_a ? size.lda : 1, run.step_of<T>(a)};
    const Steps b_step{size.transpose_b ? size.ldb : 1, size.transpose_b ? 1 : size.ldb, run.step_of<T>(b)};
    launch("matmul", {.blocks = run.count * tiles, .threads = tile * tile, .cooperation = Cooperation::block},
           whole_number_products<T>, run.count, size.m, size.n, size.k, run.of<const T>(a), a_step,
           run.of<const T>(b), b_step, out + run.first * step, run.step * step);
  }
}

template <class T>
void multiply_reals(DType dtype, const MatmulSize& size, MatrixList a, MatrixList b, T* out) {
  const std::int64_t step = size.m * size.n;
  for (const Run& run : runs_of(static_cast<std::int64_t>(a.size()), {a, b}))
    multiply({.dtype = dtype,
              .m = size.m,
              .n = size.n,
              .k = size.k,
              .transpose_a = size.transpose_a,
              .transpose_b = size.transpose_b,
              .lda = size.lda,
              .ldb = size.ldb,
              .ldc = size.n,
              .batch = run.count,
              .a_step = run.step_of<T>(a),
              .b_step = run.step_of<T>(b),
              .out_step = run.step * step},
             run.of<const T>(a), run.of<const T>(b), out + run.first * step);
}

/// A matrix of one row may say anything.
MatmulSize with_valid_leading_dimensions(MatmulSize size) {
  size.lda = std::max(size.lda, size.transpose_a ? size.m : size.k);
  size.ldb = std::max(size.ldb, size.transpose_b ? size.k : size.n);
  return size;
}

}  // namespace

void matmul(DType dtype, const MatmulSize& asked, std::span<const void* const> a,
            std::span<const void* const> b, void* out) {
  if (asked.m == 0 || asked.n == 0 || a.empty()) return;
  const MatmulSize size = with_valid_leading_dimensions(asked);
  switch (dtype) {
    case DType::int32:
      return multiply_whole_numbers(size, a, b, static_cast<std::uint32_t*>(out));
    case DType::int64:
      return multiply_whole_numbers(size, a, b, static_cast<std::uint64_t*>(out));
    case DType::float32:
      return multiply_reals(dtype, size, a, b, static_cast<float*>(out));
    case DType::float64:
      return multiply_reals(dtype, size, a, b, static_cast<double*>(out));
    case DType::float16:
    case DType::bfloat16:
      return multiply_reals(dtype, size, a, b, static_cast<std::uint16_t*>(out));
    default:
      throw NoKernel("matmul");
  }
}

}  // namespace tapedeck::cuda
