#include <algorithm>
#include <type_traits>

#include "engine/cuda/handles.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/linear_algebra/solvers.h"

namespace tapedeck::cuda {
namespace {

constexpr std::int64_t most_batched = 256;  ///< rows: larger matrices keep a GPU busy one by one
constexpr std::int64_t most_rotated = 32;   ///< what cusolverDnXgesvdjBatched takes

bool goes_together(std::int64_t count, std::int64_t n, std::int64_t most = most_batched) {
  return count > 1 && n <= most;
}

template <class T>
constexpr cudaDataType_t type_of = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;
/// The function of T's precision.
template <class T, class Single, class Double>
constexpr auto of_precision(Single single, Double wide) {
  if constexpr (std::is_same_v<T, float>)
    return single;
  else
    return wide;
}

template <class T>
__global__ void pointers_kernel(std::int64_t count, T* first, std::int64_t step, T** pointers) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) pointers[i] = first + i * step;
}

/// On the device: where each matrix begins.
template <class T>
class Pointers {
 public:
  Pointers(std::int64_t count, T* first, std::int64_t step)
      : memory_(static_cast<std::size_t>(count) * sizeof(T*)) {
    launch("pointers", grid_for(count), pointers_kernel<T>, count, first, step, data());
  }
  T** data() const { return memory_.template as<T*>(); }

 private:
  Scratch memory_;
};

/// Memory that calls of a function of cuSOLVER's 64-bit interface work in, one after another. Nothing says
/// when cuSOLVER reads and writes that of the host: each call has its own, until the stream has come behind
/// all of them.
class Workspace {
 public:
  Workspace(std::size_t on_device, std::size_t on_host, std::int64_t calls)
      : device_bytes(on_device),
        host_bytes(on_host),
        stream_(current_stream()),
        device_(on_device),
        host_(on_host > 0 ? new std::byte[on_host * static_cast<std::size_t>(calls)] : nullptr) {}
  ~Workspace() {
    if (!host_) return;
    // A stream that fails here is lost, and then it is unknown when the memory may be freed.
    cudaLaunchHostFunc(
        stream_.handle, [](void* memory) { delete[] static_cast<std::byte*>(memory); }, host_);
    stream_.note_work();
  }
  Workspace(const Workspace&) = delete;

  const std::size_t device_bytes, host_bytes;
  void* on_device() const { return device_.data(); }
  void* on_host(std::int64_t call) const {
    return host_ ? host_ + host_bytes * static_cast<std::size_t>(call) : nullptr;
  }

 private:
  Stream& stream_;
  Scratch device_;
  std::byte* const host_;
};

/// Notes the work on the stream when it is done.
class Work {
 public:
  explicit Work(const char* name) : stream_(current_stream()) { stream_.note_kernel(name); }
  ~Work() { stream_.note_work(); }
  Work(const Work&) = delete;

 private:
  Stream& stream_;
};

/// A thread for each matrix: the exchanges of LAPACK, from 1, one after the other.
template <class Pivot>
__global__ void orders_kernel(std::int64_t count, std::int64_t n, const Pivot* pivots, std::int64_t* orders,
                              int* signs) {
  for (std::int64_t matrix = thread_number(); matrix < count; matrix += thread_count()) {
    std::int64_t* order = orders + matrix * n;
    int sign = 1;
    for (std::int64_t i = 0; i < n; ++i) order[i] = i;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto other = static_cast<std::int64_t>(pivots[matrix * n + i]) - 1;
      // A matrix that is not finite may have left no pivot.
      if (other <= i || other >= n) continue;
      const std::int64_t row = order[i];
      order[i] = order[other];
      order[other] = row;
      sign = -sign;
    }
    signs[matrix] = sign;
  }
}

template <class Pivot>
void make_orders(std::int64_t count, std::int64_t n, const Pivot* pivots, std::int64_t* orders, int* signs) {
  launch("orders", grid_for(count, 1, 32), orders_kernel<Pivot>, count, n, pivots, orders, signs);
}

}  // namespace

