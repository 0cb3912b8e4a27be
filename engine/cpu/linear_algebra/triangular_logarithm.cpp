#include "engine/cpu/linear_algebra/triangular_logarithm.h"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "engine/cpu/linear_algebra/eigen_matrix_functions.h"
#include "engine/cpu/linear_algebra/watched_matrix.h"

namespace tapedeck::cpu {
namespace {

using Complex = std::complex<double>;

/// ‖R‖ up to which Padé's approximant of order 1 to 7 of ln(I + R) is exact within float64 (table 2.1).
constexpr std::array<double, 7> bounds = {1.59e-5, 2.31e-3, 1.94e-2, 6.21e-2, 1.28e-1, 2.06e-1, 2.88e-1};
constexpr int most_roots = 2500;  ///< enough for any two adjacent float64 numbers

/// a^(1/2ⁿ) − 1 without the loss of digits (A. H. Al-Mohy, "A more accurate Briggs method for the logarithm",
/// Numerical Algorithms 59, 2012).
Complex root_less_one(Complex a, int roots) {
  if (roots == 0) return a - 1.0;
  if (std::abs(std::arg(a)) >= std::numbers::pi / 2) {
    a = std::sqrt(a);
    if (--roots == 0) return a - 1.0;
  }
  const Complex difference = a - 1.0;
  Complex product = 1.0;
  for (; roots > 0; --roots) {
    a = std::sqrt(a);
    product *= 1.0 + a;
  }
  return difference / product;
}

/// ln b − ln a where the two are close to each other, without the loss of digits.
Complex close_logarithms(Complex a, Complex b) {
  const double turns =
      std::ceil((std::imag(std::log(b) - std::log(a)) - std::numbers::pi) / (2 * std::numbers::pi));
  return 2.0 * (std::atanh((b - a) / (b + a)) + Complex(0, std::numbers::pi * turns));
}
bool are_close(Complex a, Complex b) {
  return std::abs(b - a) <= std::abs(a + b) / 2;
}
/// (ln b − ln a) / (b − a)
Complex logarithms_slope(Complex a, Complex b) {
  if (a == b) return 1.0 / a;
  return (are_close(a, b) ? close_logarithms(a, b) : std::log(b) - std::log(a)) / (b - a);
}
/// (bᵖ − aᵖ) / (b − a) with p = 1/2ⁿ (N. J. Higham and L. Lin, SIAM J. Matrix Anal. Appl. 32(3), 2011,
/// (5.6)).
Complex roots_slope(Complex a, Complex b, int roots) {
  const double power = std::ldexp(1.0, -roots);
  const Complex of_a = std::log(a), of_b = std::log(b);
  if (a == b) return power * std::exp((power - 1.0) * of_a);
  if (!are_close(a, b)) return (std::exp(power * of_b) - std::exp(power * of_a)) / (b - a);
  return std::exp(power * (of_a + of_b) / 2.0) * 2.0 * std::sinh(power * close_logarithms(a, b) / 2.0) /
         (b - a);
}

double norm(const ComplexMatrix& a) {
  return a.cwiseAbs().colwise().sum().maxCoeff();
}

/// The bound of R from ‖Rᵏ‖: the larger of ‖Rᵏ‖^(1/k) for k and k + 1, far below ‖R‖ if R is far from normal.
struct Powers {
  std::array<double, 4> size{};  ///< ‖Rᵏ‖^(1/k) for k = 2 to 5
  explicit Powers(const ComplexMatrix& r) {
    ComplexMatrix power = r;
    for (int k = 2; k <= 5; ++k) {
      power = product(power, r);
      size[static_cast<std::size_t>(k - 2)] = std::pow(norm(power), 1.0 / k);
    }
  }
  double alpha(int k) const {
    const auto at = static_cast<std::size_t>(k - 2);
    return std::max(size[at], size[at + 1]);
  }
};

/// The order of the approximant that R needs; 0: take a root first.
int order_for(const ComplexMatrix& r, int& spared) {
  const Powers powers(r);
  for (const int order : {1, 2})
    if (powers.alpha(2) <= bounds[static_cast<std::size_t>(order - 1)]) return order;
  const double alpha = powers.alpha(3);
  if (!(alpha <= bounds[6])) return 0;
  for (const int order : {3, 4, 5, 6})
    if (alpha <= bounds[static_cast<std::size_t>(order - 1)]) return order;
  if (alpha / 2 <= bounds[4] && spared < 2) {  // one more root costs less than the higher order
    ++spared;
    return 0;
  }
  const double least = std::min(alpha, powers.alpha(4));
  return least <= bounds[5] ? 6 : least <= bounds[6] ? 7 : 0;
}

/// ln(I + R) by the partial fractions of Padé's approximant: Gauss' and Legendre's rule for ∫ (I + xR)⁻¹R dx.
ComplexMatrix approximant(const ComplexMatrix& r, int order) {
  const auto unit = ComplexMatrix::Identity(r.rows(), r.cols());
  ComplexMatrix sum = ComplexMatrix::Zero(r.rows(), r.cols());
  for (int i = 0; i < order; ++i) {
    double x = std::cos(std::numbers::pi * (i + 0.75) / (order + 0.5));
    double slope = 0;
    for (int step = 0; step < 8; ++step) {  // Newton's method for the zeros of Legendre's polynomial
      double before = 1, value = x;
      for (int k = 2; k <= order; ++k)
        before = std::exchange(value, ((2 * k - 1) * x * value - (k - 1) * before) / k);
      slope = order * (before - x * value) / (1 - x * x);
      x -= value / slope;
    }
    const ComplexMatrix system = unit + (0.5 + 0.5 * x) * r;
    sum += solve_upper<Complex>(system, r) / ((1 - x * x) * slope * slope);
  }
  return sum;
}

}  // namespace

std::optional<ComplexMatrix> logarithm_of_triangle(const ComplexMatrix& t) {
  const Eigen::Index n = t.rows();
  const auto unit = ComplexMatrix::Identity(n, n);
  ComplexMatrix root = t;
  int roots = 0, order = 0, spared = 0;
  const auto far_from_one = [&] { return (root.diagonal().array() - 1.0).abs().maxCoeff() > bounds[6]; };
  for (; far_from_one() || (order = order_for(root - unit, spared)) == 0; ++roots) {
    if (roots == most_roots || !root.allFinite()) return std::nullopt;
    WatchedMatrix<Complex> next = ComplexMatrix(ComplexMatrix::Zero(n, n));
    Eigen::matrix_sqrt_triangular(root, next);
    root = next;
  }
  // The roots are close to I: the differences of the diagonals from 1 are recomputed.
  ComplexMatrix r = root - unit;
  for (Eigen::Index i = 0; i < n; ++i) {
    r(i, i) = root_less_one(t(i, i), roots);
    if (i + 1 < n && roots > 0) r(i, i + 1) = t(i, i + 1) * roots_slope(t(i, i), t(i + 1, i + 1), roots);
  }
  ComplexMatrix result = approximant(r, order);
  result = result.unaryExpr(
      [=](const Complex& x) { return Complex(std::ldexp(x.real(), roots), std::ldexp(x.imag(), roots)); });
  for (Eigen::Index i = 0; i < n; ++i) {
    result(i, i) = std::log(t(i, i));
    if (i + 1 < n) result(i, i + 1) = t(i, i + 1) * logarithms_slope(t(i, i), t(i + 1, i + 1));
  }
  if (!result.allFinite()) return std::nullopt;
  return result;
}

}  // namespace tapedeck::cpu
