#include "engine/cuda/convolutions/convolution_windows.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/loops/channel_sums.h"

namespace tapedeck::cuda {
namespace {

using kernels::ConvolutionSize;

template <class T, class Index>
__global__ void convolve_channels(Windows<Index> w, Divisor<Index> channels, Index count,
                                  Index position_stride, Index group_stride, const T* input, const T* filter,
                                  T* out) {
  for (std::int64_t at = thread_number(); at < count; at += thread_count()) {
    const Index i_pixel = static_cast<Index>(at) / channels,
                channel = static_cast<Index>(at) - i_pixel * channels;
    const Index group = channel / w.channels_out;
    const T* own = filter + group * group_stride + (channel - group * w.channels_out);
    const auto pixel = Windows<Index>::pixel_of(i_pixel, w.output);
    T sum{};
    for (Index i = 0; i < w.kernel[0]; ++i)
      for (Index j = 0; j < w.kernel[1]; ++j) {
        const Index from = w.under(pixel, i, j);
        if (from >= 0) sum += input[from * w.groups + group] * own[(i * w.kernel[1] + j) * position_stride];
      }
    out[at] = sum;
  }
}

template <class T, class Index>
__global__ void channels_input_gradient(Windows<Index> w, Index count, Index position_stride,
                                        Index group_stride, const T* filter, const T* gradient, T* out) {
  for (std::int64_t at = thread_number(); at < count; at += thread_count()) {
    const Index i_pixel = static_cast<Index>(at) / w.groups,
                group = static_cast<Index>(at) - i_pixel * w.groups;
    const auto pixel = Windows<Index>::pixel_of(i_pixel, w.input);
    T sum{};
    for (Index i = 0; i < w.kernel[0]; ++i) {
      const Index row = w.over(0, pixel.row, i);
      if (row < 0) continue;
      for (Index j = 0; j < w.kernel[1]; ++j) {
        const Index column = w.over(1, pixel.column, j);
        if (column < 0) continue;
        const Index from = (pixel.image * w.output[0] + row) * w.output[1] + column;
        const T* arrived = gradient + (from * w.groups + group) * w.channels_out;
        const T* own = filter + (i * w.kernel[1] + j) * position_stride + group * group_stride;
        for (Index o = 0; o < w.channels_out; ++o) sum += arrived[o] * own[o];
      }
    }
    out[at] = sum;
  }
}

/// Of place (i, j) of the filters: the products of the gradients with the inputs under it.
template <class T, class Index>
struct FilterTerm {
  Windows<Index> w;
  Index i, j;
  const T *input, *gradient;
  __device__ void operator()(std::int64_t place, std::int64_t pixel, std::int64_t channel,
                             double* sums) const {
    const Index from = w.under(Windows<Index>::pixel_of(static_cast<Index>(pixel), w.output), i, j);
    if (from < 0) return;
    const Index group = static_cast<Index>(channel) / w.channels_out;
    sums[0] += static_cast<double>(gradient[place]) * static_cast<double>(input[from * w.groups + group]);
  }
};
template <class T>
struct StoreFilter {
  T* to;
  std::int64_t channels_out, group_stride;
  __device__ void operator()(std::int64_t channel, const double* sums) const {
    to[channel / channels_out * group_stride + channel % channels_out] = static_cast<T>(sums[0]);
  }
};

}  // namespace

template <class T>
void depthwise_convolution(const ConvolutionSize& size, const T* input, const T* filter, T* out) {
  with_windows(size, 0, [&]<class Index>(const Windows<Index>& windows) {
    launch("convolution", grid_for(size.output_count()), convolve_channels<T, Index>, windows,
           Divisor<Index>(size.groups * size.channels_out), static_cast<Index>(size.output_count()),
           static_cast<Index>(size.position_stride), static_cast<Index>(size.group_stride), input, filter,
           out);
  });
}

template <class T>
void depthwise_input_gradient(const ConvolutionSize& size, const T* filter, const T* gradient, T* out) {
  with_windows(size, 0, [&]<class Index>(const Windows<Index>& windows) {
    launch("convolution_input_gradient", grid_for(size.input_count()), channels_input_gradient<T, Index>,
           windows, static_cast<Index>(size.input_count()), static_cast<Index>(size.position_stride),
           static_cast<Index>(size.group_stride), filter, gradient, out);
  });
}

template <class T>
void depthwise_filter_gradient(const ConvolutionSize& size, const T* input, const T* gradient, T* out) {
  const ChannelParts parts({output_pixels(size), size.groups * size.channels_out, 1});
  with_windows(size, 0, [&]<class Index>(const Windows<Index>& windows) {
    for (std::int64_t i = 0; i < size.kernel[0]; ++i)
      for (std::int64_t j = 0; j < size.kernel[1]; ++j)
        sum_channels<1>(
            "convolution_filter_gradient", parts,
            FilterTerm<T, Index>{windows, static_cast<Index>(i), static_cast<Index>(j), input, gradient},
            StoreFilter<T>{out + (i * size.kernel[1] + j) * size.position_stride, size.channels_out,
                           size.group_stride});
  });
}

#define TAPEDECK_OF(T)                                                                    \
  template void depthwise_convolution(const ConvolutionSize&, const T*, const T*, T*);    \
  template void depthwise_input_gradient(const ConvolutionSize&, const T*, const T*, T*); \
  template void depthwise_filter_gradient(const ConvolutionSize&, const T*, const T*, T*);
TAPEDECK_OF(float)
TAPEDECK_OF(double)
#undef TAPEDECK_OF

}  // namespace tapedeck::cuda
