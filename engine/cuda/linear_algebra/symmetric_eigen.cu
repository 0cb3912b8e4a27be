#include "engine/cuda/kernels.h"
#include "engine/cuda/linear_algebra/matrix_layouts.h"
#include "engine/cuda/linear_algebra/solvers.h"
#include "engine/cuda/loops/matrix_failures.h"

namespace tapedeck::cuda {
namespace {

/// cuSOLVER sees numbers up to 1, and of a matrix that is not finite zeros: it may not come back from NaN.
template <class T>
void decompose(const kernels::Matrices& of, const T* a, T* e, T* v, const kernels::FailureText& text) {
  const std::int64_t count = of.count, n = of.rows;
  const Scratch scales(bytes_of(count, sizeof(T))), work(bytes_of(count * n * n, sizeof(T)));
  const Scratch info(bytes_of(count, sizeof(int)));
  find_scales(count, n * n, n, true, a, scales.as<T>());
  divide_by_scales(count, n * n, a, scales.as<T>(), work.as<T>());
  factor_symmetric(v != nullptr, count, n, work.as<T>(), e, info.as<int>());
  report_failures(count, info.as<int>(), text);
  multiply_by_scales(count, n, scales.as<T>(), e);
  if (!v) return;
  const Scratch signs(bytes_of(count * n, sizeof(T)));
  find_signs<T>(count,
                {.values = work.as<T>(), .count = n, .length = n, .vector = n, .element = 1, .step = n * n},
                0, scales.as<T>(), n, signs.as<T>());
  copy_transposed<T>(count, n, n, {work.as<T>(), n, n * n}, {v, n, n * n}, nullptr, signs.as<T>());
}

}  // namespace

std::optional<kernels::MatrixFailure> symmetric_eigen(const Matrices& of, const void* a, void* e, void* v,
                                                      const FailureText& text) {
  if (of.count == 0 || of.rows == 0) return {};
  visit_real(of.dtype, [&]<class T>(T) {
    decompose(of, static_cast<const T*>(a), static_cast<T*>(e), static_cast<T*>(v), text);
  });
  return {};
}

}  // namespace tapedeck::cuda
