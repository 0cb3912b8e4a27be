// Systems of equations, inverses and determinants of complex matrices.
#include "engine/cpu/linear_algebra/complex_matrices.h"
#include "engine/cpu/linear_algebra/complex_steps.h"

namespace tapedeck::cpu {
namespace {

/// Row i of l·u is row order[i] of a.
struct ComplexLu {
  ComplexMatrix packed;
  std::vector<Eigen::Index> order;
  double sign = 1;

  explicit ComplexLu(ComplexMatrix a) : packed(std::move(a)) {
    const Eigen::Index n = packed.rows();
    for (Eigen::Index i = 0; i < n; ++i) order.push_back(i);
    for (Eigen::Index k = 0; k < n; ++k) {
      check_stop();
      // The largest, or the first NaN, which a pivot of 0 would lose.
      const Eigen::VectorXd sizes = packed.col(k).tail(n - k).cwiseAbs();
      Eigen::Index best = 0;
      for (Eigen::Index i = 1; i < n - k && !std::isnan(sizes[best]); ++i)
        if (!(sizes[i] <= sizes[best])) best = i;
      if (best != 0) {
        packed.row(k).swap(packed.row(k + best));
        std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(k + best)]);
        sign = -sign;
      }
      const Eigen::Index below = n - k - 1;
      if (packed(k, k) == 0.0) continue;
      divide(packed.col(k).tail(below), packed(k, k));
      packed.bottomRightCorner(below, below).noalias() -=
          packed.col(k).tail(below) * packed.row(k).tail(below);
    }
  }
  NumericalFailure zero_pivot() const {
    for (Eigen::Index i = 0; i < packed.rows(); ++i)
      if (packed(i, i) == 0.0) return {i, 0.0};
    return {};
  }
  ComplexMatrix solve(const ComplexMatrix& b, bool adjoint) const {
    ComplexMatrix x(b.rows(), b.cols());
    const auto in_order = [&](Eigen::Index i) { return order[static_cast<std::size_t>(i)]; };
    if (!adjoint) {
      for (Eigen::Index i = 0; i < b.rows(); ++i) x.row(i) = b.row(in_order(i));
      in_pieces(x, [this](auto part) { packed.triangularView<Eigen::UnitLower>().solveInPlace(part); });
      in_pieces(x, [this](auto part) { packed.triangularView<Eigen::Upper>().solveInPlace(part); });
      return x;
    }
    ComplexMatrix y = b;
    in_pieces(y, [this](auto part) { packed.triangularView<Eigen::Upper>().adjoint().solveInPlace(part); });
    in_pieces(y,
              [this](auto part) { packed.triangularView<Eigen::UnitLower>().adjoint().solveInPlace(part); });
    for (Eigen::Index i = 0; i < b.rows(); ++i) x.row(in_order(i)) = y.row(i);
    return x;
  }
  /// A few columns at a time.
  template <class F>
  static void in_pieces(ComplexMatrix& x, F solve_part) {
    constexpr Eigen::Index at_once = 32;
    for (Eigen::Index j = 0; j < x.cols(); j += at_once) {
      check_stop();
      solve_part(x.middleCols(j, std::min(at_once, x.cols() - j)));
    }
  }
};

Complex determinant_of(const ComplexMatrix& a) {
  const ComplexLu lu(a);
  Complex product = lu.sign;
  for (Eigen::Index i = 0; i < a.rows(); ++i) product *= lu.packed(i, i);
  return product;
}

/// The product of all numbers except numbers i and j.
double product_without(const Eigen::VectorXd& s, Eigen::Index i, Eigen::Index j) {
  double product = 1;
  for (Eigen::Index k = 0; k < s.size(); ++k)
    if (k != i && k != j) product *= s(k);
  return product;
}

/// The cofactors of u·c·vᴴ, given those of c: they are multiplicative, and those of a unitary matrix are its
/// determinant times its conjugate.
ComplexMatrix cofactors_around(const ComplexSvd& svd, const ComplexMatrix& inner) {
  const Complex turn = determinant_of(svd.u) * std::conj(determinant_of(svd.v));
  return turn * (svd.u.conjugate() * (inner * svd.v.transpose()));
}

}  // namespace

template <class R>
NumericalFailure cholesky(std::int64_t n, const std::complex<R>* a, std::complex<R>* l) {
  ComplexMatrix factor = loaded(a, n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    check_stop();
    const double pivot = factor(j, j).real() - factor.row(j).head(j).squaredNorm();
    if (pivot <= 0) return {j, pivot};  // NaN continues, and propagates
    const double root = std::sqrt(pivot);
    const Eigen::Index below = n - j - 1;
    factor.col(j).tail(below) -= factor.bottomLeftCorner(below, j) * factor.row(j).head(j).adjoint();
    divide(factor.col(j).tail(below), root);
    factor(j, j) = root;
    factor.col(j).head(j).setZero();
  }
  store(factor, l);
  return {};
}

template <class R>
NumericalFailure inverse(std::int64_t n, bool adjoint, const std::complex<R>* a, std::complex<R>* out) {
  const ComplexLu lu(loaded(a, n, n));
  if (const NumericalFailure failure = lu.zero_pivot()) return failure;
  store(lu.solve(ComplexMatrix::Identity(n, n), adjoint), out);
  return {};
}

