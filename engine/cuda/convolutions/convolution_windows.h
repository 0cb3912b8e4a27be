// Index computations for a convolution's windows on a device. Included by convolution*.cu.
#pragma once

#include <algorithm>

#include "engine/backend/kernels.h"
#include "engine/cuda/index.h"
#include "engine/cuda/launch.h"

namespace tapedeck::cuda {

/// As ConvolutionSize. Index: std::int32_t if all indices fit.
template <class Index>
struct Windows {
  Divisor<Index> input[2], kernel[2], output[2], stride[2];
  Index dilation[2], before[2];
  Divisor<Index> groups, channels_in, channels_out;  ///< channels of one group

  explicit Windows(const kernels::ConvolutionSize& s)
      : input{Divisor<Index>(s.input[0]), Divisor<Index>(s.input[1])},
        kernel{Divisor<Index>(s.kernel[0]), Divisor<Index>(s.kernel[1])},
        output{Divisor<Index>(s.output[0]), Divisor<Index>(s.output[1])},
        stride{Divisor<Index>(s.stride[0]), Divisor<Index>(s.stride[1])},
        dilation{static_cast<Index>(s.dilation[0]), static_cast<Index>(s.dilation[1])},
        before{static_cast<Index>(s.before[0]), static_cast<Index>(s.before[1])},
        groups(s.groups),
        channels_in(s.channels_in),
        channels_out(s.channels_out) {}

  /// The position of a window: a pixel of all images.
  struct Pixel {
    Index image, row, column;
  };
  __device__ static Pixel pixel_of(Index at, const Divisor<Index>* extent) {
    const Index line = at / extent[1], image = line / extent[0];
    return {image, line - image * extent[0], at - line * extent[1]};
  }
  /// The input's pixel under place (i, j) of an output pixel's window; −1 in the padding.
  __device__ Index under(const Pixel& of, Index i, Index j) const {
    const Index y = of.row * stride[0] + i * dilation[0] - before[0];
    const Index x = of.column * stride[1] + j * dilation[1] - before[1];
    return y >= 0 && y < input[0] && x >= 0 && x < input[1] ? (of.image * input[0] + y) * input[1] + x : -1;
  }
  /// The output's row (axis 0) or column whose window covers row or column `place` of the input with its
  /// element `i`; −1 if there is none.
  __device__ Index over(int axis, Index place, Index i) const {
    const Index from = place + before[axis] - i * dilation[axis];
    if (from < 0) return -1;
    const Index at = from / stride[axis];
    return at * stride[axis] == from && at < output[axis] ? at : -1;
  }
};

/// Calls `f(windows)`; `more`: a further count that Index must hold.
template <class F>
void with_windows(const kernels::ConvolutionSize& s, std::int64_t more, F&& f) {
  const auto reach = [&s](std::size_t axis) {
    return s.input[axis] + s.before[axis] + s.kernel[axis] * s.dilation[axis] +
           s.output[axis] * s.stride[axis];
  };
  visit_index(std::max({s.input_count(), s.output_count(), s.filter_count(), more, reach(0), reach(1)}),
              [&]<class Index>(Index) { f(Windows<Index>(s)); });
}

/// Whether a window reaches beyond the image.
inline bool reaches_padding(const kernels::ConvolutionSize& s) {
  for (const std::size_t axis : {0, 1})
    if (s.before[axis] > 0 ||
        (s.output[axis] - 1) * s.stride[axis] + (s.kernel[axis] - 1) * s.dilation[axis] - s.before[axis] >=
            s.input[axis])
      return true;
  return false;
}

inline std::int64_t output_pixels(const kernels::ConvolutionSize& s) {
  return s.batch * s.output[0] * s.output[1];
}

/// Depthwise convolutions: each channel has its own filters. For float and double.
template <class T>
void depthwise_convolution(const kernels::ConvolutionSize& size, const T* input, const T* filter, T* out);
template <class T>
void depthwise_input_gradient(const kernels::ConvolutionSize& size, const T* filter, const T* gradient,
                              T* out);
template <class T>
void depthwise_filter_gradient(const kernels::ConvolutionSize& size, const T* input, const T* gradient,
                               T* out);

/// Corrects the products of the padding's zeros with non-finite values that a product with unfolded images
/// includes. For float and double; no effect if the filter is finite, or no element of its gradient is NaN.
template <class T>
void repair_convolution(const kernels::ConvolutionSize& size, const T* input, const T* filter, T* out);
template <class T>
void repair_filter_gradient(const kernels::ConvolutionSize& size, const T* input, const T* gradient, T* out);

}  // namespace tapedeck::cuda
