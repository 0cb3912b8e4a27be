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

#define TAPEDECK_REAL(T)                                                                          \
  template Flaw cholesky(std::int64_t, const T*, T*);                                             \
  template Flaw inverse(std::int64_t, bool, const T*, T*);                                        \
  template Flaw solve(std::int64_t, std::int64_t, bool, const T*, const T*, T*);                  \
  template Flaw triangular_solve(std::int64_t, std::int64_t, bool, bool, const T*, const T*, T*); \
  template T determinant(std::int64_t, const T*);                                                 \
  template void log_determinant(std::int64_t, const T*, T*, T*);                                  \
  template Flaw lu(std::int64_t, const T*, T*, std::int64_t*);                                    \
  template void qr(std::int64_t, std::int64_t, bool, const T*, T*, T*);
TAPEDECK_REAL(float)
TAPEDECK_REAL(double)
#undef TAPEDECK_REAL

}  // namespace tapedeck::cpu
