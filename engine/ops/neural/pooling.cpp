// Pooling of images. Gradients are ops, too; all are linear in the gradient that they distribute.
#include "engine/ops/core/cost.h"
#include "engine/ops/neural/neural.h"
#include "engine/ops/neural/window.h"

namespace tapedeck::ops {
namespace {

kernels::PoolingSize pooling_size(const OpContext& c, const Shape& input) {
  const ImageShape image = image_shape(c, "input", input);
  const kernels::Extent2 window = pair_of(c, "ksize");
  const Window w = window_over(c, image.extent, window);
  for (std::size_t i = 0; i < 2; ++i) {
    if (w.dilation[i] != 1)
      fail<InvalidArgumentError>(c.op.name, ": dilations ", to_string(c.attribute("dilations")),
                                 "; pooling windows have none");
    const std::int64_t after = (w.output[i] - 1) * w.stride[i] + window[i] - image.extent[i] - w.before[i];
    if (w.before[i] >= window[i] || after >= window[i])
      fail<InvalidArgumentError>(c.op.name, ": a window of ", window[0], " × ", window[1],
                                 " may lie in the padding alone: paddings of ", w.before[i], " before and ",
                                 after, " after");
  }
  return {image.batch, image.channels, image.extent, window, w.output, w.stride, w.before};
}

Shape pooling_output_shape(const OpContext& c, const kernels::PoolingSize& size) {
  return shape_of_image(c, {size.batch, size.channels, size.output});
}
Tensor image_output(DType dtype, const kernels::PoolingSize& s, const kernels::Extent2& extent) {
  return Tensor::allocate(dtype, {s.batch, extent[0], extent[1], s.channels});
}

/// One comparison or addition for each element of each window.
template <bool of_output>
OpCost pooling_cost(const CostContext& c) {
  double window = 1;
  if (const Attribute* extents = cost::attribute(c, "ksize")) {
    const Integers list = integers_of(*extents);
    for (const std::int64_t extent : list) window *= static_cast<double>(extent);
    if (list.size() == 1) window *= window;
  }
  const TensorSpec& windows = of_output ? c.outputs[0] : c.inputs.back();
  return {window * cost::count(windows), cost::traffic(c)};
}

std::vector<AttributeSpec> pooling_attributes(bool with_sizes = false) {
  std::vector<AttributeSpec> attributes = window_attributes();
  attributes.push_back({.name = "ksize", .kind = AttributeKind::integers, .fallback = {}, .required = true});
  if (with_sizes)
    attributes.push_back(
        {.name = "orig_input_shape", .kind = AttributeKind::shape, .fallback = {}, .required = true});
  return attributes;
}
const std::vector<std::string> pooling_order = {"ksize",       "strides",           "padding",
                                                "data_format", "explicit_paddings", "dilations"};
std::vector<std::string> order_after(std::vector<std::string> first) {
  first.insert(first.end(), pooling_order.begin(), pooling_order.end());
  return first;
}
std::string ksize_doc() {
  return "ksize: the window's extent, as strides; dilations: 1; " + window_doc();
}
constexpr const char* pooling_errors =
    "Errors: InvalidArgumentError for shapes that do not fit, windows larger than the padded image and bad "
    "attributes; TypeMismatchError for other or different dtypes.";

Attributes attributes_of(const Sliding& s, const Integers& ksize) {
  return {s.strides, s.padding, s.explicit_paddings, s.data_format, s.dilations, ksize};
}

template <Kind kind>
TensorSpecs pool_shape(const OpContext& c) {
  require_kind(c, 0, kind);
  return spec(c.inputs[0].dtype(), pooling_output_shape(c, pooling_size(c, c.inputs[0].shape())));
}

template <auto kernel>
Tensors pool_forward(const OpContext& c) {
  const kernels::PoolingSize size = pooling_size(c, c.inputs[0].shape());
  const Tensor input = channels_last(c, c.inputs[0]);
  const Tensor out = image_output(input.dtype(), size, size.output);
  (backend().*kernel)(out.dtype(), size, input.raw(), out.writable_data<std::byte>());
  return one(in_data_format(c, out));
}

/// (input, a tensor of `shape`).
void require_pair(const OpContext& c, const Shape& shape) {
  require_same_dtype(c, 0, 1);
  require_kind(c, 0, Kind::numeric);
  if (c.inputs[1].shape() != shape)
    fail<InvalidArgumentError>(c.op.name, ": ", input_name(c, 1), " has shape ",
                               to_string(c.inputs[1].shape()), "; needs ", to_string(shape));
}

TensorSpecs scatter_shape(const OpContext& c) {
  require_kind(c, 0, Kind::numeric);
  require_pair(c, pooling_output_shape(c, pooling_size(c, c.inputs[0].shape())));
  return like_first(c);
}
TensorSpecs gather_shape(const OpContext& c) {
  require_kind(c, 0, Kind::numeric);
  const kernels::PoolingSize size = pooling_size(c, c.inputs[0].shape());
  require_pair(c, c.inputs[0].shape());
  return spec(c.inputs[0].dtype(), pooling_output_shape(c, size));
}

template <bool scatter>
Tensors move_forward(const OpContext& c) {
  const kernels::PoolingSize size = pooling_size(c, c.inputs[0].shape());
  const Tensor input = channels_last(c, c.inputs[0]);
  const Tensor values = channels_last(c, c.inputs[1]);
  const Tensor out = image_output(input.dtype(), size, scatter ? size.input : size.output);
  constexpr auto kernel = scatter ? &Backend::max_pool_scatter : &Backend::max_pool_gather;
  (backend().*kernel)(out.dtype(), size, input.raw(), values.raw(), out.writable_data<std::byte>());
  return one(in_data_format(c, out));
}

Tensor run_max_pool_grad(const Tensor& input, const Tensor& gradient, const Attributes& attributes);
Tensor run_max_pool_grad_grad(const Tensor& input, const Tensor& gradient, const Attributes& attributes);
Tensor run_avg_pool_grad(const VjpContext& c, const Tensor& gradient, const Shape& input);
Tensor run_avg_pool(const VjpContext& c, const Tensor& input);

}  // namespace

// ---- max_pool ----
TAPEDECK_OP(max_pool_op) = {
    .name = "max_pool",
    .python_names = {"nn.max_pool", "nn.max_pool2d"},
    .inputs = {{.name = "input"}},
    .attributes = pooling_attributes(),
    .shape_rule = pool_shape<Kind::numeric>,
    .forward = pool_forward<&Backend::max_pool>,
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          return one(run_max_pool_grad(c.inputs[0], c.cotangents[0], c.attributes));
        },
    .vjp_formula = "dx = each window's dz at its first largest value",
    .cost = pooling_cost<true>,
    .doc =
        "The largest value of each window of images, channel by channel; a NaN counts as largest.\n\n"
        "input: four axes, as data_format says; any numeric dtype; " +
        ksize_doc() + "Returns: the dtype of input, images of the windows' values.\n" + pooling_errors,
    .python_order = order_after({"input"}),
};
TAPEDECK_FACTS(max_pool_op) = {.flat = facts::not_chosen};
Tensor max_pool(const Tensor& input, const Integers& ksize, const Sliding& s) {
  return run_op1(max_pool_op, {input}, attributes_of(s, ksize));
}

