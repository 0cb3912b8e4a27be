// Batch and layer normalization: outputs, statistics, and their gradients in one op each.
#include "engine/ops/core/cost.h"
#include "engine/ops/core/rows.h"

namespace tapedeck::ops {
namespace {

/// The statistics of a call and their places: `over` are the axes that they run over, `wide` their shape with
/// extent 1 there; `summed` and `scale` are the same for scale and offset.
struct Places {
  Integers over, summed;
  Shape wide, scale;

  Places(const Shape& x, int axis, bool layers) {
    for (int i = 0; i < x.rank(); ++i) {
      const bool mine = layers ? i >= axis : i == axis;  // an axis of scale and offset
      (layers == mine ? over : summed).push_back(i);
      wide.push_back(layers == mine ? 1 : x[i]);
      scale.push_back(mine ? x[i] : 1);
    }
    if (!layers) summed = over;
  }
};

Shape shape_of_statistics(const Shape& x, int axis, bool layers) {
  return layers ? Shape(x.span().first(static_cast<std::size_t>(axis))) : Shape{x[axis]};
}
Shape shape_of_scale(const Shape& x, int axis, bool layers) {
  return layers ? Shape(x.span().subspan(static_cast<std::size_t>(axis))) : Shape{x[axis]};
}

int normalized_axis(const OpContext& c) {
  return normalize_axis(c.op.name, "axis", integer_of(c, "axis"), c.inputs[0].shape());
}
int normalized_axis(const VjpContext& c) {
  return normalize_axis(c.op.name, "axis", c.get<std::int64_t>("axis"), c.inputs[0].shape());
}
template <class Context>
double epsilon_of(const Context& c) {
  return real_of(c.attribute("epsilon"));
}

void require_shape(const OpContext& c, std::size_t input, const Shape& wanted) {
  if (c.inputs[input].shape() != wanted)
    fail<InvalidArgumentError>(c.op.name, ": ", c.op.inputs[input].name, " has shape ",
                               to_string(c.inputs[input].shape()), "; for x ", to_string(c.inputs[0].shape()),
                               " and axis ", normalized_axis(c), " it is ", to_string(wanted));
}

/// The common checks: dtypes, the axis, epsilon, and the shape of scale.
int checked_axis(const OpContext& c, bool layers) {
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    require_same_dtype(c, 0, i);
    require_kind(c, i, Kind::floating);
  }
  const int axis = normalized_axis(c);
  if (!(epsilon_of(c) >= 0))
    fail<InvalidArgumentError>(c.op.name, ": epsilon is ", epsilon_of(c), "; must be at least 0");
  require_shape(c, 1, shape_of_scale(c.inputs[0].shape(), axis, layers));
  return axis;
}

template <bool layers>
TensorSpecs forward_shapes(const OpContext& c) {
  const int axis = checked_axis(c, layers);
  const Shape& x = c.inputs[0].shape();
  require_shape(c, 2, shape_of_scale(x, axis, layers));
  TensorSpecs specs = like_first(c);
  for (int i = 0; i < 2; ++i) specs.push_back({c.inputs[0].dtype(), shape_of_statistics(x, axis, layers)});
  return specs;
}

/// x, scale, mean, variance, and g, the cotangent.
template <bool layers>
TensorSpecs gradient_shapes(const OpContext& c) {
  const int axis = checked_axis(c, layers);
  const Shape& x = c.inputs[0].shape();
  for (const std::size_t input : {std::size_t{2}, std::size_t{3}})
    require_shape(c, input, shape_of_statistics(x, axis, layers));
  require_shape(c, 4, x);
  TensorSpecs specs = like_first(c);
  for (int i = 0; i < 2; ++i) specs.push_back({c.inputs[0].dtype(), shape_of_scale(x, axis, layers)});
  return specs;
}

kernels::Channels channels_of(const Shape& x, int axis) {
  kernels::Channels of{1, x[axis], 1};
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) (i < axis ? of.outer : of.inner) *= x[i];
  return of;
}

Tensors allocated(const OpContext& c) {
  Tensors outputs;
  for (std::size_t i = 0; i < 3; ++i) outputs.push_back(allocate_output(c, i));
  return outputs;
}

void* to(const Tensor& tensor) {
  return tensor.writable_data<std::byte>();
}

