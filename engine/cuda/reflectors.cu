// The QR decomposition.
#include <algorithm>

#include "engine/cuda/backend.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/matrix_layouts.h"
#include "engine/cuda/solvers.h"

namespace tapedeck::cuda {
namespace {

/// A reflection makes of a column a multiple of the first unit vector: of which sign, LAPACK says and
/// cuSOLVER does not. On the CPU it is the opposite of what the column's first element had, so that tau = 1 −
/// first / value is at least 1, and the negative one where that was 0.
template <class T>
__global__ void reflection_signs_kernel(std::int64_t elements, std::int64_t k, std::int64_t m,
                                        std::int64_t step, const T* r, const T* taus, T* signs) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count()) {
    const std::int64_t matrix = i / k, column = i % k;
    const T tau = taus[i], value = r[matrix * step + column * (m + 1)];
    const bool turns = tau == T(1) ? value > T(0) : tau > T(0) && tau < T(1);
    signs[i] = turns ? T(-1) : T(1);
  }
}

/// The upper triangle of column-major matrices as row-major ones of `rows` rows.
template <class T>
__global__ void triangle_kernel(std::int64_t elements, std::int64_t rows, std::int64_t columns,
                                std::int64_t k, std::int64_t m, std::int64_t step, const T* from,
                                const T* signs, T* r) {
  for (std::int64_t element = thread_number(); element < elements; element += thread_count()) {
    const std::int64_t line = element / columns, j = element - line * columns;
    const std::int64_t matrix = line / rows, i = line - matrix * rows;
    r[element] = i < k && i <= j ? from[matrix * step + j * m + i] * signs[matrix * k + i] : T(0);
  }
}

/// Signs of all columns of q: those without a row of r keep theirs.
template <class T>
__global__ void column_factors_kernel(std::int64_t elements, std::int64_t columns, std::int64_t k,
                                      const T* signs, T* factors) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count())
    factors[i] = i % columns < k ? signs[i / columns * k + i % columns] : T(1);
}

template <class T>
void decompose(std::int64_t count, std::int64_t m, std::int64_t n, bool full, const T* a, T* q, T* r) {
  const std::int64_t k = std::min(m, n), columns = full ? m : k;
  const std::int64_t step = m * std::max(n, columns);
  const Scratch work(bytes_of(count * step, sizeof(T))), taus(bytes_of(count * k, sizeof(T)));
  const Scratch signs(bytes_of(count * k, sizeof(T))), factors(bytes_of(count * columns, sizeof(T)));
  copy_transposed<T>(count, m, n, {a, n, m * n}, {work.as<T>(), m, step});
  factor_qr(count, m, n, step, work.as<T>(), taus.as<T>());
  launch("qr", grid_for(count * k), reflection_signs_kernel<T>, count * k, k, m, step, work.as<T>(),
         taus.as<T>(), signs.as<T>());
  launch("qr", grid_for(count * columns * n), triangle_kernel<T>, count * columns * n, columns, n, k, m, step,
         work.as<T>(), signs.as<T>(), r);
  launch("qr", grid_for(count * columns), column_factors_kernel<T>, count * columns, columns, k,
         signs.as<T>(), factors.as<T>());
  form_q(count, m, columns, k, step, work.as<T>(), taus.as<T>());
  copy_transposed<T>(count, columns, m, {work.as<T>(), m, step}, {q, columns, m * columns}, nullptr,
                     factors.as<T>());
}

}  // namespace

void CudaBackend::qr(const kernels::Matrices& of, bool full, const void* a, void* q, void* r) const {
  visit_real(of.dtype, [&]<class T>(T) {
    if (of.count == 0 || of.rows == 0) return;
    if (of.columns == 0) {  // nothing to reflect
      if (full) set_identity(of.count, of.rows, of.rows, static_cast<T*>(q));
      return;
    }
    decompose(of.count, of.rows, of.columns, full, static_cast<const T*>(a), static_cast<T*>(q),
              static_cast<T*>(r));
  });
}

}  // namespace tapedeck::cuda