template <class T>
void factor_cholesky(std::int64_t count, std::int64_t n, T* a, int* info) {
  const Work work("cholesky");
  const Solver with = solver();
  if (goes_together(count, n)) {
    const Pointers<T> matrices(count, a, n * n);
    const auto factor = of_precision<T>(cusolverDnSpotrfBatched, cusolverDnDpotrfBatched);
    return check_library(factor(with.handle, CUBLAS_FILL_MODE_UPPER, static_cast<int>(n), matrices.data(),
                                static_cast<int>(n), info, small_extent(count, "cholesky", "matrices")),
                         "cholesky");
  }
  std::size_t on_device = 0, on_host = 0;
  check_library(cusolverDnXpotrf_bufferSize(with.handle, with.params, CUBLAS_FILL_MODE_UPPER, n, type_of<T>,
                                            a, n, type_of<T>, &on_device, &on_host),
                "cholesky");
  const Workspace room(on_device, on_host, count);
  for (std::int64_t i = 0; i < count; ++i)
    check_library(cusolverDnXpotrf(with.handle, with.params, CUBLAS_FILL_MODE_UPPER, n, type_of<T>,
                                   a + i * n * n, n, type_of<T>, room.on_device(), room.device_bytes,
                                   room.on_host(i), room.host_bytes, info + i),
                  "cholesky");
}

template <class T>
void factor_lu(std::int64_t count, std::int64_t n, T* a, std::int64_t* orders, int* signs, int* info) {
  const Work work("lu");
  const auto values = static_cast<std::size_t>(count * n);
  if (goes_together(count, n)) {
    const Pointers<T> matrices(count, a, n * n);
    const Scratch pivots(values * sizeof(int));
    const auto factor = of_precision<T>(cublasSgetrfBatched, cublasDgetrfBatched);
    check_library(factor(products_handle(), static_cast<int>(n), matrices.data(), static_cast<int>(n),
                         pivots.as<int>(), info, small_extent(count, "lu", "matrices")),
                  "lu");
    return make_orders(count, n, pivots.as<int>(), orders, signs);
  }
  const Solver with = solver();
  const Scratch pivots(values * sizeof(std::int64_t));
  std::size_t on_device = 0, on_host = 0;
  check_library(cusolverDnXgetrf_bufferSize(with.handle, with.params, n, n, type_of<T>, a, n, type_of<T>,
                                            &on_device, &on_host),
                "lu");
  const Workspace room(on_device, on_host, count);
  for (std::int64_t i = 0; i < count; ++i)
    check_library(cusolverDnXgetrf(with.handle, with.params, n, n, type_of<T>, a + i * n * n, n,
                                   pivots.as<std::int64_t>() + i * n, type_of<T>, room.on_device(),
                                   room.device_bytes, room.on_host(i), room.host_bytes, info + i),
                  "lu");
  make_orders(count, n, pivots.as<std::int64_t>(), orders, signs);
}

template <class T>
void solve_from_the_right(std::int64_t count, std::int64_t m, std::int64_t n, const TriangleOf& of,
                          const T* a, T* x) {
  const Work work("triangular_solve");
  const cublasFillMode_t triangle = of.lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  const cublasOperation_t operation = of.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasDiagType_t diagonal = of.unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
  const int rows = small_extent(m, "a triangular system", "columns");
  const int columns = small_extent(n, "a triangular system", "rows");
  const T one = T(1);
  if (goes_together(count, n)) {
    const Pointers<const T> matrices(count, a, n * n);
    const Pointers<T> right(count, x, m * n);
    const auto solve = of_precision<T>(cublasStrsmBatched, cublasDtrsmBatched);
    return check_library(solve(products_handle(), CUBLAS_SIDE_RIGHT, triangle, operation, diagonal, rows,
                               columns, &one, matrices.data(), columns, right.data(), rows,
                               small_extent(count, "a triangular system", "matrices")),
                         "a triangular system");
  }
  const auto solve = of_precision<T>(cublasStrsm, cublasDtrsm);
  for (std::int64_t i = 0; i < count; ++i)
    check_library(solve(products_handle(), CUBLAS_SIDE_RIGHT, triangle, operation, diagonal, rows, columns,
                        &one, a + i * n * n, columns, x + i * m * n, rows),
                  "a triangular system");
}