template <bool layers>
Tensors normalization_forward(const OpContext& c) {
  const int axis = normalized_axis(c);
  const Tensor x = contiguous(c.inputs[0]), scale = contiguous(c.inputs[1]), offset = contiguous(c.inputs[2]);
  Tensors out = allocated(c);
  if constexpr (layers)
    backend().layer_norm(x.dtype(), out[1].count(), scale.count(), x.raw(), scale.raw(), offset.raw(),
                         epsilon_of(c), to(out[0]), to(out[1]), to(out[2]));
  else
    backend().batch_norm(x.dtype(), channels_of(x.shape(), axis), x.raw(), scale.raw(), offset.raw(),
                         epsilon_of(c), to(out[0]), to(out[1]), to(out[2]));
  return out;
}

template <bool layers>
Tensors gradient(const OpContext& c) {
  const int axis = normalized_axis(c);
  const Tensor x = contiguous(c.inputs[0]), scale = contiguous(c.inputs[1]), mean = contiguous(c.inputs[2]),
               variance = contiguous(c.inputs[3]), dy = contiguous(c.inputs[4]);
  Tensors out = allocated(c);
  if constexpr (layers)
    backend().layer_norm_gradient(x.dtype(), mean.count(), scale.count(), x.raw(), scale.raw(), mean.raw(),
                                  variance.raw(), dy.raw(), epsilon_of(c), to(out[0]), to(out[1]),
                                  to(out[2]));
  else
    backend().batch_norm_gradient(x.dtype(), channels_of(x.shape(), axis), x.raw(), scale.raw(), mean.raw(),
                                  variance.raw(), dy.raw(), epsilon_of(c), to(out[0]), to(out[1]),
                                  to(out[2]));
  return out;
}

std::int64_t count_over(const Shape& x, const Integers& axes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) count *= x[static_cast<int>(axis)];
  return std::max<std::int64_t>(1, count);
}

/// The gradient of an output's cotangent by `gradient_op`; those of the statistics are added to it.
template <bool layers>
Tensors forward_vjp(const VjpContext& c, const OpDef& gradient_op) {
  const Tensor& x = c.inputs[0];
  const int axis = normalized_axis(c);
  const Places places(x.shape(), axis, layers);
  Tensors gradients(3);
  if (c.cotangents[0])
    gradients =
        run_op(gradient_op, std::vector<Tensor>{x, c.inputs[1], c.outputs[1], c.outputs[2], c.cotangents[0]},
               {std::int64_t{axis}, epsilon_of(c)});
  const auto count = static_cast<double>(count_over(x.shape(), places.over));
  const auto add = [&](const Tensor& part) { gradients[0] = gradients[0] ? gradients[0] + part : part; };
  if (c.cotangents[1]) add(broadcast_to(reshape(c.cotangents[1] / count, places.wide), x.shape()));
  if (c.cotangents[2])
    add(reshape(c.cotangents[2] * (2.0 / count), places.wide) * (x - reshape(c.outputs[1], places.wide)));
  return gradients;
}

/// The sum of the defined ones.
struct Total {
  Tensor sum;
  void add(const Tensor& part) { sum = sum ? sum + part : part; }
};

