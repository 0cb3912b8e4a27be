#include <cmath>
#include <numbers>

#include "engine/cpu/eigen_matrices.h"
#include "engine/cpu/linear_algebra.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <unsupported/Eigen/MatrixFunctions>
#pragma GCC diagnostic pop

namespace tapedeck::cpu {

template <class T>
bool square_root(std::int64_t n, const T* a, T* out) {
  if (n == 0) return true;
  if (!all_finite(a, n * n)) {
    fill_nan(out, n * n);
    return true;
  }
  // By the real Schur form: Higham 1987, Linear Algebra and its Applications 88/89.
  const Eigen::RealSchur<Matrix<T>> schur(Matrix<T>(read(a, n, n)));
  if (schur.info() != Eigen::Success) return false;
  Matrix<T> triangle = schur.matrixT();
  const T rounding = static_cast<T>(n) * std::numeric_limits<T>::epsilon() * triangle.cwiseAbs().maxCoeff();
  for (std::int64_t i = 0; i < n; ++i) {
    if (i + 1 < n && triangle(i + 1, i) != T(0)) {
      ++i;  // a pair of complex eigenvalues, which has a real root
    } else if (triangle(i, i) < T(0)) {
      if (triangle(i, i) < -rounding) return false;
      triangle(i, i) = T(0);
    }
  }
  Matrix<T> root = Matrix<T>::Zero(n, n);
  Eigen::matrix_sqrt_quasi_triangular(triangle, root);
  write(out, n, n) = schur.matrixU() * root * schur.matrixU().transpose();
  return all_finite(out, n * n);
}

template <class T>
void exponential(std::int64_t n, const T* a, T* out) {
  if (n == 0) return;
  if (!all_finite(a, n * n)) return fill_nan(out, n * n);
  const Matrix<T> matrix = read(a, n, n);
  write(out, n, n) = matrix.exp();  // scaling and squaring: Higham 2005, SIAM J. Matrix Anal. Appl. 26(4)
}

template <class T>
bool logarithm(std::int64_t n, const T* a, T* out) {
  if (n == 0) return true;
  if (!all_finite(a, n * n)) {
    fill_nan(out, n * n);
    return true;
  }
  // ln 2ᵉB = e·ln 2 + ln B: far from 1 Schur's form overflows, or finds nothing small enough.
  Matrix<T> matrix = read(a, n, n);
  int exponent = 0;
  std::frexp(matrix.cwiseAbs().maxCoeff(), &exponent);
  if (std::abs(exponent) <= 64) exponent = 0;
  matrix = matrix.unaryExpr([=](T value) { return std::ldexp(value, -exponent); });
  const Eigen::RealSchur<Matrix<T>> schur(matrix, false);
  if (schur.info() != Eigen::Success) return false;
  const Matrix<T>& triangle = schur.matrixT();
  for (std::int64_t i = 0; i < n; ++i) {
    if (i + 1 < n && triangle(i + 1, i) != T(0))
      ++i;  // a pair of complex eigenvalues, which has a real logarithm
    else if (triangle(i, i) <= T(0))
      return false;
  }
  // Eigen 3.4's complex Schur form reads a column before the first one where the first two rows take ten
  // steps (ComplexSchur::computeShift), as tiny numbers can: a row and a column of its own stand there.
  Matrix<T> bordered = Matrix<T>::Identity(n + 1, n + 1);
  bordered.bottomRightCorner(n, n) = matrix;
  // Schur's and Parlett's method with inverse scaling and squaring: Higham, Functions of Matrices (2008), 11.
  const Matrix<T> result = bordered.log();
  write(out, n, n) = result.bottomRightCorner(n, n) +
                     static_cast<T>(exponent) * std::numbers::ln2_v<T> * Matrix<T>::Identity(n, n);
  return all_finite(out, n * n);
}

template bool logarithm(std::int64_t, const float*, float*);
template bool logarithm(std::int64_t, const double*, double*);
template bool square_root(std::int64_t, const float*, float*);
template bool square_root(std::int64_t, const double*, double*);
template void exponential(std::int64_t, const float*, float*);
template void exponential(std::int64_t, const double*, double*);

}  // namespace tapedeck::cpu
