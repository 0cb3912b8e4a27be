#include "engine/cpu/linear_algebra/matrix_exponential.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "engine/cpu/linear_algebra/linear_algebra.h"
#include "engine/cpu/linear_algebra/watched_matrix.h"

namespace tapedeck::cpu {
namespace {

using Real = Matrix<double>;

/// The largest column sum of magnitudes.
double norm(const Real& a) {
  check_stop();
  return a.cwiseAbs().colwise().sum().maxCoeff();
}

Real scaled(const Real& a, int exponent) {
  check_stop();
  return a.unaryExpr([=](double value) { return std::ldexp(value, exponent); });
}

/// ⌊log₂ ‖A‖⌋, even if the norm of finite numbers overflows.
int exponent_of_norm(const Real& a) {
  constexpr int to_spare = 64;
  const double size = norm(a);
  return std::isfinite(size) ? std::ilogb(size) : to_spare + std::ilogb(norm(scaled(a, -to_spare)));
}

/// An order of rows and columns in which A is upper triangular, where there is one: that of A itself, or of
/// its transpose, or of [A E; 0 A] made of one that is triangular.
std::optional<std::vector<Eigen::Index>> triangular_order(const Real& a) {
  const Eigen::Index n = a.rows();
  std::vector<Eigen::Index> users(static_cast<std::size_t>(n), 0), order;  // rows that still need an index
  for (Eigen::Index j = 0; j < n; ++j)
    for (Eigen::Index i = 0; i < n; ++i) users[static_cast<std::size_t>(j)] += i != j && a(i, j) != 0.0;
  for (Eigen::Index j = 0; j < n; ++j)
    if (users[static_cast<std::size_t>(j)] == 0) order.push_back(j);
  for (std::size_t at = 0; at < order.size(); ++at)
    for (Eigen::Index j = 0; j < n; ++j)
      if (j != order[at] && a(order[at], j) != 0.0 && --users[static_cast<std::size_t>(j)] == 0)
        order.push_back(j);
  if (std::ssize(order) < n) return std::nullopt;
  return order;
}

/// A, and the powers computed so far.
class Powers {
 public:
  explicit Powers(const Real& a) : a_(a), second_(product(a, a)) {}

  const Real& first() const { return a_; }
  const Real& second() const { return second_; }
  const Real& fourth() {
    if (!fourth_) fourth_ = product(second_, second_);
    return *fourth_;
  }
  const Real& sixth() {
    if (!sixth_) sixth_ = product(fourth(), second_);
    return *sixth_;
  }
  /// To the powers of 2⁻ʰA.
  void halve(int halvings) {
    a_ = scaled(a_, -halvings);
    second_ = scaled(second_, -2 * halvings);
    if (fourth_) fourth_ = scaled(*fourth_, -4 * halvings);
    if (sixth_) sixth_ = scaled(*sixth_, -6 * halvings);
  }

