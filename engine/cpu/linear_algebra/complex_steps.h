// What the algorithms for complex matrices share.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "engine/cpu/linear_algebra/eigen_matrices.h"
#include "engine/cpu/linear_algebra/panel_rows.h"
#include "engine/cpu/parallel.h"

namespace tapedeck::cpu {

using Complex = std::complex<double>;
using ComplexMatrix = Matrix<Complex>;
using ComplexVector = Eigen::VectorXcd;

template <class R>
ComplexMatrix loaded(const std::complex<R>* values, std::int64_t rows, std::int64_t columns) {
  return read(values, rows, columns).template cast<Complex>();
}
template <class R>
void store(const ComplexMatrix& matrix, std::complex<R>* out) {
  write(out, matrix.rows(), matrix.cols()) = matrix.template cast<std::complex<R>>();
}
template <class R>
void fill_nan(std::complex<R>* values, std::int64_t count) {
  if (values) std::fill_n(values, count, std::complex<R>(std::numeric_limits<R>::quiet_NaN()));
}
template <class R>
bool all_finite(const std::complex<R>* values, std::int64_t count) {
  return std::all_of(values, values + count, [](const std::complex<R>& x) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  });
}

/// Eigen divides by a complex number through its squared magnitude, which overflows or underflows from
/// 10^±154 on; so a power of two first scales the divisor to near 1. `/= scale` would convert the scale to a
/// complex number.
template <class Part>
void divide(Part part, Complex divisor) {
  const double scale = scale_of(std::abs(divisor));
  part = part / scale;
  part /= divisor / scale;
}

/// H = I − tau·v·vᴴ with v₀ = 1 and Hᴴ·x = value·e₀, value real (Golub and Van Loan, 5.1.13).
struct ComplexReflection {
  Complex tau{};
  double value;
  ComplexVector v;

  explicit ComplexReflection(const ComplexVector& x) : value(x(0).real()), v(x) {
    const double below = x.tail(x.size() - 1).stableNorm();
    if (below == 0 && x(0).imag() == 0) {
      v.setZero();
    } else {
      const double size = std::hypot(std::abs(x(0)), below);
      value = x(0).real() < 0 ? size : -size;
      tau = (value - x(0)) / value;
      divide(v.tail(v.size() - 1), x(0) - value);
    }
    v(0) = 1;
  }
  /// a = H·a, or Hᴴ·a
  template <class Part>
  void from_the_left(bool adjoint, Part a) const {
    const Eigen::RowVectorXcd products = v.adjoint() * a;
    a.noalias() -= ((adjoint ? std::conj(tau) : tau) * v) * products;
  }
  /// a = a·H
  template <class Part>
  void from_the_right(Part a) const {
    const ComplexVector products = a * v;
    a.noalias() -= (tau * products) * v.adjoint();
  }
};

/// c = H₀·H₁·…·c, reflection i on the rows from i + `offset` on.
inline void apply_reflections(const std::vector<ComplexReflection>& turns, Eigen::Index offset,
                              ComplexMatrix& c) {
  for (auto k = static_cast<Eigen::Index>(turns.size()) - 1; k >= 0; --k) {
    check_stop();
    turns[static_cast<std::size_t>(k)].from_the_left(false, c.bottomRows(c.rows() - k - offset));
  }
}

/// a = u·diag(s)·vᴴ of finite numbers, u and v with min(m, n) columns, or m and n where `full`. Without
/// `vectors` both are empty.
struct ComplexSvd {
  Eigen::VectorXd s;
  ComplexMatrix u, v;
};
ComplexSvd complex_svd(const ComplexMatrix& a, bool full, bool vectors);

/// The factor of each column that makes its leading element positive; sets that element of a to its real
/// value.
std::vector<Complex> turned_columns(ComplexMatrix& a);

}  // namespace tapedeck::cpu
