// The exponential of a matrix.
#pragma once

#include "engine/cpu/linear_algebra/eigen_matrices.h"

namespace tapedeck::cpu {

/// Σ Aᵏ / k! of a square matrix of finite numbers, by scaling and squaring, scaled no more than the powers of
/// A require: A. H. Al-Mohy and N. J. Higham, "A New Scaling and Squaring Algorithm for the Matrix
/// Exponential", SIAM J. Matrix Anal. Appl. 31(3), 2009, algorithm 5.1.
Matrix<double> exponential_of(const Matrix<double>& a);

}  // namespace tapedeck::cpu
