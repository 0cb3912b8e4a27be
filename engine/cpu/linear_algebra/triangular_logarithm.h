// The logarithm of a triangular matrix.
#pragma once

#include <complex>
#include <optional>

#include "engine/cpu/linear_algebra/eigen_matrices.h"

namespace tapedeck::cpu {

using ComplexMatrix = Matrix<std::complex<double>>;

/// The principal logarithm of an upper triangular matrix whose diagonal holds no 0 and no negative number, by
/// inverse scaling and squaring: A. H. Al-Mohy and N. J. Higham, "Improved inverse scaling and squaring
/// algorithms for the matrix logarithm", SIAM J. Sci. Comput. 34(4), 2012, algorithm 4.1. Empty if an
/// intermediate result overflows.
std::optional<ComplexMatrix> logarithm_of_triangle(const ComplexMatrix& t);

}  // namespace tapedeck::cpu
