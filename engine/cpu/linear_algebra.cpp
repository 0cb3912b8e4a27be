#include "engine/cpu/linear_algebra.h"

#include <cmath>

#include "engine/cpu/eigen_matrices.h"

namespace tapedeck::cpu {
namespace {

template <class T>
using Lu = Eigen::PartialPivLU<Matrix<T>>;

template <class T>
Flaw zero_pivot(const Matrix<T>& triangle) {
  for (Eigen::Index i = 0; i < triangle.rows(); ++i)
    if (triangle(i, i) == T(0)) return {i, 0.0};
  return {};
}

/// The first pivot that is not positive; Eigen's blocked code says only that there is one.
template <class T>
Flaw bad_pivot(std::int64_t n, const T* a) {
  Matrix<T> l = read(a, n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    const T pivot = l(i, i) - l.row(i).head(i).squaredNorm();
    if (!(pivot > T(0)) || i == n - 1) return {i, static_cast<double>(pivot)};
    l(i, i) = std::sqrt(pivot);
    const auto below = n - i - 1;
    l.col(i).tail(below) =
        ((l.col(i).tail(below) - l.bottomLeftCorner(below, i) * l.row(i).head(i).transpose()) / l(i, i))
            .eval();
  }
  return {};
}

}  // namespace

template <class T>
Flaw cholesky(std::int64_t n, const T* a, T* l) {
  if (n == 0) return {};
  const Eigen::LLT<Matrix<T>> llt(read(a, n, n));
  if (llt.info() != Eigen::Success) return bad_pivot(n, a);
  write(l, n, n) = llt.matrixL();
  return {};
}

template <class T>
Flaw inverse(std::int64_t n, bool transposed, const T* a, T* out) {
  if (n == 0) return {};
  const Lu<T> lu(read(a, n, n));
  if (const Flaw flaw = zero_pivot(lu.matrixLU())) return flaw;
  if (transposed)
    write(out, n, n) = lu.inverse().transpose();
  else
    write(out, n, n) = lu.inverse();
  return {};
}

template <class T>
Flaw solve(std::int64_t n, std::int64_t m, bool transposed, const T* a, const T* b, T* x) {
  if (n == 0) return {};
  const Lu<T> lu(read(a, n, n));
  if (const Flaw flaw = zero_pivot(lu.matrixLU())) return flaw;
  const Matrix<T> right = read(b, n, m);
  if (transposed)
    write(x, n, m) = lu.transpose().solve(right);
  else
    write(x, n, m) = lu.solve(right);
  return {};
}

template <class T>
Flaw triangular_solve(std::int64_t n, std::int64_t m, bool lower, bool transposed, const T* a, const T* b,
                      T* x) {
  for (std::int64_t i = 0; i < n; ++i)
    if (a[i * n + i] == T(0)) return {i, 0.0};
  const auto matrix = read(a, n, n);
  auto result = write(x, n, m);
  result = read(b, n, m);
  if (lower && transposed)
    matrix.transpose().template triangularView<Eigen::Upper>().solveInPlace(result);
  else if (lower)
    matrix.template triangularView<Eigen::Lower>().solveInPlace(result);
  else if (transposed)
    matrix.transpose().template triangularView<Eigen::Lower>().solveInPlace(result);
  else
    matrix.template triangularView<Eigen::Upper>().solveInPlace(result);
  return {};
}

template <class T>
T determinant(std::int64_t n, const T* a) {
  return n == 0 ? T(1) : Lu<T>(read(a, n, n)).determinant();
}

template <class T>
void log_determinant(std::int64_t n, const T* a, T* sign, T* log) {
  *sign = T(1);
  *log = T(0);
  if (n == 0) return;
  const Lu<T> lu(read(a, n, n));
  *sign = static_cast<T>(lu.permutationP().determinant());
  for (std::int64_t i = 0; i < n; ++i) {
    const T pivot = lu.matrixLU()(i, i);
    *log += std::log(std::abs(pivot));
    *sign = pivot == T(0) ? T(0) : pivot < T(0) ? -*sign : pivot > T(0) ? *sign : pivot;
  }
}

template <class T>
Flaw lu(std::int64_t n, const T* a, T* packed, std::int64_t* order) {
  if (n == 0) return {};
  const Lu<T> decomposition(read(a, n, n));
  if (const Flaw flaw = zero_pivot(decomposition.matrixLU())) return flaw;
  write(packed, n, n) = decomposition.matrixLU();
  const auto& rows = decomposition.permutationP().indices();  // row i of a goes to place rows(i)
  for (std::int64_t i = 0; i < n; ++i) order[rows(i)] = i;
  return {};
}

template <class T>
void qr(std::int64_t m, std::int64_t n, bool full, const T* a, T* q, T* r) {
  const std::int64_t least = std::min(m, n);
  const std::int64_t columns = full ? m : least;
  if (least == 0) {
    write(q, m, columns).setIdentity();
    return;
  }
  const Eigen::HouseholderQR<Matrix<T>> decomposition(read(a, m, n));
  Matrix<T> orthogonal = Matrix<T>::Identity(m, columns);
  orthogonal.applyOnTheLeft(decomposition.householderQ());
  write(q, m, columns) = orthogonal;
  auto triangle = write(r, columns, n);
  triangle.setZero();
  triangle.topRows(least) = decomposition.matrixQR().topRows(least).template triangularView<Eigen::Upper>();
}

template <class T>
void svd(std::int64_t m, std::int64_t n, bool full, const T* a, T* s, T* u, T* v) {
  const std::int64_t least = std::min(m, n);
  if (least == 0) {
    if (u) write(u, m, full ? m : 0).setIdentity();
    if (v) write(v, n, full ? n : 0).setIdentity();
    return;
  }
  if (!all_finite(a, m * n)) {
    fill_nan(s, least);
    fill_nan(u, m * (full ? m : least));
    fill_nan(v, n * (full ? n : least));
    return;
  }
  unsigned int parts = 0;
  if (u) parts |= full ? Eigen::ComputeFullU : Eigen::ComputeThinU;
  if (v) parts |= full ? Eigen::ComputeFullV : Eigen::ComputeThinV;
  const Eigen::BDCSVD<Matrix<T>> decomposition(read(a, m, n), parts);
  std::copy_n(decomposition.singularValues().data(), least, s);
  if (u) write(u, m, full ? m : least) = decomposition.matrixU();
  if (v) write(v, n, full ? n : least) = decomposition.matrixV();
}

template <class T>
bool symmetric_eigen(std::int64_t n, const T* a, T* e, T* v) {
  if (n == 0) return true;
  bool finite = true;
  for (std::int64_t row = 0; row < n; ++row) finite = finite && all_finite(a + row * n, row + 1);
  if (!finite) {
    fill_nan(e, n);
    fill_nan(v, n * n);
    return true;
  }
  const Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(
      read(a, n, n), v ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
  std::copy_n(solver.eigenvalues().data(), n, e);
  if (v) write(v, n, n) = solver.eigenvectors();
  return solver.info() == Eigen::Success;
}

template <class T>
void pseudo_inverse(std::int64_t m, std::int64_t n, double rcond, const T* a, T* out) {
  if (m == 0 || n == 0) return;
  if (!all_finite(a, m * n)) return fill_nan(out, m * n);
  const Eigen::BDCSVD<Matrix<T>> decomposition(read(a, m, n), Eigen::ComputeThinU | Eigen::ComputeThinV);
  auto values = decomposition.singularValues().eval();
  const T least = static_cast<T>(rcond) * values(0);
  for (auto& value : values) value = value > least ? T(1) / value : T(0);
  write(out, n, m) = decomposition.matrixV() * values.asDiagonal() * decomposition.matrixU().transpose();
}

#define TAPEDECK_REAL(T)                                                                          \
  template Flaw cholesky(std::int64_t, const T*, T*);                                             \
  template Flaw inverse(std::int64_t, bool, const T*, T*);                                        \
  template Flaw solve(std::int64_t, std::int64_t, bool, const T*, const T*, T*);                  \
  template Flaw triangular_solve(std::int64_t, std::int64_t, bool, bool, const T*, const T*, T*); \
  template T determinant(std::int64_t, const T*);                                                 \
  template void log_determinant(std::int64_t, const T*, T*, T*);                                  \
  template Flaw lu(std::int64_t, const T*, T*, std::int64_t*);                                    \
  template void qr(std::int64_t, std::int64_t, bool, const T*, T*, T*);                           \
  template void svd(std::int64_t, std::int64_t, bool, const T*, T*, T*, T*);                      \
  template bool symmetric_eigen(std::int64_t, const T*, T*, T*);                                  \
  template void pseudo_inverse(std::int64_t, std::int64_t, double, const T*, T*);
TAPEDECK_REAL(float)
TAPEDECK_REAL(double)
#undef TAPEDECK_REAL

}  // namespace tapedeck::cpu