// ---- max_pool_grad ----
TAPEDECK_OP(max_pool_grad_op) = {
    .name = "max_pool_grad",
    .python_names = {},
    .inputs = {{.name = "orig_input"}, {.name = "grad"}},
    .attributes = pooling_attributes(),
    .shape_rule = scatter_shape,
    .forward = move_forward<true>,
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(2);
          if (c.wanted[1]) gradients[1] = run_max_pool_grad_grad(c.inputs[0], c.cotangents[0], c.attributes);
          return gradients;
        },
    .vjp_formula = "d(grad) = dz at each window's first largest value, none for orig_input",
    .cost = pooling_cost<false>,
    .doc =
        "The gradient of max_pool: each window's gradient goes to its first largest value.\n\n"
        "orig_input: the input of max_pool; grad: the shape of its result; any numeric dtype, one for "
        "both; " +
        ksize_doc() + "Returns: dtype and shape of orig_input.\n" + pooling_errors,
    .python_order = order_after({"orig_input", "grad"}),
};

// ---- max_pool_grad_grad ----
TAPEDECK_OP(max_pool_grad_grad_op) = {
    .name = "max_pool_grad_grad",
    .python_names = {},
    .inputs = {{.name = "orig_input"}, {.name = "grad"}},
    .attributes = pooling_attributes(),
    .shape_rule = gather_shape,
    .forward = move_forward<false>,
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(2);
          if (c.wanted[1]) gradients[1] = run_max_pool_grad(c.inputs[0], c.cotangents[0], c.attributes);
          return gradients;
        },
    .vjp_formula = "d(grad) = each window's dz at its first largest value, none for orig_input",
    .cost = pooling_cost<true>,
    .doc =
        "Gathers from grad the value at each window's first largest value of orig_input: the gradient of "
        "max_pool_grad.\n\norig_input, grad: images of one shape; any numeric dtype, both "
        "of one dtype; " +
        ksize_doc() + "Returns: the dtype of both, images of the windows' values.\n" + pooling_errors,
    .python_order = order_after({"orig_input", "grad"}),
};

