#include "engine/cpu/loops/incomplete_gamma.h"

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"

namespace tapedeck::cpu {
namespace {

template <class T, class Function>
void fill(Function function, const T* a, const T* x, T* out, std::int64_t count) {
  for_blocks(count, grain_for(300.0), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      out[i] = static_cast<T>(function(static_cast<double>(a[i]), static_cast<double>(x[i])));
  });
}

template <class Function>
void fill_of(DType dtype, Function function, const void* a, const void* x, void* out, std::int64_t count) {
  if (dtype == DType::float32)
    fill(function, static_cast<const float*>(a), static_cast<const float*>(x), static_cast<float*>(out),
         count);
  else
    fill(function, static_cast<const double*>(a), static_cast<const double*>(x), static_cast<double*>(out),
         count);
}

}  // namespace

void incomplete_gamma(bool upper, DType dtype, const void* a, const void* x, void* out, std::int64_t count) {
  fill_of(dtype, upper ? upper_incomplete_gamma : lower_incomplete_gamma, a, x, out, count);
}

void gamma_density(DType dtype, const void* a, const void* x, void* out, std::int64_t count) {
  fill_of(
      dtype, [](double shape, double at) { return gamma_density(shape, at); }, a, x, out, count);
}

}  // namespace tapedeck::cpu
