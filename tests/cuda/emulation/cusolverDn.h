// The part of cuSOLVER that the engine uses, by plain loops (factorizations.h). Results are written when the
// stream reaches the call; host workspace must stay reserved for it until then.
#pragma once

#include "cublas_v2.h"

enum cusolverStatus_t {
  CUSOLVER_STATUS_SUCCESS = 0,
  CUSOLVER_STATUS_ALLOC_FAILED = 2,
  CUSOLVER_STATUS_INVALID_VALUE = 3
};
enum cusolverEigMode_t { CUSOLVER_EIG_MODE_NOVECTOR = 0, CUSOLVER_EIG_MODE_VECTOR = 1 };
namespace emulation {
struct Solver;
struct SolverParameters;
}  // namespace emulation
using cudaDataType = cudaDataType_t;
using cusolverDnHandle_t = emulation::Solver*;
using cusolverDnParams_t = emulation::SolverParameters*;
using syevjInfo_t = emulation::SolverParameters*;
using gesvdjInfo_t = emulation::SolverParameters*;

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream);
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params);
cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t* info);
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t info);
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t* info);
cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t info);

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cublasFillMode_t uplo, std::int64_t n, cudaDataType type,
                                             const void* a, std::int64_t lda, cudaDataType compute,
                                             std::size_t* on_device, std::size_t* on_host);
cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t uplo,
                                  std::int64_t n, cudaDataType type, void* a, std::int64_t lda,
                                  cudaDataType compute, void* room, std::size_t room_bytes, void* host_room,
                                  std::size_t host_bytes, int* info);
cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             std::int64_t m, std::int64_t n, cudaDataType type, const void* a,
                                             std::int64_t lda, cudaDataType compute, std::size_t* on_device,
                                             std::size_t* on_host);
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, std::int64_t m,
                                  std::int64_t n, cudaDataType type, void* a, std::int64_t lda,
                                  std::int64_t* pivots, cudaDataType compute, void* room,
                                  std::size_t room_bytes, void* host_room, std::size_t host_bytes, int* info);
cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             std::int64_t m, std::int64_t n, cudaDataType type, const void* a,
                                             std::int64_t lda, cudaDataType tau_type, const void* taus,
                                             cudaDataType compute, std::size_t* on_device,
                                             std::size_t* on_host);
cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, std::int64_t m,
                                  std::int64_t n, cudaDataType type, void* a, std::int64_t lda,
                                  cudaDataType tau_type, void* taus, cudaDataType compute, void* room,
                                  std::size_t room_bytes, void* host_room, std::size_t host_bytes, int* info);
cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cusolverEigMode_t mode, cublasFillMode_t uplo, std::int64_t n,
                                             cudaDataType type, const void* a, std::int64_t lda,
                                             cudaDataType w_type, const void* w, cudaDataType compute,
                                             std::size_t* on_device, std::size_t* on_host);
cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  cusolverEigMode_t mode, cublasFillMode_t uplo, std::int64_t n,
                                  cudaDataType type, void* a, std::int64_t lda, cudaDataType w_type, void* w,
                                  cudaDataType compute, void* room, std::size_t room_bytes, void* host_room,
                                  std::size_t host_bytes, int* info);
cusolverStatus_t cusolverDnXgesvd_bufferSize(
    cusolverDnHandle_t handle, cusolverDnParams_t params, signed char u_job, signed char v_job,
    std::int64_t m, std::int64_t n, cudaDataType type, const void* a, std::int64_t lda, cudaDataType s_type,
    const void* s, cudaDataType u_type, const void* u, std::int64_t ldu, cudaDataType v_type, const void* vt,
    std::int64_t ldvt, cudaDataType compute, std::size_t* on_device, std::size_t* on_host);
cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t params, signed char u_job,
                                  signed char v_job, std::int64_t m, std::int64_t n, cudaDataType type,
                                  void* a, std::int64_t lda, cudaDataType s_type, void* s,
                                  cudaDataType u_type, void* u, std::int64_t ldu, cudaDataType v_type,
                                  void* vt, std::int64_t ldvt, cudaDataType compute, void* room,
                                  std::size_t room_bytes, void* host_room, std::size_t host_bytes, int* info);

#define TAPEDECK_SOLVERS(letter, T)                                                                          \
  /* Destroys the other triangle. */                                                                         \
  cusolverStatus_t cusolverDn##letter##potrfBatched(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, \
                                                    T* a[], int lda, int* info, int batch);                  \
  cusolverStatus_t cusolverDn##letter##orgqr_bufferSize(cusolverDnHandle_t handle, int m, int n, int k,      \
                                                        const T* a, int lda, const T* taus, int* room_size); \
  cusolverStatus_t cusolverDn##letter##orgqr(cusolverDnHandle_t handle, int m, int n, int k, T* a, int lda,  \
                                             const T* taus, T* room, int room_size, int* info);              \
  cusolverStatus_t cusolverDn##letter##syevjBatched_bufferSize(                                              \
      cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t uplo, int n, const T* a, int lda,  \
      const T* w, int* room_size, syevjInfo_t params, int batch);                                            \
  cusolverStatus_t cusolverDn##letter##syevjBatched(                                                         \
      cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t uplo, int n, T* a, int lda, T* w,  \
      T* room, int room_size, int* info, syevjInfo_t params, int batch);                                     \
  /* Matrices of up to 32 rows and columns; U is m × m and V n × n. */                                     \
  cusolverStatus_t cusolverDn##letter##gesvdjBatched_bufferSize(                                             \
      cusolverDnHandle_t handle, cusolverEigMode_t mode, int m, int n, const T* a, int lda, const T* s,      \
      const T* u, int ldu, const T* v, int ldv, int* room_size, gesvdjInfo_t params, int batch);             \
  cusolverStatus_t cusolverDn##letter##gesvdjBatched(                                                        \
      cusolverDnHandle_t handle, cusolverEigMode_t mode, int m, int n, T* a, int lda, T* s, T* u, int ldu,   \
      T* v, int ldv, T* room, int room_size, int* info, gesvdjInfo_t params, int batch);
TAPEDECK_SOLVERS(S, float)
TAPEDECK_SOLVERS(D, double)
#undef TAPEDECK_SOLVERS