/// With n = (x − mean)·r, r = 1/√(variance + epsilon), h = dy·scale and M the mean over the statistics' axes,
/// dx = r·(h − M(h) − n·M(h·n)); this is the gradient of u·dx + a·dscale + b·doffset.
template <bool layers>
Tensors normalization_gradient_vjp(const VjpContext& c) {
  const Tensor& x = c.inputs[0];
  const Tensor& dy = c.inputs[4];
  const Places places(x.shape(), normalized_axis(c), layers);
  const auto mean_of = [&](const Tensor& t) { return reduce_mean(t, places.over, true); };
  const Tensor scale = reshape(c.inputs[1], places.scale);
  const Tensor distance = x - reshape(c.inputs[2], places.wide);
  const Tensor r = rsqrt(reshape(c.inputs[3], places.wide) + epsilon_of(c));
  const Tensor n = distance * r;
  Total to_dy, to_n, to_r, to_scale;
  if (const Tensor& u = c.cotangents[0]) {
    const Tensor h = dy * scale, weight = mean_of(h * n), other = mean_of(u * n);
    const Tensor projected = r * (u - mean_of(u) - n * other);
    to_dy.add(scale * projected);
    to_scale.add(reduce_sum(dy * projected, places.summed));
    to_n.add(-(r * (u * weight + h * other)));
    to_r.add(reduce_sum(u * (h - mean_of(h) - n * weight), places.over, true));
  }
  if (c.cotangents[1]) {
    const Tensor a = reshape(c.cotangents[1], places.scale);
    to_dy.add(a * n);
    to_n.add(a * dy);
  }
  if (c.cotangents[2]) to_dy.add(broadcast_to(reshape(c.cotangents[2], places.scale), x.shape()));
  Tensors gradients(5);
  gradients[4] = to_dy.sum;
  if (to_scale.sum) gradients[1] = reshape(to_scale.sum, c.inputs[1].shape());
  if (!to_n.sum) return gradients;
  gradients[0] = to_n.sum * r;
  gradients[2] = reshape(-reduce_sum(gradients[0], places.over, true), c.inputs[2].shape());
  to_r.add(reduce_sum(to_n.sum * distance, places.over, true));
  gradients[3] = reshape(to_r.sum * (r * r * r) * -0.5, c.inputs[3].shape());
  return gradients;
}

std::vector<AttributeSpec> attributes(double epsilon) {
  return {{.name = "axis", .kind = AttributeKind::integer, .fallback = std::int64_t{-1}},
          {.name = "epsilon", .kind = AttributeKind::real, .fallback = epsilon}};
}

constexpr const char* gradient_errors =
    "Errors: InvalidArgumentError for an axis out of range, other shapes, and an epsilon below 0; "
    "TypeMismatchError for other or different dtypes.";

}  // namespace

TAPEDECK_OP(batch_norm_grad_op) = {
    .name = "batch_norm_grad",
    .python_names = {},
    .inputs = {{.name = "x"}, {.name = "scale"}, {.name = "mean"}, {.name = "variance"}, {.name = "g"}},
    .attributes = attributes(1e-3),
    .shape_rule = gradient_shapes<false>,
    .forward = gradient<false>,
    .vjp_reads = VjpReads::inputs,
    .vjp = normalization_gradient_vjp<false>,
    .vjp_formula =
        "dg = scale·r·(u − M(u) − n·M(u·n)) + d(gscale)·n + d(goffset), dx = r·(d(gscale)·g − "
        "r·(u·M(h·n) "
        "+ h·M(u·n))), d(scale) = Σ g·r·(u − M(u) − n·M(u·n)), d(mean) = −Σ dx, d(variance) = −r·r·r·R / "
        "2, "
        "n = (x − mean)·r, r = 1/√(variance + epsilon), h = g·scale, u: the gradient of gx, M: the mean "
        "over the "
        "axes, R: the gradient of r",
    .cost = cost::per_input<10>,
    .doc =
        std::string(
            "The gradient of batch_norm: with n = (x − mean)·r, r = 1/√(variance + epsilon), gx = "
            "scale·r·(g − M(g) − n·M(g·n)), gscale = Σ g·n, goffset = Σ g; M is the mean over all axes "
            "but `axis`.\n\n"
            "x, g: any floating dtype, one shape; scale, mean, variance: (channels,), the same dtype, mean "
            "and variance as batch_norm returned them; axis, epsilon: batch_norm's.\n"
            "Returns: (gx, gscale, goffset).\n") +
        gradient_errors,
    .results = {.fields = {"gx", "gscale", "goffset"}},
};

TAPEDECK_OP(batch_norm_op) = {
    .name = "batch_norm",
    .python_names = {},
    .inputs = {{.name = "x"}, {.name = "scale"}, {.name = "offset"}},
    .attributes = attributes(1e-3),
    .shape_rule = forward_shapes<false>,
    .forward = normalization_forward<false>,
    .vjp = [](const VjpContext& c) { return forward_vjp<false>(c, batch_norm_grad_op); },
    .vjp_formula =
        "dx = scale·r·(dz − M(dz) − n·M(dz·n)) + d(mean)/N + d(variance)·2(x − mean)/N, d(scale) = Σ "
        "dz·n, d(offset) = Σ dz, n = (x − mean)·r, r = 1/√(variance + epsilon), M: the mean over the other "
        "axes, N: how many they are",
    .cost = cost::per_input<7>,
    .doc =
        "Batch normalization with the batch's own statistics: (x − mean)/√(variance + epsilon)·scale + "
        "offset, "
        "mean and variance over all axes but `axis` (Ioffe and Szegedy 2015, "
        "https://arxiv.org/abs/1502.03167).\n\n"
        "x: any floating dtype; scale, offset: (channels,), the same dtype; axis: that of the channels; "
        "epsilon: at least 0.\n"
        "Returns: (z, mean, variance): the shape of x, and (channels,) twice; the variance has N below. Of "
        "nothing they are NaN.\n"
        "Errors: InvalidArgumentError for an axis out of range, other shapes, and an epsilon below 0; "
        "TypeMismatchError for other or different dtypes.",
    .results = {.fields = {"z", "mean", "variance"}},
};

