// Convolutions that are matrix products as they stand: windows of one pixel, and gradients of filters so
// large that one for each block of images would cost more than the product.
#pragma once

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

/// True for 1 × 1 windows at every pixel: the image's pixels times the filter.
bool is_pointwise(const ConvolutionSize& size);

void pointwise_convolution(DType dtype, const ConvolutionSize& size, const void* input, const void* filter,
                           void* out);
void pointwise_input_gradient(DType dtype, const ConvolutionSize& size, const void* filter,
                              const void* gradient, void* out);

/// True where filter_gradient_by_taps is the faster way.
bool has_large_filter(const ConvolutionSize& size);
/// For one group: each position of the window is a product of the pixels under it, transposed, and the
/// output's gradient. Sums over pixels are cut into parts that depend on the sizes alone.
void filter_gradient_by_taps(const ConvolutionSize& size, const float* input, const float* gradient,
                             float* out);

}  // namespace tapedeck::cpu
