// Sliding windows over images: shared by convolutions and pooling.
#pragma once

#include "engine/ops/core/checks.h"

namespace tapedeck::ops {

/// These attributes come first in each op; an op may have more after them.
std::vector<AttributeSpec> window_attributes();
/// Their values in a call, for another op with a window.
std::vector<Attribute> window_values(const VjpContext& context);
/// Their part of the docstrings.
std::string window_doc();

/// Batch, height, width, channels of an image tensor, whatever its data_format. Throws InvalidArgumentError
/// for another rank.
struct ImageShape {
  std::int64_t batch, channels;
  kernels::Extent2 extent;
};
ImageShape image_shape(const OpContext& context, const std::string& name, const Shape& shape);
/// The shape of such an image in the op's data_format.
Shape shape_of_image(const OpContext& context, const ImageShape& image);

/// Contiguous values with the channels last; and such values viewed in the op's data_format.
Tensor channels_last(const OpContext& context, const Tensor& images);
Tensor in_data_format(const OpContext& context, const Tensor& images);

/// A list of 1, 2 or 4 numbers as (height, width).
kernels::Extent2 pair_of(const OpContext& context, AttributeName attribute);

struct Window {
  kernels::Extent2 stride, dilation, before, output;
};
/// Throws InvalidArgumentError for a window that is larger than the padded image, and for bad attributes.
Window window_over(const OpContext& context, const kernels::Extent2& input, const kernels::Extent2& extent);

}  // namespace tapedeck::ops