TAPEDECK_OP(layer_norm_grad_op) = {
    .name = "layer_norm_grad",
    .python_names = {},
    .inputs = {{.name = "x"}, {.name = "scale"}, {.name = "mean"}, {.name = "variance"}, {.name = "g"}},
    .attributes = attributes(1e-3),
    .shape_rule = gradient_shapes<true>,
    .forward = gradient<true>,
    .vjp_reads = VjpReads::inputs,
    .vjp = normalization_gradient_vjp<true>,
    .vjp_formula =
        "dg = scale·r·(u − M(u) − n·M(u·n)) + d(gscale)·n + d(goffset), dx = r·(d(gscale)·g − "
        "r·(u·M(h·n) "
        "+ h·M(u·n))), d(scale) = Σ g·r·(u − M(u) − n·M(u·n)), d(mean) = −Σ dx, d(variance) = −r·r·r·R / "
        "2, "
        "n = (x − mean)·r, r = 1/√(variance + epsilon), h = g·scale, u: the gradient of gx, M: the mean "
        "over the "
        "axes, R: the gradient of r",
    .cost = cost::per_input<10>,
    .doc = std::string(
               "The gradient of layer_norm: with n = (x − mean)·r, r = 1/√(variance + epsilon), h = "
               "g·scale, gx "
               "= r·(h − M(h) − n·M(h·n)), gscale = Σ g·n, goffset = Σ g; M is the mean over the axes from "
               "`axis` on, Σ runs over those before.\n\n"
               "x, g: any floating dtype, one shape; scale: the shape of x from `axis` on; mean, variance: "
               "that "
               "before it, as layer_norm returned them; axis, epsilon: layer_norm's.\n"
               "Returns: (gx, gscale, goffset).\n") +
           gradient_errors,
    .results = {.fields = {"gx", "gscale", "goffset"}},
};

TAPEDECK_OP(layer_norm_op) = {
    .name = "layer_norm",
    .python_names = {},
    .inputs = {{.name = "x"}, {.name = "scale"}, {.name = "offset"}},
    .attributes = attributes(1e-3),
    .shape_rule = forward_shapes<true>,
    .forward = normalization_forward<true>,
    .vjp = [](const VjpContext& c) { return forward_vjp<true>(c, layer_norm_grad_op); },
    .vjp_formula =
        "dx = r·(h − M(h) − n·M(h·n)) + d(mean)/N + d(variance)·2(x − mean)/N, h = dz·scale, d(scale) = "
        "Σ dz·n, d(offset) = Σ dz, n = (x − mean)·r, r = 1/√(variance + epsilon), M: the mean over the axes, "
        "N: how many they are",
    .cost = cost::per_input<7>,
    .doc =
        "Layer normalization: (x − mean)/√(variance + epsilon)·scale + offset, mean and variance over the "
        "axes "
        "from `axis` on (Ba, Kiros and Hinton 2016, https://arxiv.org/abs/1607.06450).\n\n"
        "x: any floating dtype; scale, offset: the shape of x from `axis` on, the same dtype; epsilon: at "
        "least 0.\n"
        "Returns: (z, mean, variance): the shape of x, and twice that before `axis`; of nothing mean and "
        "variance are NaN.\n"
        "Errors: InvalidArgumentError for an axis out of range, other shapes, and an epsilon below 0; "
        "TypeMismatchError for other or different dtypes.",
    .results = {.fields = {"z", "mean", "variance"}},
};

}  // namespace tapedeck::ops
