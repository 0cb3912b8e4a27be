// cuSOLVER by plain loops.
#include <cstring>

#include "cusolverDn.h"
#include "factorizations.h"
#include "state.h"

namespace emulation {

struct Solver {
  Stream* stream = nullptr;
};
struct SolverParameters {};

namespace {

constexpr std::size_t device_room = 512, host_room = 64;

bool is_wrong(std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  return rows < 0 || columns < 0 || stride < std::max<std::int64_t>(1, rows);
}

cusolverStatus_t sizes(bool wrong, std::size_t* on_device, std::size_t* on_host, std::size_t host_bytes = 0) {
  if (wrong) return CUSOLVER_STATUS_INVALID_VALUE;
  *on_device = device_room;
  *on_host = host_bytes;
  return CUSOLVER_STATUS_SUCCESS;
}

/// What a function writes in its room, late.
void use(void* room, std::size_t bytes) {
  if (bytes > 0) std::memset(room, 0x5a, bytes);
}

/// Puts `work(T{})` on the stream.
template <class Work>
cusolverStatus_t put(cusolverDnHandle_t handle, const char* name, cudaDataType type, Work work) {
  enqueue(handle->stream, name, [=] {
    if (type == CUDA_R_64F)
      work(double{});
    else
      work(float{});
  });
  return CUSOLVER_STATUS_SUCCESS;
}

template <class Made>
cusolverStatus_t make(Made** made, Kind kind) {
  *made = new Made;
  count_made(kind, 1);
  return CUSOLVER_STATUS_SUCCESS;
}
template <class Made>
cusolverStatus_t destroy(Made* made, Kind kind) {
  delete made;
  count_made(kind, -1);
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace
}  // namespace emulation

using namespace emulation;

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  return make(handle, Kind::solver);
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params) {
  return make(params, Kind::solver_parameters);
}
cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t* info) {
  return make(info, Kind::solver_info);
}
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t info) {
  return destroy(info, Kind::solver_info);
}
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t* info) {
  return make(info, Kind::solver_info);
}
cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t info) {
  return destroy(info, Kind::solver_info);
}

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t,
                                             std::int64_t n, cudaDataType, const void*, std::int64_t lda,
                                             cudaDataType, std::size_t* on_device, std::size_t* on_host) {
  return sizes(is_wrong(n, n, lda), on_device, on_host);
}
cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t uplo,
                                  std::int64_t n, cudaDataType type, void* a, std::int64_t lda,
                                  cudaDataType compute, void* room, std::size_t room_bytes, void*,
                                  std::size_t, int* info) {
  if (is_wrong(n, n, lda) || !params || uplo != CUBLAS_FILL_MODE_UPPER || compute != type ||
      room_bytes < device_room)
    return CUSOLVER_STATUS_INVALID_VALUE;
  return put(handle, "cusolverDnXpotrf", type, [=]<class T>(T) {
    use(room, room_bytes);
    *info = factor_positive(n, static_cast<T*>(a), lda);
  });
}

cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, std::int64_t m,
                                             std::int64_t n, cudaDataType, const void*, std::int64_t lda,
                                             cudaDataType, std::size_t* on_device, std::size_t* on_host) {
  return sizes(is_wrong(m, n, lda), on_device, on_host);
}
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, std::int64_t m,
                                  std::int64_t n, cudaDataType type, void* a, std::int64_t lda,
                                  std::int64_t* pivots, cudaDataType compute, void* room,
                                  std::size_t room_bytes, void*, std::size_t, int* info) {
  if (is_wrong(m, n, lda) || !params || compute != type || room_bytes < device_room)
    return CUSOLVER_STATUS_INVALID_VALUE;
  return put(handle, "cusolverDnXgetrf", type, [=]<class T>(T) {
    use(room, room_bytes);
    *info = eliminate(m, n, static_cast<T*>(a), lda, pivots);
  });
}

cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, std::int64_t m,
                                             std::int64_t n, cudaDataType, const void*, std::int64_t lda,
                                             cudaDataType, const void*, cudaDataType, std::size_t* on_device,
                                             std::size_t* on_host) {
  return sizes(is_wrong(m, n, lda), on_device, on_host);
}
cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, std::int64_t m,
                                  std::int64_t n, cudaDataType type, void* a, std::int64_t lda,
                                  cudaDataType tau_type, void* taus, cudaDataType compute, void* room,
                                  std::size_t room_bytes, void*, std::size_t, int* info) {
  if (is_wrong(m, n, lda) || !params || compute != type || tau_type != type || room_bytes < device_room)
    return CUSOLVER_STATUS_INVALID_VALUE;
  return put(handle, "cusolverDnXgeqrf", type, [=]<class T>(T) {
    use(room, room_bytes);
    reflect(m, n, static_cast<T*>(a), lda, static_cast<T*>(taus));
    *info = 0;
  });
}

cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
                                             cublasFillMode_t, std::int64_t n, cudaDataType, const void*,
                                             std::int64_t lda, cudaDataType, const void*, cudaDataType,
                                             std::size_t* on_device, std::size_t* on_host) {
  return sizes(is_wrong(n, n, lda), on_device, on_host, host_room);
}
cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  cusolverEigMode_t mode, cublasFillMode_t uplo, std::int64_t n,
                                  cudaDataType type, void* a, std::int64_t lda, cudaDataType w_type, void* w,
                                  cudaDataType compute, void* room, std::size_t room_bytes, void* on_host,
                                  std::size_t host_bytes, int* info) {
  if (is_wrong(n, n, lda) || !params || uplo != CUBLAS_FILL_MODE_UPPER || compute != type || w_type != type ||
      room_bytes < device_room || host_bytes < host_room)
    return CUSOLVER_STATUS_INVALID_VALUE;
  static std::uint8_t calls = 0;
  std::memset(on_host, ++calls, host_bytes);
  return put(handle, "cusolverDnXsyevd", type, [=, call = calls]<class T>(T) {
    use(room, room_bytes);
    for (std::size_t i = 0; i < host_bytes; ++i)
      if (static_cast<const std::uint8_t*>(on_host)[i] != call)
        die("cusolverDnXsyevd: somebody else has its memory of the host, and the call is not done");
    *info = diagonalize(mode == CUSOLVER_EIG_MODE_VECTOR, n, static_cast<T*>(a), lda, static_cast<T*>(w));
  });
}

cusolverStatus_t cusolverDnXgesvd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char,
                                             std::int64_t m, std::int64_t n, cudaDataType, const void*,
                                             std::int64_t lda, cudaDataType, const void*, cudaDataType,
                                             const void*, std::int64_t, cudaDataType, const void*,
                                             std::int64_t, cudaDataType, std::size_t* on_device,
                                             std::size_t* on_host) {
  return sizes(is_wrong(m, n, lda) || m < n, on_device, on_host);
}
cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t params, signed char u_job,
                                  signed char v_job, std::int64_t m, std::int64_t n, cudaDataType type,
                                  void* a, std::int64_t lda, cudaDataType s_type, void* s,
                                  cudaDataType u_type, void* u, std::int64_t ldu, cudaDataType v_type,
                                  void* vt, std::int64_t ldvt, cudaDataType compute, void* room,
                                  std::size_t room_bytes, void*, std::size_t, int* info) {
  const std::int64_t columns = u_job == 'N' ? 0 : u_job == 'A' ? m : n;
  if (is_wrong(m, n, lda) || m < n || !params || u_job != v_job || compute != type || s_type != type ||
      u_type != type || v_type != type || room_bytes < device_room ||
      (columns > 0 && (is_wrong(m, columns, ldu) || is_wrong(n, n, ldvt))))
    return CUSOLVER_STATUS_INVALID_VALUE;
  return put(handle, "cusolverDnXgesvd", type, [=]<class T>(T) {
    use(room, room_bytes);
    decompose(m, n, static_cast<T*>(a), lda, static_cast<T*>(s), columns, static_cast<T*>(u), ldu,
              static_cast<T*>(vt), ldvt, true);
    *info = 0;
  });
}

