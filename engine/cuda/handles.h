// The handles of cuBLAS and cuSOLVER: one for each stream.
#pragma once

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <cstdint>

#include "engine/cuda/runtime.h"
#include "engine/tensor/dtype.h"

namespace tapedeck::cuda {

void check_library(cublasStatus_t status, const char* what);
void check_library(cusolverStatus_t status, const char* what);

/// Of the calling thread and the current device.
cublasHandle_t products_handle();
struct Solver {
  cusolverDnHandle_t handle;
  cusolverDnParams_t params;
};
Solver solver();

cudaDataType_t library_type(DType dtype);
/// An extent as the libraries' 32-bit functions take it. Throws UnimplementedError for "`what` with `name` =
/// …" if it is larger.
int small_extent(std::int64_t extent, const char* what, const char* name);

}  // namespace tapedeck::cuda
