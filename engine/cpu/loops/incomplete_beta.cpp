#include "engine/cpu/loops/incomplete_beta.h"

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"

namespace tapedeck::cpu {
namespace {

template <class T, class Function>
void fill(Function function, const T* a, const T* b, const T* x, T* out, std::int64_t count) {
  for_blocks(count, grain_for(400.0), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      out[i] = static_cast<T>(
          function(static_cast<double>(a[i]), static_cast<double>(b[i]), static_cast<double>(x[i])));
  });
}

template <class Function>
void fill_of(DType dtype, Function function, const void* a, const void* b, const void* x, void* out,
             std::int64_t count) {
  if (dtype == DType::float32)
    fill(function, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<const float*>(x),
         static_cast<float*>(out), count);
  else
    fill(function, static_cast<const double*>(a), static_cast<const double*>(b),
         static_cast<const double*>(x), static_cast<double*>(out), count);
}

}  // namespace

void incomplete_beta(DType dtype, const void* a, const void* b, const void* x, void* out,
                     std::int64_t count) {
  const auto function = [](double p, double q, double at) { return incomplete_beta(p, q, at); };
  fill_of(dtype, function, a, b, x, out, count);
}

void beta_density(DType dtype, const void* a, const void* b, const void* x, void* out, std::int64_t count) {
  const auto function = [](double p, double q, double at) { return beta_density(p, q, at); };
  fill_of(dtype, function, a, b, x, out, count);
}

}  // namespace tapedeck::cpu
