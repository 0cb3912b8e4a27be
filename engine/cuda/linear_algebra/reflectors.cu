// The QR decomposition.
#include <algorithm>

#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/linear_algebra/matrix_layouts.h"
#include "engine/cuda/linear_algebra/solvers.h"

namespace tapedeck::cuda {
namespace {

/// The upper triangle of column-major matrices as row-major ones of `rows` rows; NaN where the scale is.
template <class T>
__global__ void triangle_kernel(std::int64_t elements, std::int64_t rows, std::int64_t columns,
                                std::int64_t m, std::int64_t step, const T* from, const T* scales, T* r) {
  for (std::int64_t element = thread_number(); element < elements; element += thread_count()) {
    const std::int64_t line = element / columns, j = element - line * columns;
    const std::int64_t matrix = line / rows, i = line - matrix * rows;
    const T scale = scales[matrix];
    r[element] = i > j ? T(0) : scale != scale ? scale : from[matrix * step + j * m + i];
  }
}

/// cuSOLVER reflects as LAPACK does, whose signs are the CPU's: a column becomes a multiple of the first unit
/// vector with the opposite sign of its own first element, and keeps its sign where nothing is below that.
template <class T>
void decompose(std::int64_t count, std::int64_t m, std::int64_t n, bool full, const T* a, T* q, T* r) {
  const std::int64_t k = std::min(m, n), columns = full ? m : k;
  const std::int64_t step = m * std::max(n, columns);
  const Scratch work(bytes_of(count * step, sizeof(T))), taus(bytes_of(count * k, sizeof(T)));
  const Scratch scales(bytes_of(count, sizeof(T)));
  find_scales(count, m * n, n, false, a, scales.as<T>());
  copy_transposed<T>(count, m, n, {a, n, m * n}, {work.as<T>(), m, step});
  factor_qr(count, m, n, step, work.as<T>(), taus.as<T>());
  launch("qr", grid_for(count * columns * n), triangle_kernel<T>, count * columns * n, columns, n, m, step,
         work.as<T>(), scales.as<T>(), r);
  form_q(count, m, columns, k, step, work.as<T>(), taus.as<T>());
  copy_transposed<T>(count, columns, m, {work.as<T>(), m, step}, {q, columns, m * columns});
  set_nan_by_scales(count, m * columns, scales.as<T>(), q);
}

}  // namespace

void qr(const Matrices& of, bool full, const void* a, void* q, void* r) {
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
