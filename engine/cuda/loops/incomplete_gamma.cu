#include "engine/cpu/loops/incomplete_gamma.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"

namespace tapedeck::cuda {
namespace {

// Not inlined: kernels of both dtypes share the function that takes nvcc most of its time.
struct Lower {
  [[gnu::noinline]] __device__ static double of(double a, double x) {
    return cpu::lower_incomplete_gamma(a, x);
  }
};
struct Upper {
  [[gnu::noinline]] __device__ static double of(double a, double x) {
    return cpu::upper_incomplete_gamma(a, x);
  }
};
struct Density {
  [[gnu::noinline]] __device__ static double of(double a, double x) { return cpu::gamma_density(a, x); }
};

template <class Function, class T>
__global__ void gamma_kernel(const T* a, const T* x, T* out, std::int64_t count) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count())
    out[i] = static_cast<T>(Function::of(static_cast<double>(a[i]), static_cast<double>(x[i])));
}

template <class Function>
void evaluate(const char* name, DType dtype, const void* a, const void* x, void* out, std::int64_t count) {
  if (dtype == DType::float32)
    launch(name, grid_for(count), gamma_kernel<Function, float>, static_cast<const float*>(a),
           static_cast<const float*>(x), static_cast<float*>(out), count);
  else
    launch(name, grid_for(count), gamma_kernel<Function, double>, static_cast<const double*>(a),
           static_cast<const double*>(x), static_cast<double*>(out), count);
}

}  // namespace

void incomplete_gamma(bool upper, DType dtype, const void* a, const void* x, void* out, std::int64_t count) {
  if (upper)
    evaluate<Upper>("incomplete_gamma", dtype, a, x, out, count);
  else
    evaluate<Lower>("incomplete_gamma", dtype, a, x, out, count);
}

void gamma_density(DType dtype, const void* a, const void* x, void* out, std::int64_t count) {
  evaluate<Density>("gamma_density", dtype, a, x, out, count);
}

}  // namespace tapedeck::cuda