template <class T>
void factor_qr(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t step, T* a, T* taus) {
  const Work work("qr");
  const Solver with = solver();
  std::size_t on_device = 0, on_host = 0;
  check_library(cusolverDnXgeqrf_bufferSize(with.handle, with.params, m, n, type_of<T>, a, m, type_of<T>,
                                            taus, type_of<T>, &on_device, &on_host),
                "qr");
  const Workspace room(on_device, on_host, count);
  const Scratch info(sizeof(int));  // it reports only wrong arguments
  for (std::int64_t i = 0; i < count; ++i)
    check_library(cusolverDnXgeqrf(with.handle, with.params, m, n, type_of<T>, a + i * step, m, type_of<T>,
                                   taus + i * std::min(m, n), type_of<T>, room.on_device(), room.device_bytes,
                                   room.on_host(i), room.host_bytes, info.as<int>()),
                  "qr");
}

template <class T>
void form_q(std::int64_t count, std::int64_t m, std::int64_t columns, std::int64_t k, std::int64_t step, T* a,
            const T* taus) {
  const Work work("qr");
  const Solver with = solver();
  const int rows = small_extent(m, "qr", "rows"), width = small_extent(columns, "qr", "columns");
  const auto size_of = of_precision<T>(cusolverDnSorgqr_bufferSize, cusolverDnDorgqr_bufferSize);
  const auto form = of_precision<T>(cusolverDnSorgqr, cusolverDnDorgqr);
  int values = 0;
  check_library(size_of(with.handle, rows, width, static_cast<int>(k), a, rows, taus, &values), "qr");
  const Scratch room(static_cast<std::size_t>(values) * sizeof(T)), info(sizeof(int));
  for (std::int64_t i = 0; i < count; ++i)
    check_library(form(with.handle, rows, width, static_cast<int>(k), a + i * step, rows, taus + i * k,
                       room.as<T>(), values, info.as<int>()),
                  "qr");
}

template <class T>
void factor_symmetric(bool vectors, std::int64_t count, std::int64_t n, T* a, T* e, int* info) {
  const Work work("symmetric_eigen");
  const Solver with = solver();
  const cusolverEigMode_t mode = vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
  if (goes_together(count, n, most_rotated)) {
    // By rotations, which the library sorts by default.
    struct Parameters {
      syevjInfo_t handle = nullptr;
      Parameters() { check_library(cusolverDnCreateSyevjInfo(&handle), "symmetric_eigen"); }
      ~Parameters() { cusolverDnDestroySyevjInfo(handle); }
    } parameters;
    const int matrices = small_extent(count, "symmetric_eigen", "matrices"), extent = static_cast<int>(n);
    const auto size_of =
        of_precision<T>(cusolverDnSsyevjBatched_bufferSize, cusolverDnDsyevjBatched_bufferSize);
    const auto factor = of_precision<T>(cusolverDnSsyevjBatched, cusolverDnDsyevjBatched);
    int values = 0;
    check_library(size_of(with.handle, mode, CUBLAS_FILL_MODE_UPPER, extent, a, extent, e, &values,
                          parameters.handle, matrices),
                  "symmetric_eigen");
    const Scratch room(static_cast<std::size_t>(values) * sizeof(T));
    return check_library(factor(with.handle, mode, CUBLAS_FILL_MODE_UPPER, extent, a, extent, e, room.as<T>(),
                                values, info, parameters.handle, matrices),
                         "symmetric_eigen");
  }
  std::size_t on_device = 0, on_host = 0;
  check_library(
      cusolverDnXsyevd_bufferSize(with.handle, with.params, mode, CUBLAS_FILL_MODE_UPPER, n, type_of<T>, a, n,
                                  type_of<T>, e, type_of<T>, &on_device, &on_host),
      "symmetric_eigen");
  const Workspace room(on_device, on_host, count);
  for (std::int64_t i = 0; i < count; ++i)
    check_library(cusolverDnXsyevd(with.handle, with.params, mode, CUBLAS_FILL_MODE_UPPER, n, type_of<T>,
                                   a + i * n * n, n, type_of<T>, e + i * n, type_of<T>, room.on_device(),
                                   room.device_bytes, room.on_host(i), room.host_bytes, info + i),
                  "symmetric_eigen");
}

bool gives_whole_vectors(std::int64_t count, std::int64_t m) {
  return goes_together(count, m, most_rotated);
}

