// Factorisations by cuSOLVER and cuBLAS, on the calling thread's stream. All matrices here are column-major,
// as LAPACK's (LAPACK Users' Guide, 3rd edition), one after another in the device's memory; T is float or
// double. `info`, one for each matrix, stays on the device.
//
// Large matrices, and few small ones, are processed one after another; many small ones by one batched call.
#pragma once

#include <cstdint>

namespace tapedeck::cuda {

/// The upper triangle becomes U with A = Uᵀ·U; the other triangle is unspecified. Info: i if the leading
/// minor of order i is not positive definite, else 0.
template <class T>
void factor_cholesky(std::int64_t count, std::int64_t n, T* a, int* info);

/// A becomes L, whose unit diagonal is not stored, and U: row i of L·U is row orders[i] of A. `signs`: of the
/// permutation. Info: i if pivot i, from 1, is the first that is 0; else 0.
template <class T>
void factor_lu(std::int64_t count, std::int64_t n, T* a, std::int64_t* orders, int* signs, int* info);

/// Which triangular matrix: op(A).
struct TriangleOf {
  bool lower, unit, transposed;
};
/// X = X·op(A)⁻¹ of m × n matrices X.
template <class T>
void solve_from_the_right(std::int64_t count, std::int64_t m, std::int64_t n, const TriangleOf& of,
                          const T* a, T* x);

/// A (m × n, `step` values apart) becomes R and, below its diagonal, the vectors of reflections I − τ·v·vᵀ;
/// taus: min(m, n) for each.
template <class T>
void factor_qr(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t step, T* a, T* taus);
/// The vectors of k reflections become the first `columns` columns of their product.
template <class T>
void form_q(std::int64_t count, std::int64_t m, std::int64_t columns, std::int64_t k, std::int64_t step, T* a,
            const T* taus);

/// Eigenvalues, ascending, of the symmetric matrices whose upper triangles are in A; with `vectors`, the
/// columns of A become the eigenvectors. Info: not 0 if the iteration did not converge.
template <class T>
void factor_symmetric(bool vectors, std::int64_t count, std::int64_t n, T* a, T* e, int* info);

/// A = U·diag(s)·Vᵀ of m × n matrices, m ≥ n; destroys A. U has m columns or, without `full`, n; V is n × n
/// and is returned as `v` or, if that is nullptr, as its transpose `vt`. If all three are nullptr, only s is
/// computed.
template <class T>
struct SingularVectors {
  T* u;
  T* v;
  T* vt;
};
/// Whether factor_singular returns V and all columns of U, instead of Vᵀ and the requested columns.
bool gives_whole_vectors(std::int64_t count, std::int64_t m);
template <class T>
void factor_singular(std::int64_t count, std::int64_t m, std::int64_t n, bool full, T* a, T* s,
                     const SingularVectors<T>& to);

}  // namespace tapedeck::cuda
