// Weighted sums of rows and of pixels.
#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/vector/math.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

// Sums go in doubles: if weights add up to 1, equal values stay unchanged.

/// out = Σ weights[k]·(row indices[k] of x), rows of `inner` values.
template <class T>
void blend_rows(const T* x, std::int64_t inner, const std::int64_t* indices, const T* weights,
                std::int64_t taps, T* __restrict out) {
  if (taps == 2) {
    const T* __restrict first = x + indices[0] * inner, * __restrict second = x + indices[1] * inner;
    const double weight = weights[0], other = weights[1];
    for (std::int64_t i = 0; i < inner; ++i)
      out[i] =
          static_cast<T>(weight * static_cast<double>(first[i]) + other * static_cast<double>(second[i]));
    return;
  }
  constexpr std::int64_t strip = 256;
  double sums[strip];
  for (std::int64_t begin = 0; begin < inner; begin += strip) {
    const std::int64_t width = std::min(strip, inner - begin);
    const T* __restrict first = x + indices[0] * inner + begin;
    for (std::int64_t i = 0; i < width; ++i)
      sums[i] = static_cast<double>(weights[0]) * static_cast<double>(first[i]);
    for (std::int64_t k = 1; k < taps; ++k) {
      const T* __restrict row = x + indices[k] * inner + begin;
      const double w = weights[k];
      for (std::int64_t i = 0; i < width; ++i) sums[i] += w * static_cast<double>(row[i]);
    }
    for (std::int64_t i = 0; i < width; ++i) out[begin + i] = static_cast<T>(sums[i]);
  }
}

/// The same for `count` consecutive places, with few channels.
template <std::int64_t channels, class T>
void blend_pixels_of(const T* __restrict x, const std::int64_t* __restrict indices,
                     const T* __restrict weights, std::int64_t taps, std::int64_t count, T* __restrict out) {
  for (std::int64_t j = 0; j < count; ++j) {
    double sums[channels];
    const T* first = x + indices[j * taps] * channels;
    for (std::int64_t c = 0; c < channels; ++c)
      sums[c] = static_cast<double>(weights[j * taps]) * static_cast<double>(first[c]);
    for (std::int64_t k = 1; k < taps; ++k) {
      const T* pixel = x + indices[j * taps + k] * channels;
      const double w = weights[j * taps + k];
      for (std::int64_t c = 0; c < channels; ++c) sums[c] += w * static_cast<double>(pixel[c]);
    }
    for (std::int64_t c = 0; c < channels; ++c) out[j * channels + c] = static_cast<T>(sums[c]);
  }
}

template <class T>
void blend_pixels(const T* x, std::int64_t channels, const std::int64_t* indices, const T* weights,
                  std::int64_t taps, std::int64_t count, T* out) {
  if (channels == 1) return blend_pixels_of<1>(x, indices, weights, taps, count, out);
  if (channels == 3) return blend_pixels_of<3>(x, indices, weights, taps, count, out);
  if (channels == 4) return blend_pixels_of<4>(x, indices, weights, taps, count, out);
  for (std::int64_t j = 0; j < count; ++j)
    blend_rows(x, channels, indices + j * taps, weights + j * taps, taps, out + j * channels);
}

/// Adds weights[k]·row to row indices[k] of `sums`.
template <class T>
void spread_row(const T* __restrict row, std::int64_t inner, const std::int64_t* indices, const T* weights,
                std::int64_t taps, T* sums) {
  for (std::int64_t k = 0; k < taps; ++k) {
    T* __restrict target = sums + indices[k] * inner;
    const T w = weights[k];
    for (std::int64_t i = 0; i < inner; ++i) target[i] += w * row[i];
  }
}

template <class T>
ResampleLoops<T> loops_of() {
  return {blend_rows<T>, blend_pixels<T>, spread_row<T>};
}

}  // namespace

void add_resample(LoopTable& table) {
  table.resample_float = loops_of<float>();
  table.resample_double = loops_of<double>();
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
