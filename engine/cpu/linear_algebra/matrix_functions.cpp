#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "engine/cpu/linear_algebra/eigen_matrices.h"
#include "engine/cpu/linear_algebra/eigen_matrix_functions.h"
#include "engine/cpu/linear_algebra/linear_algebra.h"
#include "engine/cpu/linear_algebra/matrix_exponential.h"
#include "engine/cpu/linear_algebra/triangular_logarithm.h"
#include "engine/cpu/linear_algebra/watched_matrix.h"

namespace tapedeck::cpu {
namespace {

/// All is computed in float64: float32 alone would take as long to compile again, and be less exact.
using Real = Matrix<double>;

/// `epsilon`: the rounding of what was given, within which a negative eigenvalue is 0.
std::optional<Real> root_of(const Real& a, double epsilon) {
  // By the real Schur form: Higham 1987, Linear Algebra and its Applications 88/89.
  RealSchurForm schur;
  if (!real_schur(a, true, schur)) return std::nullopt;
  WatchedMatrix<double> triangle = schur.t;
  const std::int64_t n = a.rows();
  const double rounding = static_cast<double>(n) * epsilon * triangle.cwiseAbs().maxCoeff();
  for (std::int64_t i = 0; i < n; ++i) {
    if (i + 1 < n && triangle(i + 1, i) != 0) {
      ++i;  // a pair of complex eigenvalues, which has a real root
    } else if (triangle(i, i) < 0) {
      if (triangle(i, i) < -rounding) return std::nullopt;
      triangle(i, i) = 0;
    }
  }
  WatchedMatrix<double> root = Real(Real::Zero(n, n));
  Eigen::matrix_sqrt_quasi_triangular(triangle, root);
  return product(product(schur.u, root), schur.u.transpose());
}

bool has_real_logarithm(const Real& triangle) {
  for (std::int64_t i = 0; i < triangle.rows(); ++i)
    if (i + 1 < triangle.rows() && triangle(i + 1, i) != 0)
      ++i;  // a pair of complex eigenvalues, which has one
    else if (!(triangle(i, i) > 0))
      return false;
  return true;
}

/// Exact, however far apart the eigenvalues are.
std::optional<Real> logarithm_of_diagonal(const Real& a) {
  if (!(a.diagonal().array() > 0).all()) return std::nullopt;
  return Real(a.diagonal().unaryExpr([](double value) { return std::log(value); }).asDiagonal());
}

std::optional<Real> logarithm_of(const Real& a) {
  const std::int64_t n = a.rows();
  if (a.isDiagonal(0)) return logarithm_of_diagonal(a);
  // ln 2ᵉB = e·ln 2 + ln B: far from 1 Schur's form overflows, or finds nothing small enough.
  int exponent = 0;
  std::frexp(a.cwiseAbs().maxCoeff(), &exponent);
  if (std::abs(exponent) <= 64) exponent = 0;
  const Real scaled = a.unaryExpr([=](double value) { return std::ldexp(value, -exponent); });
  RealSchurForm real;
  if (!real_schur(scaled, true, real) || !has_real_logarithm(real.t)) return std::nullopt;
  const ComplexSchurForm schur = complex_schur(real);
  const std::optional<ComplexMatrix> triangle = logarithm_of_triangle(schur.t);
  if (!triangle) return std::nullopt;
  const Real result = product(product(schur.u, *triangle), schur.u.adjoint()).real();
  return result + exponent * std::numbers::ln2 * Real::Identity(n, n);
}

/// NaN where a value is not finite; false where f has no value, or none that T can hold.
template <class T, class F>
bool apply(std::int64_t n, const T* a, T* out, F f) {
  if (n == 0) return true;
  if (!all_finite(a, n * n)) {
    fill_nan(out, n * n);
    return true;
  }
  const std::optional<Real> result = f(Real(read(a, n, n).template cast<double>()));
  if (result) write(out, n, n) = result->template cast<T>();
  return result && all_finite(out, n * n);
}

}  // namespace

template <class T>
bool square_root(std::int64_t n, const T* a, T* out) {
  const auto root = [](const Real& matrix) { return root_of(matrix, std::numeric_limits<T>::epsilon()); };
  return apply(n, a, out, root);
}

template <class T>
void exponential(std::int64_t n, const T* a, T* out) {
  apply(n, a, out, [](const Real& matrix) { return std::optional<Real>(exponential_of(matrix)); });
}

template <class T>
bool logarithm(std::int64_t n, const T* a, T* out) {
  return apply(n, a, out, logarithm_of);
}

template bool logarithm(std::int64_t, const float*, float*);
template bool logarithm(std::int64_t, const double*, double*);
template bool square_root(std::int64_t, const float*, float*);
template bool square_root(std::int64_t, const double*, double*);
template void exponential(std::int64_t, const float*, float*);
template void exponential(std::int64_t, const double*, double*);

}  // namespace tapedeck::cpu
