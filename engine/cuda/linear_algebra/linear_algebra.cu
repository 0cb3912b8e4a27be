// Cholesky's decomposition, LU, and what is computed from it. The triangles of a row-major matrix are the
// other triangles of cuSOLVER's, which is its transpose; and A·X = B is to it Xᵀ·Aᵀ = Bᵀ, which it solves
// from the right. So only a matrix whose rows are exchanged has to be transposed, when it is copied.
#include <cmath>
#include <limits>

#include "engine/cuda/block_sums.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/linear_algebra/matrix_layouts.h"
#include "engine/cuda/linear_algebra/solvers.h"
#include "engine/cuda/loops/matrix_failures.h"

namespace tapedeck::cuda {
namespace {

/// A block for each matrix of which cuSOLVER says that its leading part of order `info` is not positive
/// definite; the rows above that are right. Makes the rest of the columns before the pivot, and the pivot
/// itself: one that is not positive is reported, and behind one that is NaN all is NaN, as on the CPU.
template <class T>
__global__ void finish_cholesky_kernel(std::int64_t count, std::int64_t n, const int* info, const T* a, T* l,
                                       Report report) {
  __shared__ T shared_pivot;
  for (std::int64_t matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    if (info[matrix] == 0) continue;
    const std::int64_t k = info[matrix] - 1;
    const T* from = a + matrix * n * n;
    T* to = l + matrix * n * n;
    for (std::int64_t i = k + threadIdx.x; i < n; i += blockDim.x)
      for (std::int64_t j = 0; j < k; ++j) {
        T value = from[i * n + j];
        for (std::int64_t p = 0; p < j; ++p) value -= to[i * n + p] * to[j * n + p];
        to[i * n + j] = value / to[j * n + j];
      }
    if (threadIdx.x == 0) {
      T pivot = from[k * n + k];
      for (std::int64_t p = 0; p < k; ++p) pivot -= to[k * n + p] * to[k * n + p];
      shared_pivot = pivot;
      // The library's own sum may round to the other side of 0.
      if (pivot == pivot) report(matrix, k, pivot > T(0) ? 0.0 : static_cast<double>(pivot));
    }
    __syncthreads();
    const T pivot = shared_pivot;
    for (std::int64_t i = k + threadIdx.x; i < n; i += blockDim.x)
      for (std::int64_t j = k; j <= i; ++j) to[i * n + j] = pivot != pivot ? pivot : T(0);
    __syncthreads();
  }
}

/// Row i of out is row orders[i] of b or, the other way round, row orders[i] of out row i of b. Where b is
/// nullptr, that of the identity.
template <bool back, class T>
__global__ void order_rows_kernel(std::int64_t elements, std::int64_t rows, std::int64_t columns,
                                  const std::int64_t* orders, const T* b, T* out) {
  for (std::int64_t element = thread_number(); element < elements; element += thread_count()) {
    const std::int64_t line = element / columns, j = element - line * columns;
    const std::int64_t first = line / rows * rows;  // of the matrix's rows
    const std::int64_t other = first + orders[line], from = back ? line : other, to = back ? other : line;
    out[to * columns + j] = b ? b[from * columns + j] : from - first == j ? T(1) : T(0);
  }
}

/// A matrix that holds NaN has an LU of which not all need be NaN, but its inverse is.
template <class T>
__global__ void spread_nan_kernel(std::int64_t count, std::int64_t n, std::int64_t size, const T* a, T* out) {
  for (std::int64_t matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    int holds = 0;
    for (std::int64_t i = threadIdx.x; i < n * n; i += blockDim.x)
      holds |= a[matrix * n * n + i] != a[matrix * n * n + i];
    if (!__syncthreads_or(holds)) continue;
    for (std::int64_t i = threadIdx.x; i < size; i += blockDim.x)
      out[matrix * size + i] = std::numeric_limits<T>::quiet_NaN();
  }
}

/// Behind a NaN all of an elimination is NaN, at least the last pivot. cuSOLVER may skip NaN as it looks for
/// pivots, or say that it is 0: where a matrix holds NaN up to the column of a pivot that is 0, or anywhere,
/// it is not singular, and its LU is NaN.
template <class T>
__global__ void keep_nan_kernel(std::int64_t count, std::int64_t n, const T* a, T* packed, int* info) {
  for (std::int64_t matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    const T last = packed[(matrix + 1) * n * n - 1];
    const std::int64_t columns = info[matrix] == 0 ? n : info[matrix];
    int holds = 0;
    if (info[matrix] != 0 || last == last)
      for (std::int64_t i = threadIdx.x; i < n * columns; i += blockDim.x) {
        const T value = a[matrix * n * n + i / columns * n + i % columns];
        holds |= value != value;
      }
    if (!__syncthreads_or(holds)) continue;
    for (std::int64_t i = threadIdx.x; i < n * n; i += blockDim.x)
      packed[matrix * n * n + i] = std::numeric_limits<T>::quiet_NaN();
    if (threadIdx.x == 0) info[matrix] = 0;
  }
}

/// A block for each matrix; its first thread takes the pivots one after the other, as the CPU does. NaN in
/// `a` makes NaN, though the elimination may have left it beside a pivot of 0.
template <bool logarithm, class T>
__global__ void determinants_kernel(std::int64_t count, std::int64_t n, const T* a, const T* packed,
                                    const int* signs, T* out, T* log) {
  __shared__ T pivots[256];
  __shared__ int nans;
  for (std::int64_t matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    if (threadIdx.x == 0) nans = 0;
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < n * n; i += blockDim.x)
      if (std::isnan(a[matrix * n * n + i])) atomicExch(&nans, 1);
    T product = static_cast<T>(signs[matrix]), sum = T(0);
    for (std::int64_t first = 0; first < n; first += blockDim.x) {
      if (first + threadIdx.x < n)
        pivots[threadIdx.x] = packed[matrix * n * n + (first + threadIdx.x) * (n + 1)];
      __syncthreads();
      for (std::int64_t i = 0; threadIdx.x == 0 && i < blockDim.x && first + i < n; ++i) {
        const T pivot = pivots[i];
        if constexpr (logarithm) {
          sum += std::log(std::fabs(pivot));
          product = pivot == T(0)  ? std::fabs(product * T(0))
                    : pivot < T(0) ? -product
                    : pivot > T(0) ? product
                                   : pivot;
        } else {
          product *= pivot;
        }
      }
      __syncthreads();
    }
    if (threadIdx.x != 0) continue;
    if (nans != 0) product = sum = std::numeric_limits<T>::quiet_NaN();
    out[matrix] = logarithm && product == T(0) ? T(0) : product;
    if constexpr (logarithm) log[matrix] = sum;
  }
}

/// A block for each matrix: one whose diagonal holds a 0 is reported.
template <class T>
__global__ void zero_diagonal_kernel(std::int64_t count, std::int64_t n, const T* a, int* info) {
  for (std::int64_t matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    __shared__ int first;
    if (threadIdx.x == 0) first = static_cast<int>(n);
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x)
      if (a[matrix * n * n + i * (n + 1)] == T(0)) atomicMin(&first, static_cast<int>(i));
    __syncthreads();
    if (threadIdx.x == 0) info[matrix] = first == n ? 0 : first + 1;
    __syncthreads();
  }
}

