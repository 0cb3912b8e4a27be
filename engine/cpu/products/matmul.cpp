#include <algorithm>
#include <type_traits>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/products/gemm.h"
#include "engine/tensor/error.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t tiny = 4096;        ///< multiplications: below, packing costs more than the product
constexpr std::int64_t large = 1 << 24;    ///< one product has enough work for all threads
constexpr std::int64_t rows_at_once = 64;  ///< of a plain product: soon enough for an interrupt

/// Rows [first, last); sums over k in order, in T (unsigned for integers, so that overflow wraps around).
template <class T>
void plain_rows(const MatmulSize& size, std::int64_t first, std::int64_t last, const T* a, const T* b, T* c) {
  const std::int64_t a_row = size.transpose_a ? 1 : size.lda;
  const std::int64_t a_step = size.transpose_a ? size.lda : 1;
  const std::int64_t b_row = size.transpose_b ? 1 : size.ldb;
  const std::int64_t b_step = size.transpose_b ? size.ldb : 1;
  for (std::int64_t i = first; i < last; ++i) {
    T* out = c + i * size.n;
    std::fill_n(out, size.n, T(0));
    for (std::int64_t p = 0; p < size.k; ++p) {
      const T left = a[i * a_row + p * a_step];
      const T* right = b + p * b_row;
      for (std::int64_t j = 0; j < size.n; ++j) out[j] = static_cast<T>(out[j] + left * right[j * b_step]);
    }
  }
}

template <class T>
void product(const MatmulSize& size, const T* a, const T* b, T* c) {
  if constexpr (std::is_floating_point_v<T>)
    if (size.m == 1 || size.n == 1 || size.m * size.n * size.k > tiny)
      return gemm(size, a, b, false, c, size.n);
  const double row =
      static_cast<double>(size.n) * static_cast<double>(std::max<std::int64_t>(1, size.k));  // nanoseconds
  for_blocks(size.m, std::min(rows_at_once, grain_for(row)),
             [&](std::int64_t first, std::int64_t last) { plain_rows(size, first, last, a, b, c); });
}

/// The leading dimension of a matrix of one row is arbitrary.
MatmulSize with_valid_leading_dimensions(MatmulSize size) {
  size.lda = std::max(size.lda, std::max<std::int64_t>(1, size.transpose_a ? size.m : size.k));
  size.ldb = std::max(size.ldb, std::max<std::int64_t>(1, size.transpose_b ? size.k : size.n));
  return size;
}

template <class T>
void products(const MatmulSize& size, std::span<const void* const> a, std::span<const void* const> b,
              T* out) {
  const std::int64_t multiplications = size.m * size.n * size.k;
  // A large product uses all threads; each thread takes some of the small ones.
  const std::int64_t grain = multiplications >= large || a.size() == 1
                                 ? static_cast<std::int64_t>(a.size())
                                 : grain_for(static_cast<double>(multiplications) / 50 + 50);
  for_blocks(static_cast<std::int64_t>(a.size()), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      product(size, static_cast<const T*>(a[at]), static_cast<const T*>(b[at]), out + i * size.m * size.n);
    }
  });
}

}  // namespace

void matmul(DType dtype, const MatmulSize& asked, std::span<const void* const> a,
            std::span<const void* const> b, void* out) {
  if (asked.m == 0 || asked.n == 0 || a.empty()) return;
  const MatmulSize size = with_valid_leading_dimensions(asked);
  const bool inner_product = size.m == 1 && size.n == 1 && (!size.transpose_a || size.lda == 1) &&
                             (size.transpose_b || size.ldb == 1);
  if (inner_product && a.size() == 1) return dot(dtype, a[0], b[0], size.k, out);
  switch (dtype) {
    case DType::int32:
      return products(size, a, b, static_cast<std::uint32_t*>(out));
    case DType::int64:
      return products(size, a, b, static_cast<std::uint64_t*>(out));
    case DType::float32:
      return products(size, a, b, static_cast<float*>(out));
    case DType::float64:
      return products(size, a, b, static_cast<double*>(out));
    default:
      fail<UnimplementedError>("matmul: no kernel for ", dtype_name(dtype));
  }
}

}  // namespace tapedeck::cpu
