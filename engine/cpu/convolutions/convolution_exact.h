// Convolutions by their definition: each product within the image, and none with the padding. The faster ways
// multiply the padding's zeros, too, which beside infinite numbers and NaN is not nothing.
#pragma once

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

/// Whether a window reaches beyond the image.
bool reaches_padding(const ConvolutionSize& size);
bool any_nan(DType dtype, const void* values, std::int64_t count);
bool any_not_finite(DType dtype, const void* values, std::int64_t count);

/// What the kernels of these names have written is right where it is finite, as nothing infinite met the
/// padding there; these write the rest anew, the gradient of filters where it is NaN. float32 is added up in
/// float64.
void exact_convolution(DType dtype, const ConvolutionSize& size, const void* input, const void* filter,
                       void* out);
void exact_input_gradient(DType dtype, const ConvolutionSize& size, const void* filter, const void* gradient,
                          void* out);
void exact_filter_gradient(DType dtype, const ConvolutionSize& size, const void* input, const void* gradient,
                           void* out);

}  // namespace tapedeck::cpu