/// The LU of a batch of matrices, column-major, in separate memory.
template <class T>
struct Lu {
  std::int64_t count, n;
  Scratch packed_memory, orders_memory, signs_memory, info_memory;
  T* packed = packed_memory.template as<T>();
  std::int64_t* orders = orders_memory.template as<std::int64_t>();
  int* signs = signs_memory.template as<int>();
  int* info = info_memory.template as<int>();

  Lu(std::int64_t matrices, std::int64_t extent, const void* a)
      : count(matrices),
        n(extent),
        packed_memory(bytes_of(count * n * n, sizeof(T))),
        orders_memory(bytes_of(count * n, sizeof(std::int64_t))),
        signs_memory(bytes_of(count, sizeof(int))),
        info_memory(bytes_of(count, sizeof(int))) {
    copy_transposed<T>(count, n, n, {static_cast<const T*>(a), n, n * n}, {packed, n, n * n});
    factor_lu(count, n, packed, orders, signs, info);
    launch("lu", grid_of_rows(count, n * n), keep_nan_kernel<T>, count, n, static_cast<const T*>(a), packed,
           info);
  }

  /// op(A)·x = b of row-major n × m matrices; b = nullptr: the identity.
  void solve(bool transposed, std::int64_t m, const T* b, T* x) const {
    const std::int64_t elements = count * n * m;
    if (!transposed) {  // L·U·x = b in the order of the rows
      launch("order_rows", grid_for(elements), order_rows_kernel<false, T>, elements, n, m, orders, b, x);
      solve_from_the_right(count, m, n, {.lower = true, .unit = true, .transposed = true}, packed, x);
      solve_from_the_right(count, m, n, {.lower = false, .unit = false, .transposed = true}, packed, x);
      return;
    }
    const Scratch ordered(bytes_of(elements, sizeof(T)));
    T* const y = ordered.as<T>();
    if (b)
      copy_within(b, y, bytes_of(elements, sizeof(T)));
    else
      set_identity(count, n, m, y);
    solve_from_the_right(count, m, n, {.lower = false, .unit = false, .transposed = false}, packed, y);
    solve_from_the_right(count, m, n, {.lower = true, .unit = true, .transposed = false}, packed, y);
    launch("order_rows", grid_for(elements), order_rows_kernel<true, T>, elements, n, m, orders,
           static_cast<const T*>(y), x);
  }
};