namespace {

template <class T>
cusolverStatus_t factor_positive_batch(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T** a,
                                       int lda, int* info, int batch) {
  if (is_wrong(n, n, lda) || uplo != CUBLAS_FILL_MODE_UPPER || batch < 0)
    return CUSOLVER_STATUS_INVALID_VALUE;
  enqueue(handle->stream, "potrfBatched", [=] {
    for (int i = 0; i < batch; ++i) {
      info[i] = factor_positive(n, a[i], lda);
      for (std::int64_t j = 0; j < n; ++j) std::fill_n(a[i] + j * lda + j + 1, n - j - 1, T(-7e7));
    }
  });
  return CUSOLVER_STATUS_SUCCESS;
}

template <class T>
cusolverStatus_t form_q(cusolverDnHandle_t handle, int m, int n, int k, T* a, int lda, const T* taus, T* room,
                        int room_size, int* info) {
  if (is_wrong(m, n, lda) || n > m || k > n || k < 0 || room_size < 1) return CUSOLVER_STATUS_INVALID_VALUE;
  enqueue(handle->stream, "orgqr", [=] {
    use(room, static_cast<std::size_t>(room_size) * sizeof(T));
    multiply_reflections(m, n, k, a, lda, taus);
    *info = 0;
  });
  return CUSOLVER_STATUS_SUCCESS;
}

template <class T>
cusolverStatus_t diagonalize_batch(cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t uplo,
                                   int n, T* a, int lda, T* w, int* info, syevjInfo_t params, int batch) {
  if (is_wrong(n, n, lda) || uplo != CUBLAS_FILL_MODE_UPPER || !params || batch < 0)
    return CUSOLVER_STATUS_INVALID_VALUE;
  enqueue(handle->stream, "syevjBatched", [=] {
    for (std::int64_t i = 0; i < batch; ++i)
      info[i] = diagonalize(mode == CUSOLVER_EIG_MODE_VECTOR, n, a + i * lda * n, lda, w + i * n);
  });
  return CUSOLVER_STATUS_SUCCESS;
}

template <class T>
cusolverStatus_t decompose_batch(cusolverDnHandle_t handle, cusolverEigMode_t mode, int m, int n, T* a,
                                 int lda, T* s, T* u, int ldu, T* v, int ldv, int* info, gesvdjInfo_t params,
                                 int batch) {
  if (is_wrong(m, n, lda) || m > 32 || n > 32 || is_wrong(m, m, ldu) || is_wrong(n, n, ldv) || !params ||
      batch < 0)
    return CUSOLVER_STATUS_INVALID_VALUE;
  enqueue(handle->stream, "gesvdjBatched", [=] {
    // As the real library: vectors are written in either mode, and mean something in one.
    for (std::int64_t i = 0; i < batch; ++i) {
      decompose(m, n, a + i * lda * n, lda, s + i * n, m, u + i * ldu * m, ldu, v + i * ldv * n, ldv, false);
      if (mode != CUSOLVER_EIG_MODE_VECTOR) u[i * ldu * m] = v[i * ldv * n] = T(-7e7);
      info[i] = 0;
    }
  });
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t one_size(bool wrong, int* size) {
  if (wrong) return CUSOLVER_STATUS_INVALID_VALUE;
  *size = 64;
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace

#define TAPEDECK_SOLVERS(letter, T)                                                                          \
  cusolverStatus_t cusolverDn##letter##potrfBatched(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, \
                                                    T* a[], int lda, int* info, int batch) {                 \
    return factor_positive_batch(handle, uplo, n, a, lda, info, batch);                                      \
  }                                                                                                          \
  cusolverStatus_t cusolverDn##letter##orgqr_bufferSize(cusolverDnHandle_t, int m, int n, int, const T*,     \
                                                        int lda, const T*, int* room_size) {                 \
    return one_size(is_wrong(m, n, lda), room_size);                                                         \
  }                                                                                                          \
  cusolverStatus_t cusolverDn##letter##orgqr(cusolverDnHandle_t handle, int m, int n, int k, T* a, int lda,  \
                                             const T* taus, T* room, int room_size, int* info) {             \
    return form_q(handle, m, n, k, a, lda, taus, room, room_size, info);                                     \
  }                                                                                                          \
  cusolverStatus_t cusolverDn##letter##syevjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t,        \
                                                               cublasFillMode_t, int n, const T*, int lda,   \
                                                               const T*, int* room_size, syevjInfo_t, int) { \
    return one_size(is_wrong(n, n, lda), room_size);                                                         \
  }                                                                                                          \
  cusolverStatus_t cusolverDn##letter##syevjBatched(cusolverDnHandle_t handle, cusolverEigMode_t mode,       \
                                                    cublasFillMode_t uplo, int n, T* a, int lda, T* w, T*,   \
                                                    int, int* info, syevjInfo_t params, int batch) {         \
    return diagonalize_batch(handle, mode, uplo, n, a, lda, w, info, params, batch);                         \
  }                                                                                                          \
  cusolverStatus_t cusolverDn##letter##gesvdjBatched_bufferSize(                                             \
      cusolverDnHandle_t, cusolverEigMode_t, int m, int n, const T*, int lda, const T*, const T*, int,       \
      const T*, int, int* room_size, gesvdjInfo_t, int) {                                                    \
    return one_size(is_wrong(m, n, lda), room_size);                                                         \
  }                                                                                                          \
  cusolverStatus_t cusolverDn##letter##gesvdjBatched(                                                        \
      cusolverDnHandle_t handle, cusolverEigMode_t mode, int m, int n, T* a, int lda, T* s, T* u, int ldu,   \
      T* v, int ldv, T*, int, int* info, gesvdjInfo_t params, int batch) {                                   \
    return decompose_batch(handle, mode, m, n, a, lda, s, u, ldu, v, ldv, info, params, batch);              \
  }
TAPEDECK_SOLVERS(S, float)
TAPEDECK_SOLVERS(D, double)
#undef TAPEDECK_SOLVERS
