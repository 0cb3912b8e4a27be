#include <cmath>

#include "engine/cpu/blocks.h"
#include "engine/cpu/linear_algebra/reflectors.h"
#include "engine/cpu/linear_algebra/watched_matrix.h"

namespace tapedeck::cpu {
namespace {

using Real = Matrix<double>;

/// a −= scale·left·rightᵀ
void subtract_outer(double scale, const std::vector<double>& left, const std::vector<double>& right,
                    Block<double> a) {
  for_blocks(a.rows, grain_for(static_cast<double>(a.columns)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double factor = scale * left[static_cast<std::size_t>(i)];
      double* row = a.row(i);
      for (std::int64_t j = 0; j < a.columns; ++j) row[j] -= factor * right[static_cast<std::size_t>(j)];
    }
  });
}

/// a becomes its Hessenberg form; returns the reflections, whose panels start one row below their first
/// column (Golub and Van Loan, "Matrix computations", algorithm 7.4.2).
std::vector<Reflectors<double>> reduce_to_hessenberg(Block<double> a, bool vectors) {
  std::vector<Reflectors<double>> q;
  const std::int64_t n = a.rows;
  for (std::int64_t k = 0; k + 1 < n; k += reflections_at_once) {
    const std::int64_t width = std::min(reflections_at_once, n - 1 - k);
    Dense<double> panel(n - k - 1, width);
    std::vector<double> taus;
    for (std::int64_t column = k; column < k + width; ++column) {
      check_stop();
      const std::int64_t below = n - column - 1;
      std::vector<double> v(static_cast<std::size_t>(below)), sums(v.size()),
          products(static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < below; ++i) v[static_cast<std::size_t>(i)] = a(column + 1 + i, column);
      const auto reflection = Reflection<double>::make(below, v.data(), 1);
      taus.push_back(reflection.tau);
      for (std::int64_t i = 0; i < below; ++i) {
        panel.all()(column - k + i, column - k) = v[static_cast<std::size_t>(i)];
        a(column + 1 + i, column) = i == 0 ? reflection.value : 0.0;
      }
      if (reflection.tau == 0.0) continue;
      const Block<double> vector{v.data(), below, 1, 1}, right = a.from(column + 1, column + 1);
      set_product<double>(Sides::first_transposed, vector, right, {sums.data(), 1, below, below});
      subtract_outer(reflection.tau, v, sums, right);
      set_product<double>(Sides::as_they_are, a.from(0, column + 1), vector, {products.data(), n, 1, 1});
      subtract_outer(reflection.tau, products, v, a.from(0, column + 1));
    }
    if (vectors) q.emplace_back(std::move(panel), taus);
  }
  return q;
}

}  // namespace

bool real_schur(const Real& a, bool vectors, RealSchurForm& form) {
  const std::int64_t n = a.rows();
  const double largest = a.cwiseAbs().maxCoeff();
  const double scale = largest < std::numeric_limits<double>::min() ? 1.0 : largest;
  RowMajor<double> h = a / scale, q(vectors ? n : 0, vectors ? n : 0);
  std::vector<Reflectors<double>> reflectors = reduce_to_hessenberg({h.data(), n, n, n}, vectors);
  if (vectors) write_q<double>(reflectors, 1, {q.data(), n, n, n});
  Eigen::RealSchur<WatchedMatrix<double>> schur(n);
  schur.computeFromHessenberg(Real(h), Real(q), vectors);
  if (schur.info() != Eigen::Success) return false;
  form.t = schur.matrixT() * scale;
  if (vectors) form.u = schur.matrixU();
  return true;
}

ComplexSchurForm complex_schur(const RealSchurForm& real) {
  using Complex = std::complex<double>;
  ComplexSchurForm form{real.t.cast<Complex>(), real.u.cast<Complex>()};
  const Eigen::Index n = real.t.rows();
  for (Eigen::Index k = n - 2; k >= 0; --k) {
    const Complex below = form.t(k + 1, k);
    if (below == 0.0) continue;
    check_stop();
    // An eigenvector of the block on the diagonal becomes the first axis.
    const Complex half = (form.t(k, k) - form.t(k + 1, k + 1)) / 2.0;
    const Complex distance = half + std::sqrt(half * half + form.t(k, k + 1) * below);
    const double length = std::hypot(std::abs(distance), std::abs(below));
    Eigen::Matrix2cd turn;
    turn << std::conj(distance / length), below / length, -below / length, distance / length;
    form.t.block(k, k, 2, n - k) = (turn * form.t.block(k, k, 2, n - k)).eval();
    form.t.block(0, k, k + 2, 2) = (form.t.block(0, k, k + 2, 2) * turn.adjoint()).eval();
    form.u.block(0, k, n, 2) = (form.u.block(0, k, n, 2) * turn.adjoint()).eval();
    form.t(k + 1, k) = 0.0;
  }
  return form;
}

}  // namespace tapedeck::cpu
