#include <cmath>
#include <limits>

#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"

namespace tapedeck::cuda {
namespace {

template <class T>
__global__ void length_scales_kernel(const T* sums, const T* largest, std::int64_t count, T* scales) {
  constexpr int most = std::numeric_limits<T>::max_exponent - 2;
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) {
    const bool scaled = !kernels::keeps_digits(sums[i]) && largest[i] > T(0) && std::isfinite(largest[i]);
    const int exponent = scaled ? std::ilogb(largest[i]) : 0;
    scales[i] = std::ldexp(T(1), -(exponent < -most ? -most : exponent > most ? most : exponent));
  }
}

}  // namespace

void length_scales(DType dtype, const void* sums, const void* largest, std::int64_t count, void* scales) {
  if (dtype == DType::float32)
    launch("length_scales", grid_for(count), length_scales_kernel<float>, static_cast<const float*>(sums),
           static_cast<const float*>(largest), count, static_cast<float*>(scales));
  else
    launch("length_scales", grid_for(count), length_scales_kernel<double>, static_cast<const double*>(sums),
           static_cast<const double*>(largest), count, static_cast<double*>(scales));
}

}  // namespace tapedeck::cuda
