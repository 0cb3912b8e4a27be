// Eigenvalues of any square matrix, and functions of complex ones, by Schur's form.
#include <numbers>
#include <optional>

#include "engine/cpu/linear_algebra/complex_matrices.h"
#include "engine/cpu/linear_algebra/complex_steps.h"
#include "engine/cpu/linear_algebra/matrix_exponential.h"
#include "engine/cpu/linear_algebra/panel_rows.h"
#include "engine/cpu/linear_algebra/triangular_logarithm.h"
#include "engine/cpu/linear_algebra/watched_matrix.h"

namespace tapedeck::cpu {
namespace {

/// a = u·t·uᴴ with t upper triangular, by the Hessenberg form (Golub and Van Loan, algorithm 7.4.2); nullopt
/// if the iteration does not converge.
std::optional<ComplexSchurForm> schur_of(const ComplexMatrix& a) {
  const Eigen::Index n = a.rows();
  const double scale = scale_of(a.cwiseAbs().maxCoeff());
  ComplexMatrix h = a / scale, q = ComplexMatrix::Identity(n, n);
  std::vector<ComplexReflection> turns;
  for (Eigen::Index k = 0; k + 1 < n; ++k) {
    check_stop();
    turns.emplace_back(h.col(k).tail(n - k - 1));
    turns.back().from_the_left(true, h.bottomRightCorner(n - k - 1, n - k - 1));
    turns.back().from_the_right(h.rightCols(n - k - 1));
    h(k + 1, k) = turns.back().value;
    h.col(k).tail(n - k - 2).setZero();
  }
  apply_reflections(turns, 1, q);
  // Some steps at a time, between which a user's interrupt takes effect; more of them than exceptional shifts
  // need.
  constexpr Eigen::Index at_once = 25, most_for_each = 30;
  ComplexSchurForm form{std::move(h), std::move(q)};
  Eigen::ComplexSchur<ComplexMatrix> schur(n);
  schur.setMaxIterations(at_once);
  for (Eigen::Index steps = 0;; steps += at_once) {
    check_stop();
    schur.computeFromHessenberg(form.t, form.u, true);
    form = {schur.matrixT(), schur.matrixU()};
    if (schur.info() == Eigen::Success) break;
    if (steps > most_for_each * n) return std::nullopt;
  }
  form.t *= scale;
  form.t.triangularView<Eigen::StrictlyLower>().setZero();
  return form;
}

/// u·triangle·uᴴ
ComplexMatrix turned_back(const ComplexSchurForm& schur, const ComplexMatrix& triangle) {
  return product(product(schur.u, triangle), schur.u.adjoint());
}

/// The eigenvectors of t, each 1 at the position of its eigenvalue, by back-substitution. Where values are
/// equal the difference counts as that of rounding, as LAPACK's ztrevc does.
ComplexMatrix vectors_of_triangle(const ComplexMatrix& t) {
  const Eigen::Index n = t.rows();
  const double least = std::max(t.cwiseAbs().maxCoeff() * std::numeric_limits<double>::epsilon(),
                                std::numeric_limits<double>::min());
  ComplexMatrix vectors = ComplexMatrix::Identity(n, n);
  for (Eigen::Index k = 0; k < n; ++k) {
    check_stop();
    for (Eigen::Index i = k - 1; i >= 0; --i) {
      Complex apart = t(k, k) - t(i, i);
      if (std::abs(apart) < least) apart = least;
      const Eigen::Index known = k - i;
      const Complex sum = t.row(i).segment(i + 1, known) * vectors.col(k).segment(i + 1, known);
      vectors(i, k) = sum / apart;
      const double size = std::abs(vectors(i, k));
      if (size > 1e100) divide(vectors.col(k), size);  // eigenvalues of high multiplicity
    }
  }
  return vectors;
}

void write_lengths_of_one(ComplexMatrix& vectors) {
  for (Eigen::Index j = 0; j < vectors.cols(); ++j) vectors.col(j) /= vectors.col(j).stableNorm();
  turned_columns(vectors);
}

struct Eigensystem {
  ComplexVector values;
  ComplexMatrix vectors;
};

std::optional<Eigensystem> eigensystem_of(const ComplexMatrix& a, bool vectors) {
  const std::optional<ComplexSchurForm> schur = schur_of(a);
  if (!schur) return std::nullopt;
  Eigensystem system{schur->t.diagonal(), {}};
  if (!vectors) return system;
  system.vectors = product(schur->u, vectors_of_triangle(schur->t));
  write_lengths_of_one(system.vectors);
  return system;
}

/// Of a real matrix: real values have real vectors, and the others come in conjugate pairs, exactly.
std::optional<Eigensystem> eigensystem_of(const Matrix<double>& a, bool vectors) {
  const double scale = scale_of(a.size() == 0 ? 0.0 : a.cwiseAbs().maxCoeff());
  RealSchurForm real;
  if (!real_schur(a / scale, true, real)) return std::nullopt;
  const ComplexSchurForm schur = complex_schur(real);
  Eigensystem system{schur.t.diagonal(), {}};
  if (vectors) {
    system.vectors = product(schur.u, vectors_of_triangle(schur.t));
    write_lengths_of_one(system.vectors);
  }
  for (Eigen::Index k = 0; k < a.rows(); ++k) {
    if (k + 1 < a.rows() && real.t(k + 1, k) != 0 && system.values(k).imag() != 0) {
      system.values(k + 1) = std::conj(system.values(k));
      if (vectors) system.vectors.col(k + 1) = system.vectors.col(k).conjugate();
      ++k;
    } else if (k == 0 || real.t(k, k - 1) == 0) {
      system.values(k) = system.values(k).real();
      if (!vectors) continue;
      system.vectors.col(k) = system.vectors.col(k).real().cast<Complex>().eval();
      system.vectors.col(k).normalize();
    }
  }
  system.values *= scale;
  return system;
}

/// The root of an upper triangular matrix, column by column (Å. Björck and S. Hammarling, Linear Algebra and
/// its Applications 52/53, 1983).
std::optional<ComplexMatrix> root_of_triangle(const ComplexMatrix& t) {
  const Eigen::Index n = t.rows();
  ComplexMatrix root = ComplexMatrix::Zero(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    check_stop();
    root(j, j) = std::sqrt(t(j, j));
    for (Eigen::Index i = j - 1; i >= 0; --i) {
      const Eigen::Index between = j - i - 1;
      Complex rest = t(i, j);
      const Complex products = root.row(i).segment(i + 1, between) * root.col(j).segment(i + 1, between);
      if (between > 0) rest -= products;
      const Complex sum = root(i, i) + root(j, j);
      if (sum != 0.0)
        root(i, j) = rest / sum;
      else if (rest != 0.0)
        return std::nullopt;
    }
  }
  return root;
}

std::optional<ComplexMatrix> root_of_complex(const ComplexMatrix& a) {
  const std::optional<ComplexSchurForm> schur = schur_of(a);
  if (!schur) return std::nullopt;
  const std::optional<ComplexMatrix> root = root_of_triangle(schur->t);
  if (!root) return std::nullopt;
  return turned_back(*schur, *root);
}

std::optional<ComplexMatrix> logarithm_of_complex(const ComplexMatrix& a) {
  const Eigen::Index n = a.rows();
  // ln 2ᵉB = e·ln 2 + ln B
  int exponent = 0;
  std::frexp(a.cwiseAbs().maxCoeff(), &exponent);
  if (std::abs(exponent) <= 64) exponent = 0;
  const std::optional<ComplexSchurForm> schur = schur_of(a * std::ldexp(1.0, -exponent));
  if (!schur || (schur->t.diagonal().array() == 0.0).any()) return std::nullopt;
  const std::optional<ComplexMatrix> triangle = logarithm_of_triangle(schur->t);
  if (!triangle) return std::nullopt;
  return turned_back(*schur, *triangle) + exponent * std::numbers::ln2 * ComplexMatrix::Identity(n, n);
}

/// By the real matrix [Re −Im; Im Re], whose functions have the same form.
std::optional<ComplexMatrix> exponential_of_complex(const ComplexMatrix& a) {
  const Eigen::Index n = a.rows();
  Matrix<double> both(2 * n, 2 * n);
  both << a.real(), -a.imag(), a.imag(), a.real();
  const Matrix<double> result = exponential_of(both);
  ComplexMatrix out(n, n);
  out.real() = result.topLeftCorner(n, n);
  out.imag() = result.bottomLeftCorner(n, n);
  return out;
}

/// NaN if a value is not finite; false if f is undefined, or its value overflows R.
template <class R>
bool apply_to_complex(std::int64_t n, const std::complex<R>* a, std::complex<R>* out,
                      std::optional<ComplexMatrix> (*f)(const ComplexMatrix&)) {
  if (n == 0) return true;
  if (!all_finite(a, n * n)) {
    fill_nan(out, n * n);
    return true;
  }
  const std::optional<ComplexMatrix> result = f(loaded(a, n, n));
  if (result) store(*result, out);
  return result && all_finite(out, n * n);
}

}  // namespace

template <class R, class T>
bool general_eigen(std::int64_t n, const T* a, std::complex<R>* e, std::complex<R>* v) {
  if (n == 0) return true;
  if (!all_finite(a, n * n)) {
    fill_nan(e, n);
    fill_nan(v, n * n);
    return true;
  }
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, Complex>;
  const Matrix<Wide> matrix = read(a, n, n).template cast<Wide>();
  const std::optional<Eigensystem> system = eigensystem_of(matrix, v != nullptr);
  if (!system) return false;
  for (Eigen::Index i = 0; i < n; ++i) e[i] = std::complex<R>(system->values(i));
  if (v) store(system->vectors, v);
  return true;
}

template <class R>
bool square_root(std::int64_t n, const std::complex<R>* a, std::complex<R>* out) {
  return apply_to_complex(n, a, out, root_of_complex);
}
template <class R>
void exponential(std::int64_t n, const std::complex<R>* a, std::complex<R>* out) {
  apply_to_complex(n, a, out, exponential_of_complex);
}
template <class R>
bool logarithm(std::int64_t n, const std::complex<R>* a, std::complex<R>* out) {
  return apply_to_complex(n, a, out, logarithm_of_complex);
}

#define TAPEDECK_COMPLEX(R)                                                                              \
  template bool general_eigen(std::int64_t, const R*, std::complex<R>*, std::complex<R>*);               \
  template bool general_eigen(std::int64_t, const std::complex<R>*, std::complex<R>*, std::complex<R>*); \
  template bool square_root(std::int64_t, const std::complex<R>*, std::complex<R>*);                     \
  template void exponential(std::int64_t, const std::complex<R>*, std::complex<R>*);                     \
  template bool logarithm(std::int64_t, const std::complex<R>*, std::complex<R>*);
TAPEDECK_COMPLEX(float)
TAPEDECK_COMPLEX(double)
#undef TAPEDECK_COMPLEX

}  // namespace tapedeck::cpu
