// Ops of convolution.cpp and pooling.cpp as C++ functions, as in ops.h.
#pragma once

#include "engine/ops/core/ops.h"

namespace tapedeck::ops {

/// The attributes of convolutions and pooling; see window.h.
struct Sliding {
  Integers strides = {1};
  std::string padding = "VALID";
  Integers explicit_paddings = {};
  std::string data_format = "NHWC";
  Integers dilations = {1};
};

// ---- convolution.cpp ----
Tensor conv2d(const Tensor& input, const Tensor& filter, const Sliding& sliding = {});
Tensor conv2d_backprop_input(const Shape& input_sizes, const Tensor& filter, const Tensor& out_backprop,
                             const Sliding& sliding = {});
Tensor conv2d_backprop_filter(const Tensor& input, const Shape& filter_sizes, const Tensor& out_backprop,
                              const Sliding& sliding = {});
Tensor depthwise_conv2d(const Tensor& input, const Tensor& filter, const Sliding& sliding = {});

// ---- pooling.cpp ----
Tensor max_pool(const Tensor& input, const Integers& ksize, const Sliding& sliding = {});
Tensor avg_pool(const Tensor& input, const Integers& ksize, const Sliding& sliding = {});

}  // namespace tapedeck::ops
