// Convolutions by their definition: products with pixels of the image only, none with the padding. The faster
// algorithms multiply the padding's zeros, too, and zero times ∞ or NaN is NaN.
#pragma once

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

/// Whether a window reaches beyond the image.
bool reaches_padding(const ConvolutionSize& size);
bool any_nan(DType dtype, const void* values, std::int64_t count);
bool any_not_finite(DType dtype, const void* values, std::int64_t count);

/// These correct what the kernels of these names have written. Finite results are right, because no infinite
/// value met the padding; all others are recomputed, in filter gradients the NaN ones. float32 is accumulated
/// in float64.
void exact_convolution(DType dtype, const ConvolutionSize& size, const void* input, const void* filter,
                       void* out);
void exact_input_gradient(DType dtype, const ConvolutionSize& size, const void* filter, const void* gradient,
                          void* out);
void exact_filter_gradient(DType dtype, const ConvolutionSize& size, const void* input, const void* gradient,
                           void* out);

}  // namespace tapedeck::cpu