 private:
  Real a_, second_;
  std::optional<Real> fourth_, sixth_;
};

/// The coefficients of [m/m], times (2m)!/m! (their lowest common denominator).
template <std::size_t m>
constexpr std::array<double, m + 1> coefficients() {
  std::array<double, m + 1> b{};
  b[m] = 1.0;
  for (std::size_t k = m; k > 0; --k)  // b[k − 1] = b[k]·(2m − k + 1)·k / (m − k + 1), always whole
    b[k - 1] = b[k] * static_cast<double>((2 * m - k + 1) * k) / static_cast<double>(m - k + 1);
  return b;
}

/// (V − U)⁻¹(V + U).
Real quotient(const Real& even, const Real& odd) {
  const std::int64_t n = even.rows();
  const RowMajor<double> left = even - odd, right = even + odd;
  RowMajor<double> x = RowMajor<double>::Zero(n, n);
  solve(n, n, false, left.data(), right.data(), x.data());
  return x;
}

/// Padé's approximant [m/m] for m up to 9.
template <std::size_t m>
Real approximant(Powers& powers) {
  constexpr std::array<double, m + 1> b = coefficients<m>();
  const Real unit = Real::Identity(powers.first().rows(), powers.first().rows());
  Real odd = b[1] * unit + b[3] * powers.second();
  Real even = b[0] * unit + b[2] * powers.second();
  if constexpr (m >= 5) {
    odd += b[5] * powers.fourth();
    even += b[4] * powers.fourth();
  }
  if constexpr (m >= 7) {
    odd += b[7] * powers.sixth();
    even += b[6] * powers.sixth();
  }
  if constexpr (m >= 9) {
    const Real eighth = product(powers.sixth(), powers.second());
    odd += b[9] * eighth;
    even += b[8] * eighth;
  }
  return quotient(even, product(powers.first(), odd));
}

Real approximant_13(Powers& powers) {
  constexpr std::array<double, 14> b = coefficients<13>();
  const Real unit = Real::Identity(powers.first().rows(), powers.first().rows());
  const Real &a2 = powers.second(), &a4 = powers.fourth(), &a6 = powers.sixth();
  const Real odd =
      product(a6, b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * unit;
  check_stop();
  const Real even =
      product(a6, b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * unit;
  return quotient(even, product(powers.first(), odd));
}

/// ℓₘ(A) of (5.1): how often A must still be halved so that the first term of the backward error is below the
/// unit roundoff, relative to A. By logarithms, because the power 2m + 1 of |A| may overflow.
int further_halvings(const Real& a, int m) {
  const Real sizes = a.cwiseAbs().transpose();
  Eigen::VectorXd sums = Eigen::VectorXd::Ones(a.rows());
  double logarithm = 0.0;
  for (int k = 0; k < 2 * m + 1; ++k) {
    check_stop();
    sums = sizes * sums;
    const double largest = sums.maxCoeff();
    if (largest == 0.0) return 0;
    sums /= largest;
    logarithm += std::log2(largest);
    if (k == 0) logarithm -= std::log2(largest);  // of |A|²ᵐ⁺¹ / ‖A‖
  }
  // The coefficient is m!² / ((2m)!·(2m + 1)!). Not by lgamma, which threads must not share.
  double inverse = 2.0 * m + 1.0;
  for (int k = m + 1; k <= 2 * m; ++k) inverse *= static_cast<double>(k) * k;
  return std::max(0, static_cast<int>(std::ceil((logarithm - std::log2(inverse) + 53.0) / (2.0 * m))));
}

/// Replaces diagonal and superdiagonal of an approximation to exp(2⁻ᵏT) by what they are, for an upper
/// triangular T: the squarings would multiply their errors (code fragment 2.1).
void set_diagonals(Real& x, const Real& t, int halvings) {
  const Eigen::Index n = t.rows();
  for (Eigen::Index i = 0; i < n; ++i) {
    const double here = std::ldexp(t(i, i), -halvings);
    x(i, i) = std::exp(here);
    if (i + 1 == n) break;
    const double next = std::ldexp(t(i + 1, i + 1), -halvings);
    const double apart = std::fabs(next - here);
    const double quotient = apart == 0.0 ? 1.0 : -std::expm1(-apart) / apart;
    if (t(i, i + 1) != 0.0)  // else 0, also where the exponential is infinite
      x(i, i + 1) = std::ldexp(t(i, i + 1), -halvings) * std::exp(std::max(here, next)) * quotient;
    else
      x(i, i + 1) = 0.0;
  }
}

/// X·X without products with elements below the diagonal: 0·∞ would be NaN.
Real triangular_square(const Real& x) {
  Real result = Real::Zero(x.rows(), x.cols());
  for (Eigen::Index j = 0; j < x.cols(); ++j) {
    check_stop();
    for (Eigen::Index k = 0; k <= j; ++k) result.col(j).head(k + 1) += x(k, j) * x.col(k).head(k + 1);
  }
  return result;
}

/// How often A is to be halved for [13/13].
int halvings_of(Powers& powers) {
  constexpr double most = 4.25;  // θ₁₃
  // No number here is larger than the rest: ‖A⁸‖ ≤ ‖A⁴‖², so where the bound will do, A⁸ and A¹⁰ are not
  // made.
  const double fourth = norm(powers.fourth()), sixth = norm(powers.sixth());
  const double d4 = std::pow(fourth, 0.25), d6 = std::pow(sixth, 1.0 / 6);
  double size = std::max(d4, d6);
  if (size > most) {
    const double d8 = std::pow(norm(product(powers.fourth(), powers.fourth())), 0.125);
    const double d10 = std::pow(norm(product(powers.fourth(), powers.sixth())), 0.1);
    size = std::min(std::max(d6, d8), std::max(d8, d10));
  }
  const int halvings = size > most ? static_cast<int>(std::ceil(std::log2(size / most))) : 0;
  return halvings + further_halvings(scaled(powers.first(), -halvings), 13);
}

/// The approximant of the lowest degree that is exact without scaling, where one is.
std::optional<Real> without_scaling(Powers& powers) {
  const auto is_exact = [&](int m) { return further_halvings(powers.first(), m) == 0; };
  const double d4 = std::pow(norm(powers.fourth()), 0.25);
  const double d6 = std::pow(norm(powers.sixth()), 1.0 / 6);
  const double size = std::max(d4, d6);  // of the same order as the one of (5.2), which needs A⁸
  if (size <= 1.495585217958292e-2 && is_exact(3)) return approximant<3>(powers);
  if (size <= 2.539398330063230e-1 && is_exact(5)) return approximant<5>(powers);
  if (size <= 9.504178996162932e-1 && is_exact(7)) return approximant<7>(powers);
  if (size <= 2.097847961257068e0 && is_exact(9)) return approximant<9>(powers);
  return std::nullopt;
}

Real exponential_in_order(const Real& a, bool is_triangular) {
  // The powers up to the tenth are doubles below this, and a matrix of small ones is not scaled.
  constexpr int most_exponent = 90;
  const int exponent = std::max(0, exponent_of_norm(a) - most_exponent);
  Powers powers(scaled(a, -exponent));
  int halvings = exponent;
  if (exponent == 0)
    if (std::optional<Real> result = without_scaling(powers)) {
      if (is_triangular) set_diagonals(*result, a, 0);
      return *result;
    }
  halvings += halvings_of(powers);
  if (exponent == 0)
    powers.halve(halvings);
  else  // the powers may have lost what is small beside the largest
    powers = Powers(scaled(a, -halvings));
  Real result = approximant_13(powers);
  if (is_triangular) set_diagonals(result, a, halvings);
  while (halvings-- > 0) {
    result = is_triangular ? triangular_square(result) : product(result, result);
    if (is_triangular) set_diagonals(result, a, halvings);
  }
  // The largest eigenvalue is not below the geometric mean of all, e to the power of tr A / n: hundreds of
  // squarings may have brought a turn's, which are of size 1, to 0.
  const double mean = std::exp(a.trace() / static_cast<double>(a.rows()));
  if (norm(result) < mean / 2) result.setConstant(std::numeric_limits<double>::quiet_NaN());
  return result;
}

}  // namespace

Real exponential_of(const Real& a) {
  const Eigen::Index n = a.rows();
  if (a.isDiagonal(0)) {
    Real result = Real::Zero(n, n);
    for (Eigen::Index i = 0; i < n; ++i) result(i, i) = std::exp(a(i, i));
    return result;
  }
  const std::optional<std::vector<Eigen::Index>> order = triangular_order(a);
  if (!order) return exponential_in_order(a, false);
  const Real sorted = exponential_in_order(a(*order, *order), true);
  Real result = Real::Zero(n, n);
  for (Eigen::Index j = 0; j < n; ++j)
    for (Eigen::Index i = 0; i <= j; ++i)
      result((*order)[static_cast<std::size_t>(i)], (*order)[static_cast<std::size_t>(j)]) = sorted(i, j);
  return result;
}

}  // namespace tapedeck::cpu