template <class R>
NumericalFailure solve(std::int64_t n, std::int64_t m, bool adjoint, const std::complex<R>* a,
                       const std::complex<R>* b, std::complex<R>* x) {
  const ComplexLu lu(loaded(a, n, n));
  if (const NumericalFailure failure = lu.zero_pivot()) return failure;
  store(lu.solve(loaded(b, n, m), adjoint), x);
  return {};
}

template <class R>
NumericalFailure triangular_solve(std::int64_t n, std::int64_t m, bool lower, bool adjoint,
                                  const std::complex<R>* a, const std::complex<R>* b, std::complex<R>* x) {
  const ComplexMatrix matrix = loaded(a, n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    if (matrix(i, i) == 0.0) return {i, 0.0};
  ComplexMatrix solution = loaded(b, n, m);
  ComplexLu::in_pieces(solution, [&](auto part) {
    const auto with = [&](const auto& triangle) {
      if (adjoint)
        triangle.adjoint().solveInPlace(part);
      else
        triangle.solveInPlace(part);
    };
    if (lower)
      with(matrix.triangularView<Eigen::Lower>());
    else
      with(matrix.triangularView<Eigen::Upper>());
  });
  store(solution, x);
  return {};
}

template <class R>
std::complex<R> determinant(std::int64_t n, const std::complex<R>* a) {
  return std::complex<R>(determinant_of(loaded(a, n, n)));
}

template <class R>
void log_determinant(std::int64_t n, const std::complex<R>* a, std::complex<R>* sign, std::complex<R>* log) {
  const ComplexLu lu(loaded(a, n, n));
  Complex turn = lu.sign;
  double logarithm = 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    const double size = std::abs(lu.packed(i, i));
    logarithm += std::log(size);
    turn = size == 0 ? turn * 0.0 : turn * (lu.packed(i, i) / size);  // NaN stays NaN
  }
  if (turn == 0.0) turn = 0.0;  // without a sign
  *sign = std::complex<R>(turn);
  *log = static_cast<R>(logarithm);
}

template <class R>
void cofactor(std::int64_t n, const std::complex<R>* a, std::complex<R>* out) {
  if (!all_finite(a, n * n)) return fill_nan(out, n * n);
  const ComplexSvd svd = complex_svd(loaded(a, n, n), false, true);
  ComplexMatrix inner = ComplexMatrix::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i) inner(i, i) = product_without(svd.s, i, i);
  store(cofactors_around(svd, inner), out);
}

template <class R>
void cofactor_derivative(std::int64_t n, const std::complex<R>* a, const std::complex<R>* direction,
                         std::complex<R>* out) {
  if (!all_finite(a, n * n) || !all_finite(direction, n * n)) return fill_nan(out, n * n);
  const ComplexSvd svd = complex_svd(loaded(a, n, n), false, true);
  const ComplexMatrix f = svd.u.adjoint() * loaded(direction, n, n) * svd.v;
  // Of diag(s) + t·f: on the diagonal the other elements of f, beside it the minor's one.
  ComplexMatrix inner = ComplexMatrix::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    check_stop();
    for (Eigen::Index j = 0; j < n; ++j) {
      if (i == j) continue;
      const double product = product_without(svd.s, i, j);
      inner(i, i) += f(j, j) * product;
      inner(i, j) = -f(j, i) * product;
    }
  }
  store(cofactors_around(svd, inner), out);
}

template <class R>
NumericalFailure lu(std::int64_t n, const std::complex<R>* a, std::complex<R>* packed, std::int64_t* order) {
  const ComplexLu decomposition(loaded(a, n, n));
  if (const NumericalFailure failure = decomposition.zero_pivot()) return failure;
  store(decomposition.packed, packed);
  std::copy(decomposition.order.begin(), decomposition.order.end(), order);
  return {};
}

#define TAPEDECK_COMPLEX(R)                                                                                  \
  template NumericalFailure cholesky(std::int64_t, const std::complex<R>*, std::complex<R>*);                \
  template NumericalFailure inverse(std::int64_t, bool, const std::complex<R>*, std::complex<R>*);           \
  template NumericalFailure solve(std::int64_t, std::int64_t, bool, const std::complex<R>*,                  \
                                  const std::complex<R>*, std::complex<R>*);                                 \
  template NumericalFailure triangular_solve(std::int64_t, std::int64_t, bool, bool, const std::complex<R>*, \
                                             const std::complex<R>*, std::complex<R>*);                      \
  template std::complex<R> determinant(std::int64_t, const std::complex<R>*);                                \
  template void log_determinant(std::int64_t, const std::complex<R>*, std::complex<R>*, std::complex<R>*);   \
  template void cofactor(std::int64_t, const std::complex<R>*, std::complex<R>*);                            \
  template void cofactor_derivative(std::int64_t, const std::complex<R>*, const std::complex<R>*,            \
                                    std::complex<R>*);                                                       \
  template NumericalFailure lu(std::int64_t, const std::complex<R>*, std::complex<R>*, std::int64_t*);
TAPEDECK_COMPLEX(float)
TAPEDECK_COMPLEX(double)
#undef TAPEDECK_COMPLEX

}  // namespace tapedeck::cpu
