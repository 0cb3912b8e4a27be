#include "engine/cpu/matmul.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <type_traits>

#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/one_openmp_thread.h"
#include "engine/cpu/reduce.h"
#include "engine/tensor/error.h"

namespace tapedeck::cpu {
namespace {

constexpr double tile_operations = 8e6;         ///< about 30 µs: worth a thread
constexpr double most_tile_operations = 4e9;    ///< about 20 ms: soon enough for an interrupt
constexpr std::int64_t most_parts = 16;         ///< more would pack the other matrix too often
constexpr std::int64_t tiny_operations = 4096;  ///< below, a library's set-up costs more than the product

struct Tiles {
  std::int64_t rows, columns;
};

Tiles choose_tiles(const MatmulSize& size) {
  Tiles tile{std::min<std::int64_t>(size.m, 256), size.n};
  const auto operations = [&] {
    return 2.0 * static_cast<double>(tile.rows) * static_cast<double>(tile.columns) *
           static_cast<double>(size.k);
  };
  const auto parts = [&] {
    return ((size.m + tile.rows - 1) / tile.rows) * ((size.n + tile.columns - 1) / tile.columns);
  };
  while (tile.rows > 32 && operations() > 2 * tile_operations && parts() < most_parts)
    tile.rows = (tile.rows + 1) / 2;
  while (tile.columns > 256 && operations() > 2 * tile_operations && parts() < most_parts)
    tile.columns = (tile.columns / 2 + 63) / 64 * 64;
  while (operations() > most_tile_operations && (tile.rows > 32 || tile.columns > 64)) {
    if (tile.columns > 64 && tile.columns >= tile.rows)
      tile.columns = std::max<std::int64_t>(64, (tile.columns / 2 + 63) / 64 * 64);
    else if (tile.rows > 32)
      tile.rows = (tile.rows + 1) / 2;
    else
      tile.columns = 64;
  }
  return tile;
}

/// Sums over k in order, in T (unsigned for integers, so that overflow wraps around).
template <class T>
void plain_product(const MatmulSize& size, std::int64_t m, std::int64_t n, const T* a, const T* b, T* c) {
  const std::int64_t a_row = size.transpose_a ? 1 : size.lda;
  const std::int64_t a_step = size.transpose_a ? size.lda : 1;
  const std::int64_t b_row = size.transpose_b ? 1 : size.ldb;
  const std::int64_t b_step = size.transpose_b ? size.ldb : 1;
  for (std::int64_t i = 0; i < m; ++i) {
    T* out = c + i * size.n;
    std::fill_n(out, n, T(0));
    for (std::int64_t p = 0; p < size.k; ++p) {
      const T left = a[i * a_row + p * a_step];
      const T* right = b + p * b_row;
      for (std::int64_t j = 0; j < n; ++j) out[j] = static_cast<T>(out[j] + left * right[j * b_step]);
    }
  }
}

void product(const MatmulSize& size, std::int64_t m, std::int64_t n, const float* a, const float* b,
             float* c) {
  MatmulSize part = size;
  part.m = m;
  part.n = n;
  sgemm(part, a, b, false, c, size.n);
}

void product(const MatmulSize& size, std::int64_t m, std::int64_t n, const double* a, const double* b,
             double* c) {
  loops().gemm(size.transpose_a, size.transpose_b, m, n, size.k, a, size.lda, b, size.ldb, c, size.n);
}

/// oneDNN and Eigen take leading dimensions of at least the row's length; a matrix of one row may say
/// anything.
MatmulSize with_valid_leading_dimensions(MatmulSize size) {
  size.lda = std::max(size.lda, std::max<std::int64_t>(1, size.transpose_a ? size.m : size.k));
  size.ldb = std::max(size.ldb, std::max<std::int64_t>(1, size.transpose_b ? size.k : size.n));
  return size;
}

template <class T>
void matmul_typed(const MatmulSize& size, std::span<const void* const> a, std::span<const void* const> b,
                  T* out) {
  const std::int64_t batches = static_cast<std::int64_t>(a.size());
  const bool tiny = size.m * size.n * size.k <= tiny_operations || !std::is_floating_point_v<T>;
  const Tiles tile = choose_tiles(size);
  const std::int64_t row_tiles = (size.m + tile.rows - 1) / tile.rows;
  const std::int64_t column_tiles = (size.n + tile.columns - 1) / tile.columns;
  const double operations =
      2.0 * static_cast<double>(tile.rows) * static_cast<double>(tile.columns) * static_cast<double>(size.k);
  const auto grain = static_cast<std::int64_t>(std::max(1.0, tile_operations / std::max(1.0, operations)));
  for_blocks(batches * row_tiles * column_tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t batch = task / (row_tiles * column_tiles);
      const std::int64_t row = task / column_tiles % row_tiles * tile.rows;
      const std::int64_t column = task % column_tiles * tile.columns;
      const std::int64_t m = std::min(tile.rows, size.m - row);
      const std::int64_t n = std::min(tile.columns, size.n - column);
      const T* left = static_cast<const T*>(a[batch]) + row * (size.transpose_a ? 1 : size.lda);
      const T* right = static_cast<const T*>(b[batch]) + column * (size.transpose_b ? size.ldb : 1);
      T* target = out + (batch * size.m + row) * size.n + column;
      if constexpr (std::is_floating_point_v<T>) {
        if (!tiny) {
          product(size, m, n, left, right, target);
          continue;
        }
      }
      plain_product(size, m, n, left, right, target);
    }
  });
}

}  // namespace

void sgemm(const MatmulSize& size, const float* a, const float* b, bool add, float* c, std::int64_t ldc) {
  const OneOpenMpThread one_thread;
  const dnnl_status_t status =
      dnnl_sgemm(size.transpose_a ? 'T' : 'N', size.transpose_b ? 'T' : 'N', size.m, size.n, size.k, 1.0F, a,
                 size.lda, b, size.ldb, add ? 1.0F : 0.0F, c, ldc);
  if (status != dnnl_success)
    fail<Error>("matmul: oneDNN refused a product of (", size.m, ", ", size.k, ") and (", size.k, ", ",
                size.n, "), status ", static_cast<int>(status));
}

void matmul(DType dtype, const MatmulSize& asked, std::span<const void* const> a,
            std::span<const void* const> b, void* out) {
  if (asked.m == 0 || asked.n == 0 || a.empty()) return;
  const MatmulSize size = with_valid_leading_dimensions(asked);
  const bool inner_product = size.m == 1 && size.n == 1 && (!size.transpose_a || size.lda == 1) &&
                             (size.transpose_b || size.ldb == 1);
  if (inner_product && a.size() == 1) return dot(dtype, a[0], b[0], size.k, out);
  switch (dtype) {
    case DType::int32:
      return matmul_typed(size, a, b, static_cast<std::uint32_t*>(out));
    case DType::int64:
      return matmul_typed(size, a, b, static_cast<std::uint64_t*>(out));
    case DType::float32:
      return matmul_typed(size, a, b, static_cast<float*>(out));
    case DType::float64:
      return matmul_typed(size, a, b, static_cast<double*>(out));
    default:
      fail<UnimplementedError>("matmul: no kernel for ", dtype_name(dtype));
  }
}

}  // namespace tapedeck::cpu
