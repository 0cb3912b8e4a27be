// Decompositions of complex matrices by unitary reflections, which reduce them to real problems.
#include "engine/cpu/linear_algebra/complex_matrices.h"
#include "engine/cpu/linear_algebra/complex_steps.h"
#include "engine/cpu/linear_algebra/linear_algebra.h"
#include "engine/cpu/linear_algebra/panel_rows.h"

namespace tapedeck::cpu {
namespace {

/// a = u·b·vᴴ with b real and upper bidiagonal: d on its diagonal, e above it. a has at least as many rows as
/// columns (Golub and Van Loan, algorithm 5.4.2).
struct ComplexBidiagonal {
  Eigen::VectorXd d, e;
  std::vector<ComplexReflection> u, v;

  explicit ComplexBidiagonal(ComplexMatrix a) : d(a.cols()), e(std::max<Eigen::Index>(0, a.cols() - 1)) {
    const Eigen::Index m = a.rows(), n = a.cols();
    for (Eigen::Index k = 0; k < n; ++k) {
      check_stop();
      u.emplace_back(a.col(k).tail(m - k));
      d(k) = u.back().value;
      u.back().from_the_left(true, a.bottomRightCorner(m - k, n - k - 1));
      if (k + 1 == n) break;
      v.emplace_back(a.row(k).tail(n - k - 1).adjoint());
      e(k) = v.back().value;
      v.back().from_the_right(a.bottomRightCorner(m - k, n - k - 1));
    }
  }
};

/// Of a matrix with at least as many rows as columns.
ComplexSvd tall_svd(const ComplexMatrix& a, bool full, bool vectors) {
  const Eigen::Index m = a.rows(), n = a.cols();
  const double scale = scale_of(n == 0 ? 0.0 : a.cwiseAbs().maxCoeff());
  const ComplexBidiagonal reduced(a / scale);
  RowMajor<double> b = RowMajor<double>::Zero(n, n), u(n, n), v(n, n);
  b.diagonal() = reduced.d;
  if (n > 1) b.diagonal(1) = reduced.e;
  ComplexSvd result{Eigen::VectorXd(n), {}, {}};
  svd(n, n, false, b.data(), result.s.data(), vectors ? u.data() : nullptr, vectors ? v.data() : nullptr);
  result.s *= scale;
  if (!vectors) return result;
  result.u = ComplexMatrix::Identity(m, full ? m : n);
  result.u.topLeftCorner(n, n) = u.cast<Complex>();
  result.v = v.cast<Complex>();
  apply_reflections(reduced.u, 0, result.u);
  apply_reflections(reduced.v, 1, result.v);
  return result;
}

/// The eigenvalues and eigenvectors of the Hermitian matrix whose lower triangle a has: by a real tridiagonal
/// one (Golub and Van Loan, 8.3.1).
bool hermitian_eigen(const ComplexMatrix& a, Eigen::VectorXd& e, ComplexMatrix* vectors) {
  const Eigen::Index n = a.rows();
  const double scale = scale_of(a.cwiseAbs().maxCoeff());
  ComplexMatrix work = a / scale;
  work.triangularView<Eigen::StrictlyUpper>() = work.adjoint();
  work.diagonal() = work.diagonal().real().cast<Complex>().eval();
  RowMajor<double> t = RowMajor<double>::Zero(n, n), v(n, n);
  std::vector<ComplexReflection> turns;
  for (Eigen::Index k = 0; k + 1 < n; ++k) {
    check_stop();
    turns.emplace_back(work.col(k).tail(n - k - 1));
    t(k + 1, k) = turns.back().value;
    turns.back().from_the_left(true, work.bottomRightCorner(n - k - 1, n - k - 1));
    turns.back().from_the_right(work.bottomRightCorner(n - k - 1, n - k - 1));
  }
  t.diagonal() = work.diagonal().real();
  if (!symmetric_eigen(n, t.data(), e.data(), vectors ? v.data() : nullptr)) return false;
  e *= scale;
  if (!vectors) return true;
  *vectors = v.cast<Complex>();
  apply_reflections(turns, 1, *vectors);
  turned_columns(*vectors);
  return true;
}

}  // namespace

std::vector<Complex> turned_columns(ComplexMatrix& a) {
  std::vector<Complex> turns(static_cast<std::size_t>(a.cols()), 1.0);
  for (Eigen::Index j = 0; j < a.cols(); ++j) {
    const Eigen::VectorXd sizes = a.col(j).cwiseAbs();
    const double largest = sizes.maxCoeff();
    if (!(largest > 0)) continue;
    Eigen::Index leading = 0;
    while (sizes(leading) < leading_share * largest) ++leading;
    const Complex turn = std::conj(a(leading, j)) / sizes(leading);
    a.col(j) *= turn;
    a(leading, j) = sizes(leading);
    turns[static_cast<std::size_t>(j)] = turn;
  }
  return turns;
}

ComplexSvd complex_svd(const ComplexMatrix& a, bool full, bool vectors) {
  ComplexSvd result =
      a.rows() >= a.cols() ? tall_svd(a, full, vectors) : tall_svd(a.adjoint(), full, vectors);
  if (!vectors) return result;
  if (a.rows() < a.cols()) std::swap(result.u, result.v);
  if (result.u.rows() > 0) {
    const std::vector<Complex> turns = turned_columns(result.u);
    for (Eigen::Index j = 0; j < result.s.size(); ++j) result.v.col(j) *= turns[static_cast<std::size_t>(j)];
  }
  const Eigen::Index others = result.v.cols() - result.s.size();
  if (others > 0) {  // the vectors that complete a basis
    ComplexMatrix rest = result.v.rightCols(others);
    turned_columns(rest);
    result.v.rightCols(others) = rest;
  }
  return result;
}

template <class R>
void qr(std::int64_t m, std::int64_t n, bool full, const std::complex<R>* a, std::complex<R>* q,
        std::complex<R>* r) {
  ComplexMatrix work = loaded(a, m, n);
  const Eigen::Index k = std::min(m, n), columns = full ? m : k;
  std::vector<ComplexReflection> turns;
  for (Eigen::Index j = 0; j < k; ++j) {
    check_stop();
    turns.emplace_back(work.col(j).tail(m - j));
    turns.back().from_the_left(true, work.bottomRightCorner(m - j, n - j - 1));
    work(j, j) = turns.back().value;
    work.col(j).tail(m - j - 1).setZero();
  }
  ComplexMatrix unitary = ComplexMatrix::Identity(m, columns);
  apply_reflections(turns, 0, unitary);
  store(unitary, q);
  store(work.topRows(columns), r);
}

template <class R>
void svd(std::int64_t m, std::int64_t n, bool full, const std::complex<R>* a, R* s, std::complex<R>* u,
         std::complex<R>* v) {
  const std::int64_t k = std::min(m, n);
  if (!all_finite(a, m * n)) {
    fill_nan(s, k);
    fill_nan(u, m * (full ? m : k));
    fill_nan(v, n * (full ? n : k));
    return;
  }
  const ComplexSvd result = complex_svd(loaded(a, m, n), full, u != nullptr);
  for (Eigen::Index i = 0; i < k; ++i) s[i] = static_cast<R>(result.s(i));
  if (!u) return;
  store(result.u, u);
  store(result.v, v);
}

template <class R>
bool symmetric_eigen(std::int64_t n, const std::complex<R>* a, std::complex<R>* e, std::complex<R>* v) {
  if (n == 0) return true;
  if (!all_finite(a, n * n)) {
    fill_nan(e, n);
    fill_nan(v, n * n);
    return true;
  }
  Eigen::VectorXd values(n);
  ComplexMatrix vectors;
  if (!hermitian_eigen(loaded(a, n, n), values, v ? &vectors : nullptr)) return false;
  for (Eigen::Index i = 0; i < n; ++i) e[i] = static_cast<R>(values(i));
  if (v) store(vectors, v);
  return true;
}

template <class R>
void pseudo_inverse(std::int64_t m, std::int64_t n, double rcond, const std::complex<R>* a,
                    std::complex<R>* out) {
  if (!all_finite(a, m * n)) return fill_nan(out, m * n);
  ComplexSvd svd = complex_svd(loaded(a, m, n), false, true);
  const double least = svd.s.size() == 0 ? 0.0 : rcond * svd.s.maxCoeff();
  for (Eigen::Index j = 0; j < svd.s.size(); ++j) svd.v.col(j) *= svd.s(j) > least ? 1 / svd.s(j) : 0.0;
  store(svd.v * svd.u.adjoint(), out);
}

#define TAPEDECK_COMPLEX(R)                                                                                \
  template void qr(std::int64_t, std::int64_t, bool, const std::complex<R>*, std::complex<R>*,             \
                   std::complex<R>*);                                                                      \
  template void svd(std::int64_t, std::int64_t, bool, const std::complex<R>*, R*, std::complex<R>*,        \
                    std::complex<R>*);                                                                     \
  template bool symmetric_eigen(std::int64_t, const std::complex<R>*, std::complex<R>*, std::complex<R>*); \
  template void pseudo_inverse(std::int64_t, std::int64_t, double, const std::complex<R>*, std::complex<R>*);
TAPEDECK_COMPLEX(float)
TAPEDECK_COMPLEX(double)
#undef TAPEDECK_COMPLEX

}  // namespace tapedeck::cpu
