// Convolutions of images and their gradients: oneDNN for float32, unfolded images and matrix products for
// float64.
#pragma once

#include <array>
#include <cstdint>

#include "engine/tensor/dtype.h"

namespace tapedeck::cpu {

/// Height and width.
using Extent2 = std::array<std::int64_t, 2>;

/// Images are contiguous: batch, height, width, channels. Channels fall into groups, each with filters of its
/// own. In the filter, the output channels of a group lie side by side; the strides (in elements) say how far
/// apart window positions, input channels and groups are.
struct ConvolutionSize {
  std::int64_t batch;
  Extent2 input, kernel, output, stride, dilation;
  Extent2 before;                                  ///< padding above and to the left
  std::int64_t groups, channels_in, channels_out;  ///< channels of one group
  std::int64_t position_stride, in_stride, group_stride;

  std::int64_t input_count() const { return batch * input[0] * input[1] * groups * channels_in; }
  std::int64_t output_count() const { return batch * output[0] * output[1] * groups * channels_out; }
  std::int64_t filter_count() const { return kernel[0] * kernel[1] * groups * channels_in * channels_out; }
};

/// out[n, y, x, o] = Σ input[n, y·stride + i·dilation − before, …, c]·filter[i, j, c, o].
void convolution(DType dtype, const ConvolutionSize& size, const void* input, const void* filter, void* out);
/// The gradient with respect to the input: `out` has the input's shape.
void convolution_input_gradient(DType dtype, const ConvolutionSize& size, const void* filter,
                                const void* gradient, void* out);
/// The gradient with respect to the filter: `out` has the filter's shape. Images are cut into blocks that do
/// not depend on the number of threads, and summed in order.
void convolution_filter_gradient(DType dtype, const ConvolutionSize& size, const void* input,
                                 const void* gradient, void* out);

}  // namespace tapedeck::cpu
