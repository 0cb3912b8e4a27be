#include <limits>
#include <string>

#include "engine/cuda/handles.h"

namespace tapedeck::cuda {
namespace {

struct Handles {
  struct Pair {
    cublasHandle_t products = nullptr;
    Solver solver{};
  };
  std::array<Pair, detail::most_gpus> of_device{};
  ~Handles() {
    if (is_lost()) return;
    for (const Pair& pair : of_device) {
      if (pair.products) cublasDestroy(pair.products);
      if (pair.solver.params) cusolverDnDestroyParams(pair.solver.params);
      if (pair.solver.handle) cusolverDnDestroy(pair.solver.handle);
    }
  }
};

Handles::Pair& handles_on(const Stream& stream) {
  static thread_local Handles handles;
  return handles.of_device[static_cast<std::size_t>(stream.device)];
}

}  // namespace

void check_library(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  check(cudaGetLastError(), what);  // where an error that came late is behind it
  throw DeviceError(std::string(what) + " failed: " + cublasGetStatusString(status));
}
void check_library(cusolverStatus_t status, const char* what) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  check(cudaGetLastError(), what);
  throw DeviceError(std::string(what) + " failed: status " + std::to_string(static_cast<int>(status)) +
                    " of cuSOLVER");
}

cublasHandle_t products_handle() {
  const Stream& stream = current_stream();
  cublasHandle_t& handle = handles_on(stream).products;
  if (!handle) {
    check_library(cublasCreate(&handle), "cublasCreate");
    check_library(cublasSetStream(handle, stream.handle), "cublasSetStream");
  }
  return handle;
}

Solver solver() {
  const Stream& stream = current_stream();
  Solver& solver = handles_on(stream).solver;
  if (!solver.params) {
    if (!solver.handle) check_library(cusolverDnCreate(&solver.handle), "cusolverDnCreate");
    check_library(cusolverDnSetStream(solver.handle, stream.handle), "cusolverDnSetStream");
    check_library(cusolverDnCreateParams(&solver.params), "cusolverDnCreateParams");
  }
  return solver;
}

cudaDataType_t library_type(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return CUDA_R_64F;
    case DType::float16:
      return CUDA_R_16F;
    case DType::bfloat16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

int small_extent(std::int64_t extent, const char* what, const char* name) {
  if (extent > std::numeric_limits<int>::max())
    fail<UnimplementedError>(what, " with ", name, " = ", extent,
                             ": cuBLAS and cuSOLVER take up to 2147483647");
  return static_cast<int>(extent);
}

}  // namespace tapedeck::cuda