/// For matrices a of n × n and right sides of n × m.
void solve_by_lu(DType dtype, std::int64_t count, std::int64_t n, std::int64_t m, bool transposed,
                 const void* a, const void* b, void* x, const FailureText& text) {
  if (count == 0 || n == 0) return;
  visit_real(dtype, [&]<class T>(T) {
    const Lu<T> lu(count, n, a);
    report_failures(count, lu.info, text);
    if (m == 0) return;
    lu.solve(transposed, m, static_cast<const T*>(b), static_cast<T*>(x));
    launch("spread_nan", grid_of_rows(count, n * n), spread_nan_kernel<T>, count, n, n * m,
           static_cast<const T*>(a), static_cast<T*>(x));
  });
}

template <bool logarithm, class T>
void make_determinants(const Matrices& of, const void* a, void* out, void* log) {
  if (of.count == 0) return;
  if (of.rows == 0) {  // an empty product
    set_identity(of.count, 1, 1, static_cast<T*>(out));
    if (logarithm) check(cudaMemsetAsync(log, 0, bytes_of(of.count, sizeof(T)), stream()), "determinant");
    return;
  }
  const Lu<T> lu(of.count, of.rows, a);
  launch("determinant", {.blocks = of.count, .threads = 256, .cooperation = Cooperation::block},
         determinants_kernel<logarithm, T>, of.count, of.rows, static_cast<const T*>(a),
         static_cast<const T*>(lu.packed), lu.signs, static_cast<T*>(out), static_cast<T*>(log));
}

}  // namespace

std::optional<MatrixFailure> cholesky(const Matrices& of, const void* a, void* l, const FailureText& text) {
  const std::int64_t n = of.rows;
  if (of.count == 0 || n == 0) return {};
  visit_real(of.dtype, [&]<class T>(T) {
    const Scratch info(bytes_of(of.count, sizeof(int)));
    copy_within(a, l, bytes_of(of.count * n * n, sizeof(T)));
    factor_cholesky(of.count, n, static_cast<T*>(l), info.as<int>());
    launch("cholesky", grid_of_rows(of.count, n), finish_cholesky_kernel<T>, of.count, n, info.as<int>(),
           static_cast<const T*>(a), static_cast<T*>(l), report_of(text));
    band_part(sizeof(T), l, of.count, n, n, n, 0, l);
  });
  return {};
}

std::optional<MatrixFailure> lu(const Matrices& of, const void* a, void* packed, DType orders, void* order,
                                const FailureText& text) {
  const std::int64_t n = of.rows;
  if (of.count == 0 || n == 0) return {};
  visit_real(of.dtype, [&]<class T>(T) {
    const Lu<T> lu(of.count, n, a);
    report_failures(of.count, lu.info, text);
    copy_transposed<T>(of.count, n, n, {lu.packed, n, n * n}, {static_cast<T*>(packed), n, n * n});
    if (orders == DType::int64)
      copy_within(lu.orders, order, bytes_of(of.count * n, sizeof(std::int64_t)));
    else
      cast(DType::int64, orders, kernels::Operand{lu.orders, Strides{1}}, order, Shape{of.count * n});
  });
  return {};
}

std::optional<MatrixFailure> inverse(const Matrices& of, bool transposed, const void* a, void* out,
                                     const FailureText& text) {
  solve_by_lu(of.dtype, of.count, of.rows, of.rows, transposed, a, nullptr, out, text);
  return {};
}

std::optional<MatrixFailure> solve(const Matrices& of, bool transposed, const void* a, const void* b, void* x,
                                   const FailureText& text) {
  solve_by_lu(of.dtype, of.count, of.rows, of.columns, transposed, a, b, x, text);
  return {};
}

std::optional<MatrixFailure> triangular_solve(const Matrices& of, bool lower, bool transposed, const void* a,
                                              const void* b, void* x, const FailureText& text) {
  const std::int64_t n = of.rows, m = of.columns;
  if (of.count == 0 || n == 0) return {};
  visit_real(of.dtype, [&]<class T>(T) {
    const Scratch info(bytes_of(of.count, sizeof(int)));
    launch("triangular_solve", grid_of_rows(of.count, n), zero_diagonal_kernel<T>, of.count, n,
           static_cast<const T*>(a), info.as<int>());
    report_failures(of.count, info.as<int>(), text);
    if (m == 0) return;
    copy_within(b, x, bytes_of(of.count * n * m, sizeof(T)));
    solve_from_the_right(of.count, m, n, {.lower = !lower, .unit = false, .transposed = transposed},
                         static_cast<const T*>(a), static_cast<T*>(x));
  });
  return {};
}

void determinant(const Matrices& of, const void* a, void* out) {
  visit_real(of.dtype, [&]<class T>(T) { make_determinants<false, T>(of, a, out, nullptr); });
}

void log_determinant(const Matrices& of, const void* a, void* sign, void* log) {
  visit_real(of.dtype, [&]<class T>(T) { make_determinants<true, T>(of, a, sign, log); });
}

}  // namespace tapedeck::cuda
