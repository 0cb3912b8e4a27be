// Decompositions, systems and functions of one complex matrix: as linear_algebra.h for real ones, with the
// conjugate transpose instead of the transpose. float32 is computed in float64.
#pragma once

#include <complex>
#include <cstdint>

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

/// a = l·lᴴ of the Hermitian matrix whose lower triangle a has; imaginary parts of its diagonal are not read.
template <class R>
NumericalFailure cholesky(std::int64_t n, const std::complex<R>* a, std::complex<R>* l);
template <class R>
NumericalFailure inverse(std::int64_t n, bool adjoint, const std::complex<R>* a, std::complex<R>* out);
template <class R>
NumericalFailure solve(std::int64_t n, std::int64_t m, bool adjoint, const std::complex<R>* a,
                       const std::complex<R>* b, std::complex<R>* x);
template <class R>
NumericalFailure triangular_solve(std::int64_t n, std::int64_t m, bool lower, bool adjoint,
                                  const std::complex<R>* a, const std::complex<R>* b, std::complex<R>* x);
template <class R>
std::complex<R> determinant(std::int64_t n, const std::complex<R>* a);
/// The sign has magnitude 1; the logarithm is real.
template <class R>
void log_determinant(std::int64_t n, const std::complex<R>* a, std::complex<R>* sign, std::complex<R>* log);
template <class R>
void cofactor(std::int64_t n, const std::complex<R>* a, std::complex<R>* out);
template <class R>
void cofactor_derivative(std::int64_t n, const std::complex<R>* a, const std::complex<R>* direction,
                         std::complex<R>* out);
template <class R>
NumericalFailure lu(std::int64_t n, const std::complex<R>* a, std::complex<R>* packed, std::int64_t* order);

/// The diagonal of r is real.
template <class R>
void qr(std::int64_t m, std::int64_t n, bool full, const std::complex<R>* a, std::complex<R>* q,
        std::complex<R>* r);
/// In each column of u the leading element (the first that is at least leading_share of the largest) is
/// positive.
template <class R>
void svd(std::int64_t m, std::int64_t n, bool full, const std::complex<R>* a, R* s, std::complex<R>* u,
         std::complex<R>* v);
/// e is real; the leading element of each column of v is positive.
template <class R>
bool symmetric_eigen(std::int64_t n, const std::complex<R>* a, std::complex<R>* e, std::complex<R>* v);
template <class R>
void pseudo_inverse(std::int64_t m, std::int64_t n, double rcond, const std::complex<R>* a,
                    std::complex<R>* out);

/// a·v = v·diag(e) of any square matrix, T real or complex: columns of length 1 with a positive leading
/// element, in the order in which the iteration finds them. v may be null. False if the iteration does not
/// converge.
template <class R, class T>
bool general_eigen(std::int64_t n, const T* a, std::complex<R>* e, std::complex<R>* v);

/// False if an eigenvalue 0 has no root.
template <class R>
bool square_root(std::int64_t n, const std::complex<R>* a, std::complex<R>* out);
template <class R>
void exponential(std::int64_t n, const std::complex<R>* a, std::complex<R>* out);
/// False if an eigenvalue is 0.
template <class R>
bool logarithm(std::int64_t n, const std::complex<R>* a, std::complex<R>* out);

}  // namespace tapedeck::cpu
