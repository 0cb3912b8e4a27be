#include <limits>
#include <string>

#include "engine/cuda/handles.h"
#include "engine/cuda/memory.h"

namespace tapedeck::cuda {

/// Lives as long as its stream: to destroy a handle waits for the device.
struct Handles {
  cublasHandle_t products = nullptr;
  bool products_are_set = false;
  Solver solver{};
};

namespace {

Handles& handles_on(Stream& stream) {
  if (!stream.handles) stream.handles = new Handles;
  return *stream.handles;
}

/// Reports the asynchronous CUDA error behind it, if there is one. The libraries have runtimes of their own,
/// so the last error of this one may not know.
void check_behind(const char* what) {
  check(cudaGetLastError(), what);
  const cudaError_t state = cudaStreamQuery(current_stream().handle);
  if (state != cudaErrorNotReady)
    check(state, what);
  else
    cudaGetLastError();
}

/// Calls a library function; if its status is `lacking` (out of memory), frees cached memory and retries
/// once.
template <class Status, class Create>
void create(const char* name, Status lacking, Create create) {
  Status status = create();
  if (status == lacking) {
    make_room(current_device());
    status = create();
  }
  check_library(status, name);
}

}  // namespace

void check_library(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  check_behind(what);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) refuse_memory(current_device(), "cuBLAS needs memory");
  throw DeviceError(std::string(what) + " failed: " + cublasGetStatusString(status));
}
void check_library(cusolverStatus_t status, const char* what) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  check_behind(what);
  if (status == CUSOLVER_STATUS_ALLOC_FAILED) refuse_memory(current_device(), "cuSOLVER needs memory");
  throw DeviceError(std::string(what) + " failed: status " + std::to_string(static_cast<int>(status)) +
                    " of cuSOLVER");
}

cublasHandle_t products_handle() {
  Stream& stream = current_stream();
  Handles& own = handles_on(stream);
  if (!own.products_are_set) {
    if (!own.products)
      create("cublasCreate", CUBLAS_STATUS_ALLOC_FAILED, [&] { return cublasCreate(&own.products); });
    check_library(cublasSetStream(own.products, stream.handle), "cublasSetStream");
    // Otherwise partial sums of halves may be combined in half precision.
    const auto mode =
        static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    check_library(cublasSetMathMode(own.products, mode), "cublasSetMathMode");
    own.products_are_set = true;
  }
  return own.products;
}

Solver solver() {
  Stream& stream = current_stream();
  Solver& solver = handles_on(stream).solver;
  if (!solver.params) {
    if (!solver.handle)
      create("cusolverDnCreate", CUSOLVER_STATUS_ALLOC_FAILED,
             [&] { return cusolverDnCreate(&solver.handle); });
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