// ---- max_pool_with_argmax ----
TAPEDECK_OP(max_pool_argmax_op) = {
    .name = "max_pool_argmax",
    .python_names = {},
    .inputs = {{.name = "input"}},
    .attributes = pooling_attributes(),
    .shape_rule =
        [](const OpContext& c) {
          require_kind(c, 0, Kind::numeric);
          return spec(DType::int64, pooling_output_shape(c, pooling_size(c, c.inputs[0].shape())));
        },
    .forward =
        [](const OpContext& c) {
          const kernels::PoolingSize size = pooling_size(c, c.inputs[0].shape());
          const Tensor input = channels_last(c, c.inputs[0]);
          const Tensor out = image_output(DType::int64, size, size.output);
          backend().max_pool_positions(input.dtype(), size, input.raw(), out.writable_data<std::int64_t>());
          return one(in_data_format(c, out));
        },
    .vjp = nullptr,
    .vjp_formula = "none",
    .cost = pooling_cost<true>,
    .doc =
        "Where each window's first largest value is within its image: (y·width + x)·channels + channel."
        "\n\ninput: four axes, as data_format says; any numeric dtype; " +
        ksize_doc() + "Returns: int64, the shape of max_pool's result.\n" + pooling_errors,
    .python_order = order_after({"input"}),
};

// ---- avg_pool ----
TAPEDECK_OP(avg_pool_op) = {
    .name = "avg_pool",
    .python_names = {"nn.avg_pool", "nn.avg_pool2d"},
    .inputs = {{.name = "input"}},
    .attributes = pooling_attributes(),
    .shape_rule = pool_shape<Kind::floating>,
    .forward = pool_forward<&Backend::avg_pool>,
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) { return one(run_avg_pool_grad(c, c.cotangents[0], c.inputs[0].shape())); },
    .vjp_formula = "dx = Σ dz / n over the windows that hold x, n: the number of elements in one window",
    .cost = pooling_cost<true>,
    .doc =
        "The mean of each window of images, channel by channel; padding does not count.\n\n"
        "input: four axes, as data_format says; any floating dtype; " +
        ksize_doc() + "Returns: the dtype of input, images of the windows' means.\n" + pooling_errors,
    .python_order = order_after({"input"}),
};
Tensor avg_pool(const Tensor& input, const Integers& ksize, const Sliding& s) {
  return run_op1(avg_pool_op, {input}, attributes_of(s, ksize));
}

// ---- avg_pool_grad ----
TAPEDECK_OP(avg_pool_grad_op) = {
    .name = "avg_pool_grad",
    .python_names = {},
    .inputs = {{.name = "grad"}},
    .attributes = pooling_attributes(true),
    .shape_rule =
        [](const OpContext& c) {
          require_kind(c, 0, Kind::floating);
          const Shape shape = shape_of(c, "orig_input_shape");
          const Shape wanted = pooling_output_shape(c, pooling_size(c, shape));
          if (c.inputs[0].shape() != wanted)
            fail<InvalidArgumentError>("avg_pool_grad: grad has shape ", to_string(c.inputs[0].shape()),
                                       "; needs ", to_string(wanted));
          return spec(c.inputs[0].dtype(), shape);
        },
    .forward =
        [](const OpContext& c) {
          const kernels::PoolingSize size = pooling_size(c, shape_of(c, "orig_input_shape"));
          const Tensor gradient = channels_last(c, c.inputs[0]);
          const Tensor out = image_output(gradient.dtype(), size, size.input);
          backend().avg_pool_scatter(out.dtype(), size, gradient.raw(), out.writable_data<std::byte>());
          return one(in_data_format(c, out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp = [](const VjpContext& c) { return one(run_avg_pool(c, c.cotangents[0])); },
    .vjp_formula = "d(grad) = avg_pool(dz)",
    .cost = pooling_cost<false>,
    .doc =
        "The gradient of avg_pool: each window's gradient, divided by the window's size, goes to all of its "
        "values.\n\ngrad: the shape of avg_pool's result, any floating dtype; orig_input_shape: of its "
        "input; " +
        ksize_doc() + "Returns: the dtype of grad, orig_input_shape.\n" + pooling_errors,
    .python_order = order_after({"orig_input_shape", "grad"}),
};

namespace {

/// The attributes without orig_input_shape.
std::vector<Attribute> common(const VjpContext& c) {
  std::vector<Attribute> values = window_values(c);
  values.push_back(c.attribute("ksize"));
  return values;
}
Tensor run_max_pool_grad(const Tensor& input, const Tensor& gradient, const Attributes& attributes) {
  return run_op1(max_pool_grad_op, {input, gradient}, attributes);
}
Tensor run_max_pool_grad_grad(const Tensor& input, const Tensor& gradient, const Attributes& attributes) {
  return run_op1(max_pool_grad_grad_op, {input, gradient}, attributes);
}
Tensor run_avg_pool_grad(const VjpContext& c, const Tensor& gradient, const Shape& input) {
  std::vector<Attribute> values = common(c);
  values.push_back(attribute_of(input));
  return run_op1(avg_pool_grad_op, {gradient}, Attributes(std::move(values)));
}
Tensor run_avg_pool(const VjpContext& c, const Tensor& input) {
  return run_op1(avg_pool_op, {input}, Attributes(common(c)));
}

}  // namespace

}  // namespace tapedeck::ops
