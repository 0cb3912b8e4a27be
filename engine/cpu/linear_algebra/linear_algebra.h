// Decompositions and inverses of one matrix, in blocks, between which a user's interrupt takes effect: each
// may throw what check_stop() throws, and then leaves its results undefined. Matrices are contiguous,
// row-major; T is float or double. A matrix that holds NaN or ∞ gives NaN unless stated otherwise.
#pragma once

#include <cstdint>

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

/// a = l·lᵀ with l lower triangular. Reads the lower triangle of a. Fails on a pivot that is not positive.
template <class T>
NumericalFailure cholesky(std::int64_t n, const T* a, T* l);

/// out = a⁻¹ (transposed: (aᵀ)⁻¹), by LU with partial pivoting. Fails on a pivot of 0.
template <class T>
NumericalFailure inverse(std::int64_t n, bool transposed, const T* a, T* out);
/// a·x = b (transposed: aᵀ·x = b) for n × m matrices b and x; fails as above.
template <class T>
NumericalFailure solve(std::int64_t n, std::int64_t m, bool transposed, const T* a, const T* b, T* x);
/// The same for a triangular a, of which only that triangle is read. Fails on a 0 on the diagonal.
template <class T>
NumericalFailure triangular_solve(std::int64_t n, std::int64_t m, bool lower, bool transposed, const T* a,
                                  const T* b, T* x);
template <class T>
T determinant(std::int64_t n, const T* a);
/// det a = sign·e^log; 0 and −∞ for a singular matrix.
template <class T>
void log_determinant(std::int64_t n, const T* a, T* sign, T* log);

/// The cofactors of a, which is det(a)·a⁻ᵀ where a has an inverse, and exists everywhere: for a matrix of
/// rank n − 1 it has rank 1, for lower rank it is 0. As exact near singular matrices as elsewhere.
template <class T>
void cofactor(std::int64_t n, const T* a, T* out);
/// The derivative of the cofactors at a in a direction, an n × n matrix; exact everywhere, too.
template <class T>
void cofactor_derivative(std::int64_t n, const T* a, const T* direction, T* out);

/// a = P·l·u by partial pivoting: `packed` has u and, below its diagonal, l, whose own diagonal is 1; row i
/// of l·u is row order[i] of a. Fails on a pivot of 0.
template <class T>
NumericalFailure lu(std::int64_t n, const T* a, T* packed, std::int64_t* order);

/// a (m × n) = q·r by Householder's reflections; q has min(m, n) columns, or m where `full`, and r as many
/// rows.
template <class T>
void qr(std::int64_t m, std::int64_t n, bool full, const T* a, T* q, T* r);
/// a (m × n) = u·diag(s)·vᵀ, s descending; u and v have min(m, n) columns, or m and n where `full`. Both may
/// be null.
template <class T>
void svd(std::int64_t m, std::int64_t n, bool full, const T* a, T* s, T* u, T* v);
/// a = v·diag(e)·vᵀ, e ascending, of the symmetric matrix whose lower triangle a has. v may be null. False if
/// the iteration does not converge.
template <class T>
bool symmetric_eigen(std::int64_t n, const T* a, T* e, T* v);
/// The Moore–Penrose inverse, n × m; singular values up to `rcond`·the largest count as 0.
template <class T>
void pseudo_inverse(std::int64_t m, std::int64_t n, double rcond, const T* a, T* out);

/// out·out = a, the root whose eigenvalues lie in the right half-plane. False if there is no real one.
template <class T>
bool square_root(std::int64_t n, const T* a, T* out);
/// out = Σ aᵏ / k!
template <class T>
void exponential(std::int64_t n, const T* a, T* out);
/// exponential(out) = a, the logarithm whose eigenvalues have imaginary parts in (−π, π). False if there is
/// no real one.
template <class T>
bool logarithm(std::int64_t n, const T* a, T* out);

}  // namespace tapedeck::cpu
