// Convolutions that are plain matrix products: 1 × 1 windows, and gradients of filters so large that one
// partial sum per block of images would cost more than the product.
#pragma once

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

/// True for 1 × 1 windows at every pixel: the image's pixels times the filter.
bool is_pointwise(const ConvolutionSize& size);

void pointwise_convolution(DType dtype, const ConvolutionSize& size, const void* input, const void* filter,
                           void* out);
void pointwise_input_gradient(DType dtype, const ConvolutionSize& size, const void* filter,
                              const void* gradient, void* out);

/// Whether filter_gradient_by_taps is faster.
bool has_large_filter(const ConvolutionSize& size);
/// For one group: for each window position, the transposed pixels under it times the output's gradient. Sums
/// over pixels are split into parts that depend only on the sizes.
void filter_gradient_by_taps(const ConvolutionSize& size, const float* input, const float* gradient,
                             float* out);

}  // namespace tapedeck::cpu
