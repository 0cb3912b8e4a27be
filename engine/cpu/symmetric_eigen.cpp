#include "engine/cpu/eigen_matrices.h"
#include "engine/cpu/linear_algebra.h"

namespace tapedeck::cpu {

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

template bool symmetric_eigen(std::int64_t, const float*, float*, float*);
template bool symmetric_eigen(std::int64_t, const double*, double*, double*);

}  // namespace tapedeck::cpu
