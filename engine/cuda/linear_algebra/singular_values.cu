// Singular values, and the inverse that is made of them. cuSOLVER decomposes M = P·diag(s)·Qᵀ with at least
// as many rows as columns: A, or its transpose, which a row-major wide matrix is to it already.
#include <algorithm>

#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/linear_algebra/matrix_layouts.h"
#include "engine/cuda/linear_algebra/solvers.h"
#include "engine/cuda/products/products.h"

namespace tapedeck::cuda {
namespace {

/// The larger and the smaller extent; `columns`: of P that are wanted, `given`: of those that cuSOLVER makes.
struct Extents2 {
  std::int64_t count, large, small, columns, given;
  bool tall;  ///< M is A: P is U and Q is V; else P is V and Q is U
};

/// U's vectors say which sign both have; the columns of P that no singular value belongs to, their own.
template <class T>
void find_both_signs(const Extents2& of, const T* p, const T* q, const T* scales, T* signs) {
  const Vectors<T> of_p{p, of.columns, of.large, of.large, 1, of.large * of.given};
  const Vectors<T> of_q{q, of.small, of.small, 1, of.small, of.small * of.small};
  if (of.tall) return find_signs(of.count, of_p, 0, scales, of.columns, signs);
  find_signs(of.count, of_q, 0, scales, of.columns, signs);
  if (of.columns > of.small) find_signs(of.count, of_p, of.small, scales, of.columns, signs);
}

template <class T>
void decompose(const Extents2& of, const T* a, T* s, T* u, T* v) {
  const std::int64_t count = of.count, large = of.large, small = of.small, size = large * small;
  const Scratch scales(bytes_of(count, sizeof(T))), work(bytes_of(count * size, sizeof(T)));
  find_scales(count, size, small, false, a, scales.as<T>());
  if (of.tall)
    copy_transposed<T>(count, large, small, {a, small, size}, {work.as<T>(), large, size}, scales.as<T>());
  else
    divide_by_scales(count, size, a, scales.as<T>(), work.as<T>());
  if (!u) {
    factor_singular<T>(count, large, small, false, work.as<T>(), s, {});
    return multiply_by_scales(count, small, scales.as<T>(), s);
  }
  T* const to_p = of.tall ? u : v;
  T* const to_q = of.tall ? v : u;
  const bool whole = gives_whole_vectors(count, large);
  const Scratch p(bytes_of(count * large * of.given, sizeof(T)));
  const Scratch q(whole ? bytes_of(count * small * small, sizeof(T)) : 0);
  const Scratch signs(bytes_of(count * of.columns, sizeof(T)));
  // Column-major, Qᵀ is the row-major Q.
  factor_singular<T>(count, large, small, of.given > small, work.as<T>(), s,
                     {p.as<T>(), q.as<T>(), whole ? nullptr : to_q});
  if (whole)
    copy_transposed<T>(count, small, small, {q.as<T>(), small, small * small}, {to_q, small, small * small});
  multiply_by_scales(count, small, scales.as<T>(), s);
  find_both_signs<T>(of, p.as<T>(), to_q, scales.as<T>(), signs.as<T>());
  multiply_columns(count, small, small, signs.as<T>(), of.columns, to_q);
  copy_transposed<T>(count, of.columns, large, {p.as<T>(), large, large * of.given},
                     {to_p, of.columns, large * of.columns}, nullptr, signs.as<T>());
}

template <class T>
void decompose(const kernels::Matrices& of, bool full, const T* a, T* s, T* u, T* v) {
  const std::int64_t large = std::max(of.rows, of.columns), small = std::min(of.rows, of.columns);
  const std::int64_t columns = full ? large : small;
  const std::int64_t given = gives_whole_vectors(of.count, large) ? large : columns;
  decompose({of.count, large, small, columns, given, of.rows >= of.columns}, a, s, u, v);
}

/// v becomes v·diag(s)⁻¹, and 0 where s is small beside the largest.
template <class T>
__global__ void invert_values_kernel(std::int64_t elements, std::int64_t n, std::int64_t k, double rcond,
                                     const T* s, T* v) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count()) {
    const T* values = s + i / (n * k) * k;
    const T value = values[i % k], limit = static_cast<T>(rcond) * values[0];
    v[i] = value != value ? value : value > limit ? v[i] / value : T(0);
  }
}

}  // namespace

void svd(const Matrices& of, bool full, const void* a, void* s, void* u, void* v) {
  visit_real(of.dtype, [&]<class T>(T) {
    if (of.count == 0) return;
    if (of.rows == 0 || of.columns == 0) {
      if (!u || !full) return;
      set_identity(of.count, of.rows, of.rows, static_cast<T*>(u));
      return set_identity(of.count, of.columns, of.columns, static_cast<T*>(v));
    }
    decompose(of, full, static_cast<const T*>(a), static_cast<T*>(s), static_cast<T*>(u), static_cast<T*>(v));
  });
}

void pseudo_inverse(const Matrices& of, double rcond, const void* a, void* out) {
  const std::int64_t m = of.rows, n = of.columns, k = std::min(m, n);
  if (of.count == 0 || k == 0) return;
  visit_real(of.dtype, [&]<class T>(T) {
    const Scratch s(bytes_of(of.count * k, sizeof(T)));
    const Scratch u(bytes_of(of.count * m * k, sizeof(T))), v(bytes_of(of.count * n * k, sizeof(T)));
    decompose(of, false, static_cast<const T*>(a), s.as<T>(), u.as<T>(), v.as<T>());
    launch("pinv", grid_for(of.count * n * k), invert_values_kernel<T>, of.count * n * k, n, k, rcond,
           s.as<T>(), v.as<T>());
    multiply({.dtype = of.dtype,
              .m = n,
              .n = m,
              .k = k,
              .transpose_b = true,
              .lda = k,
              .ldb = k,
              .ldc = m,
              .batch = of.count,
              .a_step = n * k,
              .b_step = m * k,
              .out_step = n * m},
             v.data(), u.data(), out);
  });
}

}  // namespace tapedeck::cuda
