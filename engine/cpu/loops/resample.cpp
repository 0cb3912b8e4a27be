#include <algorithm>

#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t few_channels = 8;

template <class T>
const ResampleLoops<T>& loops_of() {
  if constexpr (std::is_same_v<T, float>)
    return loops().resample_float;
  else
    return loops().resample_double;
}

template <class T>
void resample_typed(const ResampleSize& s, const T* x, const std::int64_t* indices, const T* weights,
                    T* out) {
  const ResampleLoops<T>& of = loops_of<T>();
  const double cost = 0.3 * static_cast<double>(s.taps * s.inner);
  if (s.inner <= few_channels) {
    for_blocks(s.outer, grain_for(cost * static_cast<double>(s.count)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t o = begin; o < end; ++o)
                   of.blend_pixels(x + o * s.extent * s.inner, s.inner, indices, weights, s.taps, s.count,
                                   out + o * s.count * s.inner);
               });
    return;
  }
  for_blocks(s.outer * s.count, grain_for(cost), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t j = at % s.count;
      of.blend_rows(x + at / s.count * s.extent * s.inner, s.inner, indices + j * s.taps,
                    weights + j * s.taps, s.taps, out + at * s.inner);
    }
  });
}

template <class T>
void gradient_typed(const ResampleSize& s, const T* dy, const std::int64_t* indices, const T* weights,
                    T* out) {
  const ResampleLoops<T>& of = loops_of<T>();
  const double cost = 0.5 * static_cast<double>(s.taps * s.count * s.inner + s.extent * s.inner);
  for_blocks(s.outer, grain_for(cost), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      T* sums = out + o * s.extent * s.inner;
      std::fill_n(sums, s.extent * s.inner, T(0));
      for (std::int64_t j = 0; j < s.count; ++j)
        of.spread_row(dy + (o * s.count + j) * s.inner, s.inner, indices + j * s.taps, weights + j * s.taps,
                      s.taps, sums);
    }
  });
}

}  // namespace

void resample(DType dtype, const ResampleSize& size, const void* x, const std::int64_t* indices,
              const void* weights, void* out) {
  if (dtype == DType::float32)
    resample_typed(size, static_cast<const float*>(x), indices, static_cast<const float*>(weights),
                   static_cast<float*>(out));
  else
    resample_typed(size, static_cast<const double*>(x), indices, static_cast<const double*>(weights),
                   static_cast<double*>(out));
}

void resample_gradient(DType dtype, const ResampleSize& size, const void* dy, const std::int64_t* indices,
                       const void* weights, void* out) {
  if (dtype == DType::float32)
    gradient_typed(size, static_cast<const float*>(dy), indices, static_cast<const float*>(weights),
                   static_cast<float*>(out));
  else
    gradient_typed(size, static_cast<const double*>(dy), indices, static_cast<const double*>(weights),
                   static_cast<double*>(out));
}

}  // namespace tapedeck::cpu
