#include "engine/ops/neural/window.h"

#include <algorithm>

namespace tapedeck::ops {
namespace {

constexpr std::int64_t most = 0x7fffffff;                ///< of strides, dilations, paddings
constexpr std::int64_t largest = std::int64_t{1} << 60;  ///< of extents: sums of several do not overflow

bool channels_first(const OpContext& c) {
  const auto& format = c.get<std::string>("data_format");
  if (format != "NHWC" && format != "NCHW")
    fail<InvalidArgumentError>(c.op.name, ": data_format is '", format, "'; must be 'NHWC' or 'NCHW'");
  return format == "NCHW";
}

/// Before and after, height and width. TensorFlow's list names all four axes; ours too.
std::array<kernels::Extent2, 2> explicit_padding(const OpContext& c) {
  const Attribute& given = c.attribute("explicit_paddings");
  const Integers list = integers_of(given);
  const std::size_t height = channels_first(c) ? 4 : 2;
  bool fits = list.size() == 8;
  for (std::size_t i = 0; fits && i < 8; ++i)
    fits = list[i] >= 0 && list[i] <= most && (list[i] == 0 || (i >= height && i < height + 4));
  if (!fits)
    fail<InvalidArgumentError>(c.op.name, ": explicit_paddings ", to_string(given),
                               "; needs 8 numbers, before and after for each axis, none negative, those of "
                               "batch and channels 0");
  return {{{list[height], list[height + 2]}, {list[height + 1], list[height + 3]}}};
}

}  // namespace

std::vector<AttributeSpec> window_attributes() {
  return {{.name = "strides", .kind = AttributeKind::integers, .fallback = Integers{1}},
          {.name = "padding", .kind = AttributeKind::text, .fallback = std::string("VALID")},
          {.name = "explicit_paddings", .kind = AttributeKind::integers, .fallback = Integers{}},
          {.name = "data_format", .kind = AttributeKind::text, .fallback = std::string("NHWC")},
          {.name = "dilations", .kind = AttributeKind::integers, .fallback = Integers{1}}};
}

std::vector<Attribute> window_values(const VjpContext& c) {
  return {c.attribute("strides"), c.attribute("padding"), c.attribute("explicit_paddings"),
          c.attribute("data_format"), c.attribute("dilations")};
}

std::string window_doc() {
  return "strides, dilations: one number, (height, width), or one for each axis of data_format; padding: "
         "'VALID' (windows lie inside the image), 'SAME' (⌈extent / stride⌉ windows; zeros around, the odd "
         "one "
         "below and to the right) or 'EXPLICIT' with explicit_paddings, before and after for each of the "
         "four "
         "axes; data_format: 'NHWC' (batch, height, width, channels) or 'NCHW'.\n";
}

ImageShape image_shape(const OpContext& c, const std::string& name, const Shape& shape) {
  if (shape.rank() != 4)
    fail<InvalidArgumentError>(
        c.op.name, ": ", name, " has shape ", to_string(shape), "; needs 4 axes, ",
        channels_first(c) ? "batch, channels, height, width" : "batch, height, width, channels");
  if (channels_first(c)) return {shape[0], shape[1], {shape[2], shape[3]}};
  return {shape[0], shape[3], {shape[1], shape[2]}};
}

Shape shape_of_image(const OpContext& c, const ImageShape& image) {
  if (channels_first(c)) return {image.batch, image.channels, image.extent[0], image.extent[1]};
  return {image.batch, image.extent[0], image.extent[1], image.channels};
}

Tensor channels_last(const OpContext& c, const Tensor& t) {
  if (!channels_first(c)) return contiguous(t);
  const Strides& s = t.strides();
  return contiguous(view_of(t, {t.dim(0), t.dim(2), t.dim(3), t.dim(1)}, {s[0], s[2], s[3], s[1]}));
}

Tensor in_data_format(const OpContext& c, const Tensor& t) {
  if (!channels_first(c)) return t;
  const Strides& s = t.strides();
  return view_of(t, {t.dim(0), t.dim(3), t.dim(1), t.dim(2)}, {s[0], s[3], s[1], s[2]});
}

kernels::Extent2 pair_of(const OpContext& c, AttributeName attribute) {
  const Attribute& given = c.attribute(attribute);
  const Integers list = integers_of(given);
  kernels::Extent2 pair{1, 1};
  bool fits = list.size() == 1 || list.size() == 2 || list.size() == 4;
  if (list.size() == 4) {
    const std::size_t height = channels_first(c) ? 2 : 1;
    pair = {list[height], list[height + 1]};
    fits = list[0] == 1 && list[channels_first(c) ? 1 : 3] == 1;
  } else if (fits) {
    pair = {list.front(), list.back()};
  }
  if (!fits || pair[0] < 1 || pair[1] < 1 || pair[0] > most || pair[1] > most)
    fail<InvalidArgumentError>(c.op.name, ": ", attribute.text(), " is ", to_string(given),
                               "; needs 1, 2 or 4 numbers from 1 to ", most,
                               ", those of batch and channels 1");
  return pair;
}

Window window_over(const OpContext& c, const kernels::Extent2& input, const kernels::Extent2& extent) {
  Window window{pair_of(c, "strides"), pair_of(c, "dilations"), {0, 0}, {0, 0}};
  const auto& padding = c.get<std::string>("padding");
  if (padding != "SAME" && padding != "VALID" && padding != "EXPLICIT")
    fail<InvalidArgumentError>(c.op.name, ": padding is '", padding,
                               "'; must be 'SAME', 'VALID' or 'EXPLICIT'");
  kernels::Extent2 after{0, 0};
  if (padding == "EXPLICIT") {
    const auto both = explicit_padding(c);
    window.before = both[0];
    after = both[1];
  }
  for (std::size_t i = 0; i < 2; ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(extent[i] - 1, window.dilation[i], &reach) || reach >= largest ||
        input[i] >= largest)
      fail<InvalidArgumentError>(c.op.name, ": windows of ", extent[i], " with dilation ", window.dilation[i],
                                 " over images of ", input[i], " are larger than can be counted");
    ++reach;
    const std::int64_t stride = window.stride[i];
    if (padding == "SAME") {
      window.output[i] = (input[i] + stride - 1) / stride;
      window.before[i] = std::max<std::int64_t>(0, (window.output[i] - 1) * stride + reach - input[i]) / 2;
      continue;
    }
    const std::int64_t room = input[i] + window.before[i] + after[i] - reach;
    if (room < 0 && input[i] > 0)
      fail<InvalidArgumentError>(c.op.name, ": windows of ", extent[0], " × ", extent[1],
                                 window.dilation == kernels::Extent2{1, 1} ? "" : " (dilated)",
                                 " are larger than the padded images of ",
                                 input[0] + window.before[0] + after[0], " × ",
                                 input[1] + window.before[1] + after[1]);
    window.output[i] = room < 0 ? 0 : room / stride + 1;
  }
  return window;
}

}  // namespace tapedeck::ops
