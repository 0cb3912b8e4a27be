#include "engine/cuda/index.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/loops/elements.h"

namespace tapedeck::cuda {
namespace {

/// sum + a·b, rounded twice as on the CPU.
__device__ __forceinline__ float plus_product(float sum, float a, float b) {
  return __fadd_rn(sum, __fmul_rn(a, b));
}
__device__ __forceinline__ double plus_product(double sum, double a, double b) {
  return __dadd_rn(sum, __dmul_rn(a, b));
}

template <class T, class Number>
__global__ void resample_kernel(kernels::ResampleSize s, const T* x, const std::int64_t* indices,
                                const T* weights, T* out, Number results) {
  const auto inner = static_cast<Number>(s.inner), count = static_cast<Number>(s.count);
  for (auto n = static_cast<Number>(thread_number()); n < results; n += static_cast<Number>(thread_count())) {
    const Number row = n / inner, o = row / count;
    const auto first = static_cast<std::int64_t>(row - o * count) * s.taps;
    const T* from = x + static_cast<std::int64_t>(o) * s.extent * s.inner + (n - row * inner);
    double sum = static_cast<double>(weights[first]) * static_cast<double>(from[indices[first] * s.inner]);
    for (std::int64_t k = first + 1; k < first + s.taps; ++k)
      sum =
          plus_product(sum, static_cast<double>(weights[k]), static_cast<double>(from[indices[k] * s.inner]));
    out[n] = static_cast<T>(sum);
  }
}

/// A value that a row of dy gives to a place.
template <class T>
struct Tap {
  std::int64_t row;
  T weight;
};

/// Brings the taps into the order of their places: those of place e are ordered[begins[e]] to
/// ordered[begins[e + 1] − 1], in the order in which the CPU adds them. A thread for each tap and for each
/// begin counts the elements before.
template <class T>
__global__ void order_taps_kernel(kernels::ResampleSize s, const std::int64_t* indices, const T* weights,
                                  std::int64_t* begins, Tap<T>* ordered) {
  const std::int64_t taps = s.count * s.taps;
  for (std::int64_t n = thread_number(); n < taps + s.extent + 1; n += thread_count()) {
    const std::int64_t place = n < taps ? indices[n] : n - taps;
    const std::int64_t equal_ones = n < taps ? n : 0;  // of places that are the same, those up to here
    std::int64_t before = 0;
    for (std::int64_t m = 0; m < equal_ones; ++m) before += indices[m] <= place ? 1 : 0;
    for (std::int64_t m = equal_ones; m < taps; ++m) before += indices[m] < place ? 1 : 0;
    if (n < taps)
      ordered[before] = {n / s.taps, weights[n]};
    else
      begins[place] = before;
  }
}

template <class T, class Number>
__global__ void resample_gradient_kernel(kernels::ResampleSize s, const T* dy, const std::int64_t* begins,
                                         const Tap<T>* ordered, T* out, Number results) {
  const auto inner = static_cast<Number>(s.inner), extent = static_cast<Number>(s.extent);
  for (auto n = static_cast<Number>(thread_number()); n < results; n += static_cast<Number>(thread_count())) {
    const Number row = n / inner, o = row / extent, e = row - o * extent;
    const T* from = dy + static_cast<std::int64_t>(o) * s.count * s.inner + (n - row * inner);
    T sum = T(0);
    for (std::int64_t at = begins[e]; at < begins[e + 1]; ++at)
      sum = plus_product(sum, ordered[at].weight, from[ordered[at].row * s.inner]);
    out[n] = sum;
  }
}

template <class T>
void resample_typed(const kernels::ResampleSize& size, const void* x, const std::int64_t* indices,
                    const void* weights, void* out) {
  const std::int64_t results = size.outer * size.count * size.inner;
  visit_index(results, [&]<class Number>(Number) {
    launch("resample", grid_for(results), resample_kernel<T, Number>, size, static_cast<const T*>(x), indices,
           static_cast<const T*>(weights), static_cast<T*>(out), static_cast<Number>(results));
  });
}

template <class T>
void gradient_typed(const kernels::ResampleSize& size, const void* dy, const std::int64_t* indices,
                    const void* weights, void* out) {
  const std::int64_t results = size.outer * size.extent * size.inner;
  if (results == 0) return;
  const std::int64_t taps = size.count * size.taps;
  const Scratch begins(static_cast<std::size_t>(size.extent + 1) * sizeof(std::int64_t));
  const Scratch ordered(static_cast<std::size_t>(taps) * sizeof(Tap<T>));
  launch("resample_gradient", grid_for(taps + size.extent + 1, 1, 128), order_taps_kernel<T>, size, indices,
         static_cast<const T*>(weights), begins.as<std::int64_t>(), ordered.as<Tap<T>>());
  visit_index(results, [&]<class Number>(Number) {
    launch("resample_gradient", grid_for(results), resample_gradient_kernel<T, Number>, size,
           static_cast<const T*>(dy), begins.as<std::int64_t>(), ordered.as<Tap<T>>(), static_cast<T*>(out),
           static_cast<Number>(results));
  });
}

}  // namespace

void resample(DType dtype, const ResampleSize& size, const void* x, const std::int64_t* indices,
              const void* weights, void* out) {
  if (dtype == DType::float32)
    resample_typed<float>(size, x, indices, weights, out);
  else
    resample_typed<double>(size, x, indices, weights, out);
}

void resample_gradient(DType dtype, const ResampleSize& size, const void* dy, const std::int64_t* indices,
                       const void* weights, void* out) {
  if (dtype == DType::float32)
    gradient_typed<float>(size, dy, indices, weights, out);
  else
    gradient_typed<double>(size, dy, indices, weights, out);
}

}  // namespace tapedeck::cuda
