// Interruptible matrices for Eigen's algorithms, and interruptible products and solves.
#pragma once

#include <algorithm>
#include <complex>

#include "engine/cpu/linear_algebra/blocked.h"
#include "engine/cpu/linear_algebra/eigen_matrices.h"
#include "engine/cpu/parallel.h"

namespace tapedeck::cpu {

/// A matrix that checks for an interrupt whenever a row, column or block is accessed, which Eigen's loops do
/// in every step. An exception leaks nothing: matrices free themselves.
template <class Scalar>
class WatchedMatrix : public Matrix<Scalar> {
 public:
  using Base = Matrix<Scalar>;
  using Index = Eigen::Index;
  using Base::Base;
  using Base::operator=;
  WatchedMatrix() = default;
  WatchedMatrix(const Base& matrix) : Base(matrix) {}

  auto row(Index i) { return check_stop(), Base::row(i); }
  auto row(Index i) const { return check_stop(), Base::row(i); }
  auto block(Index i, Index j, Index rows, Index columns) {
    return check_stop(), Base::block(i, j, rows, columns);
  }
  auto block(Index i, Index j, Index rows, Index columns) const {
    return check_stop(), Base::block(i, j, rows, columns);
  }
  template <int rows, int columns>
  auto block(Index i, Index j) {
    return check_stop(), Base::template block<rows, columns>(i, j);
  }
  template <int rows, int columns>
  auto block(Index i, Index j) const {
    return check_stop(), Base::template block<rows, columns>(i, j);
  }
};

/// a·b
inline Matrix<double> product(const Matrix<double>& a, const Matrix<double>& b) {
  check_stop();
  Matrix<double> c(a.rows(), b.cols());
  // Column-major storage is the transposed matrix in row-major order: cᵀ = bᵀ·aᵀ.
  set_product<double>(Sides::as_they_are, {b.data(), b.cols(), b.rows(), b.rows()},
                      {a.data(), a.cols(), a.rows(), a.rows()}, {c.data(), c.cols(), c.rows(), c.rows()});
  return c;
}
inline Matrix<std::complex<double>> product(const Matrix<std::complex<double>>& a,
                                            const Matrix<std::complex<double>>& b) {
  const Matrix<double> real_a = a.real(), imaginary_a = a.imag(), real_b = b.real(), imaginary_b = b.imag();
  Matrix<std::complex<double>> c(a.rows(), b.cols());
  c.real() = product(real_a, real_b) - product(imaginary_a, imaginary_b);
  c.imag() = product(real_a, imaginary_b) + product(imaginary_a, real_b);
  return c;
}

/// a⁻¹·b for an upper triangular a, some columns at a time.
template <class Scalar>
Matrix<Scalar> solve_upper(const Matrix<Scalar>& a, const Matrix<Scalar>& b) {
  Matrix<Scalar> x(b.rows(), b.cols());
  const Eigen::Index at_once =
      std::clamp<Eigen::Index>((1 << 24) / std::max<Eigen::Index>(1, a.rows() * a.rows()), 1, 64);
  for (Eigen::Index j = 0; j < b.cols(); j += at_once) {
    check_stop();
    const Eigen::Index count = std::min(at_once, b.cols() - j);
    x.middleCols(j, count) = a.template triangularView<Eigen::Upper>().solve(b.middleCols(j, count));
  }
  return x;
}

/// a = u·t·uᵀ with t upper quasi-triangular; empty if the iteration does not converge.
struct RealSchurForm {
  Matrix<double> t, u;
};
bool real_schur(const Matrix<double>& a, bool vectors, RealSchurForm& form);
/// The same with t upper triangular, from the real form.
struct ComplexSchurForm {
  Matrix<std::complex<double>> t, u;
};
ComplexSchurForm complex_schur(const RealSchurForm& real);

}  // namespace tapedeck::cpu

namespace Eigen::internal {
template <class Scalar>
struct traits<tapedeck::cpu::WatchedMatrix<Scalar>> : traits<tapedeck::cpu::Matrix<Scalar>> {};
}  // namespace Eigen::internal
