#include "engine/cpu/loops/incomplete_beta.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"

namespace tapedeck::cuda {
namespace {

// Not inlined: kernels of both dtypes share the function that takes nvcc most of its time.
struct Regularized {
  [[gnu::noinline]] __device__ static double of(double a, double b, double x) {
    return cpu::incomplete_beta(a, b, x);
  }
};
struct Density {
  [[gnu::noinline]] __device__ static double of(double a, double b, double x) {
    return cpu::beta_density(a, b, x);
  }
};

template <class Function, class T>
__global__ void beta_kernel(const T* a, const T* b, const T* x, T* out, std::int64_t count) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count())
    out[i] = static_cast<T>(
        Function::of(static_cast<double>(a[i]), static_cast<double>(b[i]), static_cast<double>(x[i])));
}

template <class Function>
void evaluate(const char* name, DType dtype, const void* a, const void* b, const void* x, void* out,
              std::int64_t count) {
  if (dtype == DType::float32)
    launch(name, grid_for(count), beta_kernel<Function, float>, static_cast<const float*>(a),
           static_cast<const float*>(b), static_cast<const float*>(x), static_cast<float*>(out), count);
  else
    launch(name, grid_for(count), beta_kernel<Function, double>, static_cast<const double*>(a),
           static_cast<const double*>(b), static_cast<const double*>(x), static_cast<double*>(out), count);
}

}  // namespace

void incomplete_beta(DType dtype, const void* a, const void* b, const void* x, void* out,
                     std::int64_t count) {
  evaluate<Regularized>("incomplete_beta", dtype, a, b, x, out, count);
}

void beta_density(DType dtype, const void* a, const void* b, const void* x, void* out, std::int64_t count) {
  evaluate<Density>("beta_density", dtype, a, b, x, out, count);
}

}  // namespace tapedeck::cuda
