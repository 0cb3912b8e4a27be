// Convolutions of images. Their gradients are ops too, and the gradients of those are convolutions again:
// all three are linear in each operand.
#include "engine/ops/core/cost.h"
#include "engine/ops/neural/neural.h"
#include "engine/ops/neural/window.h"

namespace tapedeck::ops {
namespace {

/// depthwise filters: (height, width, channels, multiplier); others: (height, width, input channels of a
/// group, output channels).
template <bool depthwise>
kernels::ConvolutionSize convolution_size(const OpContext& c, const Shape& input, const Shape& filter) {
  const ImageShape image = image_shape(c, "input", input);
  if (filter.rank() != 4)
    fail<InvalidArgumentError>(c.op.name, ": filter has shape ", to_string(filter),
                               "; needs 4 axes, height, width, input channels, ",
                               depthwise ? "channel multiplier" : "output channels");
  for (int axis = 0; axis < 4; ++axis)  // products of two extents do not overflow
    if (input[axis] > 0x7fffffff || filter[axis] > 0x7fffffff)
      fail<InvalidArgumentError>(c.op.name, ": input ", to_string(input), " and filter ", to_string(filter),
                                 ": no extent may be above 2147483647");
  const kernels::Extent2 kernel{filter[0], filter[1]};
  const Window w = window_over(c, image.extent, kernel);
  kernels::ConvolutionSize size{
      image.batch, image.extent, kernel, w.output, w.stride, w.dilation, w.before, 1, 0, 0, 0, 0, 0};
  if (depthwise) {
    if (filter[2] != image.channels)
      fail<InvalidArgumentError>(c.op.name, ": input ", to_string(input), " has ", image.channels,
                                 " channels and filter ", to_string(filter), " is for ", filter[2]);
    size.groups = filter[2];
    size.channels_in = 1;
    size.channels_out = filter[3];
    size.group_stride = filter[3];
    size.position_stride = filter[2] * filter[3];
  } else {
    const std::int64_t groups = filter[2] == 0 ? 1 : image.channels / filter[2];
    if (groups * filter[2] != image.channels || (groups == 0 && image.channels == 0 && filter[2] != 0) ||
        (groups > 1 && filter[3] % groups != 0))
      fail<InvalidArgumentError>(c.op.name, ": input ", to_string(input), " has ", image.channels,
                                 " channels and filter ", to_string(filter), " is for ", filter[2],
                                 "; the first must be a multiple of the second, and the multiple must divide "
                                 "the output channels");
    size.groups = std::max<std::int64_t>(1, groups);
    size.channels_in = filter[2];
    size.channels_out = filter[3] / size.groups;
    size.in_stride = filter[3];
    size.group_stride = size.channels_out;
    size.position_stride = filter[2] * filter[3];
  }
  return size;
}

Shape convolution_output_shape(const OpContext& c, const kernels::ConvolutionSize& size) {
  return shape_of_image(c, {size.batch, size.groups * size.channels_out, size.output});
}

void require_gradient(const OpContext& c, std::size_t input, const kernels::ConvolutionSize& size) {
  const Shape wanted = convolution_output_shape(c, size);
  if (c.inputs[input].shape() != wanted)
    fail<InvalidArgumentError>(c.op.name, ": out_backprop has shape ", to_string(c.inputs[input].shape()),
                               "; the convolution's result has ", to_string(wanted));
}

void require_reals(const OpContext& c) {
  require_same_dtype(c, 0, 1);
  require_kind(c, 0, Kind::floating);
}

/// The window's attributes, and the sizes for the gradient ops.
Attributes with_sizes(std::vector<Attribute> values, const Shape* sizes) {
  if (sizes) values.push_back(attribute_of(*sizes));
  return Attributes(std::move(values));
}
Attributes attributes_of(const Sliding& s, const Shape* sizes) {
  return with_sizes({s.strides, s.padding, s.explicit_paddings, s.data_format, s.dilations}, sizes);
}

// ---- shape rules and forwards of the three kinds ----
template <bool depthwise>
TensorSpecs convolution_shape(const OpContext& c) {
  require_reals(c);
  return spec(
      c.inputs[0].dtype(),
      convolution_output_shape(c, convolution_size<depthwise>(c, c.inputs[0].shape(), c.inputs[1].shape())));
}

Tensor image_output(const OpContext& c, const ImageShape& image) {
  return Tensor::allocate(c.outputs[0].dtype,
                          {image.batch, image.extent[0], image.extent[1], image.channels});
}

template <bool depthwise>
Tensors convolution_forward(const OpContext& c) {
  const auto size = convolution_size<depthwise>(c, c.inputs[0].shape(), c.inputs[1].shape());
  const Tensor input = channels_last(c, c.inputs[0]);
  const Tensor filter = contiguous(c.inputs[1]);
  const Tensor out = image_output(c, {size.batch, size.groups * size.channels_out, size.output});
  backend().convolution(out.dtype(), size, input.raw(), filter.raw(), out.writable_data<std::byte>());
  return one(in_data_format(c, out));
}

/// Inputs: filter, out_backprop.
template <bool depthwise>
TensorSpecs input_gradient_shape(const OpContext& c) {
  require_reals(c);
  const Shape input = shape_of(c, "input_sizes");
  require_gradient(c, 1, convolution_size<depthwise>(c, input, c.inputs[0].shape()));
  return spec(c.inputs[0].dtype(), input);
}

template <bool depthwise>
Tensors input_gradient_forward(const OpContext& c) {
  const Shape shape = shape_of(c, "input_sizes");
  const auto size = convolution_size<depthwise>(c, shape, c.inputs[0].shape());
  const Tensor filter = contiguous(c.inputs[0]);
  const Tensor gradient = channels_last(c, c.inputs[1]);
  const Tensor out = image_output(c, image_shape(c, "input", shape));
  backend().convolution_input_gradient(out.dtype(), size, filter.raw(), gradient.raw(),
                                       out.writable_data<std::byte>());
  return one(in_data_format(c, out));
}

/// Inputs: input, out_backprop.
template <bool depthwise>
TensorSpecs filter_gradient_shape(const OpContext& c) {
  require_reals(c);
  const Shape filter = shape_of(c, "filter_sizes");
  require_gradient(c, 1, convolution_size<depthwise>(c, c.inputs[0].shape(), filter));
  return spec(c.inputs[0].dtype(), filter);
}

template <bool depthwise>
Tensors filter_gradient_forward(const OpContext& c) {
  const auto size = convolution_size<depthwise>(c, c.inputs[0].shape(), shape_of(c, "filter_sizes"));
  const Tensor input = channels_last(c, c.inputs[0]);
  const Tensor gradient = channels_last(c, c.inputs[1]);
  Tensor out = allocate_output(c);
  backend().convolution_filter_gradient(out.dtype(), size, input.raw(), gradient.raw(),
                                        out.writable_data<std::byte>());
  return one(std::move(out));
}

// ---- VJPs: of each kind by the two others ----
enum class Part : std::uint8_t { output, input, filter };
template <bool depthwise>
Tensor run(const VjpContext& c, Part part, const Tensor& a, const Tensor& b, const Shape* sizes);

template <bool depthwise>
Tensors convolution_vjp(const VjpContext& c) {
  const Tensor& g = c.cotangents[0];
  Tensors gradients(2);
  if (c.wanted[0]) gradients[0] = run<depthwise>(c, Part::input, c.inputs[1], g, &c.inputs[0].shape());
  if (c.wanted[1]) gradients[1] = run<depthwise>(c, Part::filter, c.inputs[0], g, &c.inputs[1].shape());
  return gradients;
}

template <bool depthwise>
Tensors input_gradient_vjp(const VjpContext& c) {
  const Tensor& g = c.cotangents[0];
  Tensors gradients(2);
  if (c.wanted[0]) gradients[0] = run<depthwise>(c, Part::filter, g, c.inputs[1], &c.inputs[0].shape());
  if (c.wanted[1]) gradients[1] = run<depthwise>(c, Part::output, g, c.inputs[0], nullptr);
  return gradients;
}

template <bool depthwise>
Tensors filter_gradient_vjp(const VjpContext& c) {
  const Tensor& g = c.cotangents[0];
  Tensors gradients(2);
  if (c.wanted[0]) gradients[0] = run<depthwise>(c, Part::input, g, c.inputs[1], &c.inputs[0].shape());
  if (c.wanted[1]) gradients[1] = run<depthwise>(c, Part::output, c.inputs[0], g, nullptr);
  return gradients;
}

/// Of a convolution and of both its gradients: each value of the windows' image meets the weights of one
/// output channel, and is a product and a sum with each.
template <bool depthwise, Part part>
OpCost convolution_cost(const CostContext& c) {
  const TensorSpec& filter = part == Part::filter ? c.outputs[0] : c.inputs[part == Part::input ? 0 : 1];
  const TensorSpec& windows = part == Part::output ? c.outputs[0] : c.inputs[1];
  const Shape& f = filter.shape;
  const double weights =
      static_cast<double>(f[0]) * static_cast<double>(f[1]) * (depthwise ? 1.0 : static_cast<double>(f[2]));
  return {2 * weights * cost::count(windows), cost::traffic(c)};
}

constexpr const char* dtypes_doc = "any floating dtype, one for both";
constexpr const char* convolution_errors =
    "Errors: InvalidArgumentError for shapes that do not fit, windows larger than the padded image and bad "
    "attributes; TypeMismatchError for other or different dtypes.";

template <bool depthwise>
std::string filter_doc() {
  return depthwise ? "(height, width, channels, multiplier): each channel has its own filters, and output "
                     "channel c·multiplier + m comes from channel c"
                   : "(height, width, input channels, output channels); where the images have g times its "
                     "input channels, the channels form g groups";
}

template <bool depthwise>
OpDef convolution_row(std::string name, std::vector<std::string> python_names) {
  return {
      .name = std::move(name),
      .python_names = std::move(python_names),
      .inputs = {{.name = "input"}, {.name = "filter"}},
      .attributes = window_attributes(),
      .shape_rule = convolution_shape<depthwise>,
      .forward = convolution_forward<depthwise>,
      .form = depthwise ? Form::depthwise_convolution : Form::convolution,
      .vjp = convolution_vjp<depthwise>,
      .vjp_formula = "d(input) = dz ⋆ᵀ filter, d(filter) = input ⋆ dz",
      .cost = convolution_cost<depthwise, Part::output>,
      .doc =
          "Slides filters over images: z[n, i, j, o] = Σ input[n, i·stride + a·dilation, j·stride + "
          "b·dilation, c]·filter[a, b, c, o] (a cross-correlation, as in TensorFlow).\n\ninput: four "
          "axes, as data_format says; filter: " +
          filter_doc<depthwise>() + "; " + dtypes_doc + "; " + window_doc() +
          "Returns: the dtype of both, images of the windows' outputs.\n" + convolution_errors,
  };
}

std::vector<AttributeSpec> attributes_with(const char* sizes) {
  std::vector<AttributeSpec> attributes = window_attributes();
  attributes.push_back({.name = sizes, .kind = AttributeKind::shape, .fallback = {}, .required = true});
  return attributes;
}

template <bool depthwise>
OpDef input_gradient_row(std::string name, std::vector<std::string> python_names) {
  return {
      .name = std::move(name),
      .python_names = std::move(python_names),
      .inputs = {{.name = "filter"}, {.name = "out_backprop"}},
      .attributes = attributes_with("input_sizes"),
      .shape_rule = input_gradient_shape<depthwise>,
      .forward = input_gradient_forward<depthwise>,
      .vjp = input_gradient_vjp<depthwise>,
      .vjp_formula = "d(filter) = dz ⋆ out_backprop, d(out_backprop) = dz ⋆ filter",
      .cost = convolution_cost<depthwise, Part::input>,
      .doc =
          "The gradient of a convolution with respect to its images, which is also the transposed "
          "convolution: each value of out_backprop adds the filter to its window.\n\ninput_sizes: the "
          "images' shape; filter: " +
          filter_doc<depthwise>() + "; out_backprop: the shape of the convolution's result; " + dtypes_doc +
          "; " + window_doc() + "Returns: the dtype of both, shape input_sizes.\n" + convolution_errors,
      .python_order = {"input_sizes", "filter", "out_backprop", "strides", "padding", "explicit_paddings",
                       "data_format", "dilations"},
  };
}

template <bool depthwise>
OpDef filter_gradient_row(std::string name, std::vector<std::string> python_names) {
  return {
      .name = std::move(name),
      .python_names = std::move(python_names),
      .inputs = {{.name = "input"}, {.name = "out_backprop"}},
      .attributes = attributes_with("filter_sizes"),
      .shape_rule = filter_gradient_shape<depthwise>,
      .forward = filter_gradient_forward<depthwise>,
      .vjp = filter_gradient_vjp<depthwise>,
      .vjp_formula = "d(input) = out_backprop ⋆ᵀ dz, d(out_backprop) = input ⋆ dz",
      .cost = convolution_cost<depthwise, Part::filter>,
      .doc = std::string("The gradient of a convolution with respect to its filter: images times values of "
                         "out_backprop, summed over all windows.\n\ninput: four axes, as data_format says; "
                         "filter_sizes: the filter's shape; out_backprop: the shape of the convolution's "
                         "result; ") +
             dtypes_doc + "; " + window_doc() + "Returns: the dtype of both, shape filter_sizes.\n" +
             convolution_errors,
      .python_order = {"input", "filter_sizes", "out_backprop", "strides", "padding", "explicit_paddings",
                       "data_format", "dilations"},
  };
}

}  // namespace

TAPEDECK_OP(conv2d_op, VjpReads::inputs) = convolution_row<false>("conv2d", {"nn.conv2d"});
TAPEDECK_OP(conv2d_backprop_input_op,
            VjpReads::inputs) = input_gradient_row<false>("conv2d_backprop_input",
                                                          {"nn.conv2d_backprop_input"});
TAPEDECK_OP(conv2d_backprop_filter_op,
            VjpReads::inputs) = filter_gradient_row<false>("conv2d_backprop_filter",
                                                           {"nn.conv2d_backprop_filter"});
TAPEDECK_OP(depthwise_conv2d_op, VjpReads::inputs) = convolution_row<true>("depthwise_conv2d_native",
                                                                           {"nn.depthwise_conv2d_native"});
TAPEDECK_OP(depthwise_conv2d_backprop_input_op,
            VjpReads::inputs) = input_gradient_row<true>("depthwise_conv2d_native_backprop_input",
                                                         {"nn.depthwise_conv2d_native_backprop_input",
                                                          "nn.depthwise_conv2d_backprop_input"});
TAPEDECK_OP(depthwise_conv2d_backprop_filter_op,
            VjpReads::inputs) = filter_gradient_row<true>("depthwise_conv2d_native_backprop_filter",
                                                          {"nn.depthwise_conv2d_native_backprop_filter",
                                                           "nn.depthwise_conv2d_backprop_filter"});

namespace {

template <bool depthwise>
Tensor run(const VjpContext& c, Part part, const Tensor& a, const Tensor& b, const Shape* sizes) {
  const OpDef* ops[] = {depthwise ? &depthwise_conv2d_op : &conv2d_op,
                        depthwise ? &depthwise_conv2d_backprop_input_op : &conv2d_backprop_input_op,
                        depthwise ? &depthwise_conv2d_backprop_filter_op : &conv2d_backprop_filter_op};
  return run_op1(*ops[static_cast<int>(part)], {a, b}, with_sizes(window_values(c), sizes));
}

}  // namespace

Tensor conv2d(const Tensor& input, const Tensor& filter, const Sliding& s) {
  return run_op1(conv2d_op, {input, filter}, attributes_of(s, nullptr));
}
Tensor conv2d_backprop_input(const Shape& input_sizes, const Tensor& filter, const Tensor& out_backprop,
                             const Sliding& s) {
  return run_op1(conv2d_backprop_input_op, {filter, out_backprop}, attributes_of(s, &input_sizes));
}
Tensor conv2d_backprop_filter(const Tensor& input, const Shape& filter_sizes, const Tensor& out_backprop,
                              const Sliding& s) {
  return run_op1(conv2d_backprop_filter_op, {input, out_backprop}, attributes_of(s, &filter_sizes));
}
Tensor depthwise_conv2d(const Tensor& input, const Tensor& filter, const Sliding& s) {
  return run_op1(depthwise_conv2d_op, {input, filter}, attributes_of(s, nullptr));
}

}  // namespace tapedeck::ops
