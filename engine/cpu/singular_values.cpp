#include "engine/cpu/eigen_matrices.h"
#include "engine/cpu/linear_algebra.h"

namespace tapedeck::cpu {

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
void pseudo_inverse(std::int64_t m, std::int64_t n, double rcond, const T* a, T* out) {
  if (m == 0 || n == 0) return;
  if (!all_finite(a, m * n)) return fill_nan(out, m * n);
  const Eigen::BDCSVD<Matrix<T>> decomposition(read(a, m, n), Eigen::ComputeThinU | Eigen::ComputeThinV);
  auto values = decomposition.singularValues().eval();
  const T least = static_cast<T>(rcond) * values(0);
  for (auto& value : values) value = value > least ? T(1) / value : T(0);
  write(out, n, m) = decomposition.matrixV() * values.asDiagonal() * decomposition.matrixU().transpose();
}

#define TAPEDECK_REAL(T)                                                     \
  template void svd(std::int64_t, std::int64_t, bool, const T*, T*, T*, T*); \
  template void pseudo_inverse(std::int64_t, std::int64_t, double, const T*, T*);
TAPEDECK_REAL(float)
TAPEDECK_REAL(double)
#undef TAPEDECK_REAL

}  // namespace tapedeck::cpu
