// Convolutions by their definition for non-finite values: a zero of the padding times infinity would be NaN.
#include "engine/cuda/convolutions/convolution_windows.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/memory.h"

namespace tapedeck::cuda {
namespace {

using kernels::ConvolutionSize;

/// Strides of the filter: ConvolutionSize's.
template <class Index>
struct FilterSteps {
  Index position, in, group;
  explicit FilterSteps(const ConvolutionSize& s)
      : position(static_cast<Index>(s.position_stride)),
        in(static_cast<Index>(s.in_stride)),
        group(static_cast<Index>(s.group_stride)) {}
};

template <class T>
__global__ void find_not_finite(const T* values, std::int64_t count, int* found) {
  for (std::int64_t at = thread_number(); at < count; at += thread_count())
    if (!(values[at] - values[at] == T{})) *found = 1;
}

template <class T, class Index>
__global__ void convolve_again(Windows<Index> w, FilterSteps<Index> steps, Divisor<Index> channels,
                               Index count, const int* needed, const T* input, const T* filter, T* out) {
  if (*needed == 0) return;
  const Index channels_in = w.channels_in;
  for (std::int64_t at = thread_number(); at < count; at += thread_count()) {
    const Index i_pixel = static_cast<Index>(at) / channels,
                channel = static_cast<Index>(at) - i_pixel * channels;
    const Index group = channel / w.channels_out;
    const T* own = filter + group * steps.group + (channel - group * w.channels_out);
    const auto pixel = Windows<Index>::pixel_of(i_pixel, w.output);
    double sum = 0;
    for (Index i = 0; i < w.kernel[0]; ++i)
      for (Index j = 0; j < w.kernel[1]; ++j) {
        const Index from = w.under(pixel, i, j);
        if (from < 0) continue;
        const T* under = input + (static_cast<std::int64_t>(from) * w.groups + group) * channels_in;
        const T* weights = own + (i * w.kernel[1] + j) * steps.position;
        for (Index c = 0; c < channels_in; ++c)
          sum += static_cast<double>(under[c]) * static_cast<double>(weights[c * steps.in]);
      }
    out[at] = static_cast<T>(sum);
  }
}

/// Numbers the elements of a group's place: input channels × output channels.
template <class T, class Index>
__global__ void sum_taps_again(Windows<Index> w, FilterSteps<Index> steps, Index count, Index pixels,
                               const T* input, const T* gradient, T* out) {
  for (std::int64_t at = thread_number(); at < count; at += thread_count()) {
    const Index row = static_cast<Index>(at) / w.channels_out,
                o = static_cast<Index>(at) - row * w.channels_out;
    const Index places = row / w.channels_in, c = row - places * w.channels_in;
    const Index rows = places / w.kernel[1], j = places - rows * w.kernel[1];
    const Index group = rows / w.kernel[0], i = rows - group * w.kernel[0];
    T& result = out[group * steps.group + (i * w.kernel[1] + j) * steps.position + c * steps.in + o];
    if (result == result) continue;
    double sum = 0;
    for (Index pixel = 0; pixel < pixels; ++pixel) {
      const Index from = w.under(Windows<Index>::pixel_of(pixel, w.output), i, j);
      if (from < 0) continue;
      sum += static_cast<double>(
                 input[(static_cast<std::int64_t>(from) * w.groups + group) * w.channels_in + c]) *
             static_cast<double>(
                 gradient[(static_cast<std::int64_t>(pixel) * w.groups + group) * w.channels_out + o]);
    }
    result = static_cast<T>(sum);
  }
}

}  // namespace

template <class T>
void repair_convolution(const ConvolutionSize& size, const T* input, const T* filter, T* out) {
  const Scratch needed(sizeof(int));
  check(cudaMemsetAsync(needed.as<int>(), 0, sizeof(int), stream()), "convolution");
  launch("convolution", grid_for(size.filter_count()), find_not_finite<T>, filter, size.filter_count(),
         needed.as<int>());
  with_windows(size, 0, [&]<class Index>(const Windows<Index>& windows) {
    launch("convolution", grid_for(size.output_count()), convolve_again<T, Index>, windows,
           FilterSteps<Index>(size), Divisor<Index>(size.groups * size.channels_out),
           static_cast<Index>(size.output_count()), needed.as<int>(), input, filter, out);
  });
}

template <class T>
void repair_filter_gradient(const ConvolutionSize& size, const T* input, const T* gradient, T* out) {
  with_windows(size, 0, [&]<class Index>(const Windows<Index>& windows) {
    launch("convolution_filter_gradient", grid_for(size.filter_count()), sum_taps_again<T, Index>, windows,
           FilterSteps<Index>(size), static_cast<Index>(size.filter_count()),
           static_cast<Index>(output_pixels(size)), input, gradient, out);
  });
}

#define TAPEDECK_OF(T)                                                              \
  template void repair_convolution(const ConvolutionSize&, const T*, const T*, T*); \
  template void repair_filter_gradient(const ConvolutionSize&, const T*, const T*, T*);
TAPEDECK_OF(float)
TAPEDECK_OF(double)
#undef TAPEDECK_OF

}  // namespace tapedeck::cuda
