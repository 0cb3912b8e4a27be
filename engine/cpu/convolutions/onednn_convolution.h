// float32 convolutions by oneDNN. Sizes are not empty.
#pragma once

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

constexpr double multiplications_worth_a_thread = 2e6;  ///< about 30 µs
double image_multiplications(const ConvolutionSize& size);

/// Number of images in one thread's block.
std::int64_t convolution_block(const ConvolutionSize& size);

void onednn_convolution(const ConvolutionSize& size, const float* input, const float* filter, float* out);
void onednn_input_gradient(const ConvolutionSize& size, const float* filter, const float* gradient,
                           float* out);
void onednn_filter_gradient(const ConvolutionSize& size, const float* input, const float* gradient,
                            float* out);

}  // namespace tapedeck::cpu