namespace {

template <class T>
void rotate_singular(std::int64_t count, std::int64_t m, std::int64_t n, T* a, T* s,
                     const SingularVectors<T>& to) {
  struct Parameters {
    gesvdjInfo_t handle = nullptr;
    Parameters() { check_library(cusolverDnCreateGesvdjInfo(&handle), "svd"); }
    ~Parameters() { cusolverDnDestroyGesvdjInfo(handle); }
  } parameters;
  const Solver with = solver();
  const cusolverEigMode_t mode = to.u ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
  // The library (12.0) also writes vectors that were not requested.
  const Scratch unasked_u(to.u ? 0 : static_cast<std::size_t>(count * m * m) * sizeof(T)),
      unasked_v(to.v ? 0 : static_cast<std::size_t>(count * n * n) * sizeof(T));
  T* const u = to.u ? to.u : unasked_u.as<T>();
  T* const v = to.v ? to.v : unasked_v.as<T>();
  const int rows = static_cast<int>(m), columns = static_cast<int>(n);
  const int matrices = small_extent(count, "svd", "matrices");
  const auto size_of =
      of_precision<T>(cusolverDnSgesvdjBatched_bufferSize, cusolverDnDgesvdjBatched_bufferSize);
  const auto factor = of_precision<T>(cusolverDnSgesvdjBatched, cusolverDnDgesvdjBatched);
  int values = 0;
  check_library(size_of(with.handle, mode, rows, columns, a, rows, s, u, rows, v, columns, &values,
                        parameters.handle, matrices),
                "svd");
  const Scratch room(static_cast<std::size_t>(values) * sizeof(T));
  const Scratch info(static_cast<std::size_t>(count) * sizeof(int));
  check_library(factor(with.handle, mode, rows, columns, a, rows, s, u, rows, v, columns, room.as<T>(),
                       values, info.as<int>(), parameters.handle, matrices),
                "svd");
}

}  // namespace

template <class T>
void factor_singular(std::int64_t count, std::int64_t m, std::int64_t n, bool full, T* a, T* s,
                     const SingularVectors<T>& to) {
  const Work work("svd");
  if (gives_whole_vectors(count, m)) return rotate_singular(count, m, n, a, s, to);
  const Solver with = solver();
  const signed char job = !to.u ? 'N' : full ? 'A' : 'S';
  std::size_t on_device = 0, on_host = 0;
  check_library(cusolverDnXgesvd_bufferSize(with.handle, with.params, job, job, m, n, type_of<T>, a, m,
                                            type_of<T>, s, type_of<T>, to.u, m, type_of<T>, to.vt, n,
                                            type_of<T>, &on_device, &on_host),
                "svd");
  const Workspace room(on_device, on_host, count);
  const Scratch info(sizeof(int));  // as on the CPU, an iteration that did not converge gives its last values
  const std::int64_t size_of_u = to.u ? m * (full ? m : n) : 0, size_of_v = to.u ? n * n : 0;
  for (std::int64_t i = 0; i < count; ++i)
    check_library(cusolverDnXgesvd(with.handle, with.params, job, job, m, n, type_of<T>, a + i * m * n, m,
                                   type_of<T>, s + i * n, type_of<T>, to.u + i * size_of_u, m, type_of<T>,
                                   to.vt + i * size_of_v, n, type_of<T>, room.on_device(), room.device_bytes,
                                   room.on_host(i), room.host_bytes, info.as<int>()),
                  "svd");
}

#define TAPEDECK_REAL(T)                                                                                    \
  template void factor_cholesky(std::int64_t, std::int64_t, T*, int*);                                      \
  template void factor_lu(std::int64_t, std::int64_t, T*, std::int64_t*, int*, int*);                       \
  template void solve_from_the_right(std::int64_t, std::int64_t, std::int64_t, const TriangleOf&, const T*, \
                                     T*);                                                                   \
  template void factor_qr(std::int64_t, std::int64_t, std::int64_t, std::int64_t, T*, T*);                  \
  template void form_q(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, T*, const T*); \
  template void factor_symmetric(bool, std::int64_t, std::int64_t, T*, T*, int*);                           \
  template void factor_singular(std::int64_t, std::int64_t, std::int64_t, bool, T*, T*,                     \
                                const SingularVectors<T>&);
TAPEDECK_REAL(float)
TAPEDECK_REAL(double)
#undef TAPEDECK_REAL

}  // namespace tapedeck::cuda
