// Losses of independent labels, biases, and the test of the k best classes.
#include "engine/ops/core/cost.h"
#include "engine/ops/elementwise/binary_row.h"
#include "engine/ops/neural/neural.h"

namespace tapedeck::ops {
namespace {

Tensor run_unary(kernels::Unary kernel, const Tensor& x) {
  const Tensor out = Tensor::allocate(x.dtype(), x.shape());
  backend().unary_strided(kernel, x.dtype(), operand(x, x.shape()), out.writable_data<std::byte>(),
                          x.shape());
  return out;
}
Tensor run_kernel(kernels::Binary kernel, const Tensor& a, const Tensor& b) {
  return run_binary(kernel, a, b, {a.dtype(), broadcast_shapes(a.shape(), b.shape(), "kernel")});
}

void require_same_shape(const OpContext& c, const char* second = "logits") {
  require_same_dtype(c, 0, 1);
  require_kind(c, 1, Kind::floating);
  if (c.inputs[0].shape() != c.inputs[1].shape())
    fail<InvalidArgumentError>(c.op.name, ": labels ", to_string(c.inputs[0].shape()), " and ", second, " ",
                               to_string(c.inputs[1].shape()), " differ in shape");
}

/// ln(1 + e^−|x|): softplus without its linear part.
Tensor softplus_rest(const Tensor& x) {
  return run_unary(kernels::Unary::softplus,
                   run_unary(kernels::Unary::negative, run_unary(kernels::Unary::abs, x)));
}

}  // namespace

// ---- mean_squared_error ----
TAPEDECK_OP(mean_squared_error_op) = {
    .name = "mean_squared_error",
    .python_names = {"losses.mean_squared_error"},
    .inputs = {{.name = "labels"}, {.name = "predictions"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_same_shape(c, "predictions");
          return spec(c.inputs[0].dtype(), {});
        },
    .forward =
        [](const OpContext& c) {
          const Tensor labels = contiguous(c.inputs[0]);
          const Tensor predictions = contiguous(c.inputs[1]);
          const Tensor sum = allocate_output(c);
          backend().squared_distance(labels.dtype(), labels.raw(), predictions.raw(), labels.count(),
                                     sum.writable_data<std::byte>());
          const auto count = static_cast<double>(labels.count());
          return one(run_binary(kernels::Binary::divide, sum, constant(count, sum.dtype()), c.outputs[0]));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(2);
          const Tensor slope = c.cotangents[0] * (2.0 / static_cast<double>(c.inputs[0].count()));
          if (c.wanted[0]) gradients[0] = axpby(slope, c.inputs[0], -slope, c.inputs[1]);
          if (c.wanted[1]) gradients[1] = axpby(slope, c.inputs[1], -slope, c.inputs[0]);
          return gradients;
        },
    .vjp_formula = "d(predictions) = dz·2/n·(predictions − labels), d(labels) = −d(predictions)",
    .cost = cost::per_input<3>,
    .doc =
        "The mean of the squared differences, in one pass: Σ (predictions − labels)² / n. NaN for no "
        "elements.\n\n"
        "labels, predictions: any floating dtype, one for both, and one shape of n elements.\n"
        "Returns: a scalar of that dtype.\n"
        "Errors: InvalidArgumentError for different shapes; TypeMismatchError for other or different dtypes.",
};

// ---- sigmoid_cross_entropy_with_logits ----
TAPEDECK_OP(sigmoid_cross_entropy_op) = {
    .name = "sigmoid_cross_entropy_with_logits",
    .python_names = {"nn.sigmoid_cross_entropy_with_logits"},
    .inputs = {{.name = "labels"}, {.name = "logits"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_same_shape(c);
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          const Tensor& x = c.inputs[1];
          const Tensor line = run_kernel(kernels::Binary::subtract, run_unary(kernels::Unary::relu, x),
                                         run_kernel(kernels::Binary::multiply, x, c.inputs[0]));
          return one(run_kernel(kernels::Binary::add, line, softplus_rest(x)));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          const Tensor& labels = c.inputs[0];
          const Tensor& logits = c.inputs[1];
          Tensors gradients(2);
          if (c.wanted[0]) gradients[0] = -(c.cotangents[0] * logits);
          if (c.wanted[1]) gradients[1] = c.cotangents[0] * (sigmoid(logits) - labels);
          return gradients;
        },
    .vjp_formula = "d(logits) = dz·(σ(logits) − labels), d(labels) = −dz·logits",
    .cost = cost::per_input<7, 1>,
    .doc =
        "The cross entropy of labels and σ(logits), each element on its own: −z·ln σ(x) − (1 − z)·ln(1 − "
        "σ(x)), computed as max(x, 0) − x·z + ln(1 + e^−|x|), which does not overflow.\n\n"
        "labels: z; logits: x; any floating dtype, one for both, and one shape.\n"
        "Returns: dtype and shape of both.\n"
        "Errors: InvalidArgumentError for different shapes; TypeMismatchError for other or different "
        "dtypes.",
};

// ---- weighted_cross_entropy_with_logits ----
TAPEDECK_OP(weighted_cross_entropy_op) = {
    .name = "weighted_cross_entropy_with_logits",
    .python_names = {"nn.weighted_cross_entropy_with_logits"},
    .inputs = {{.name = "labels", .old_name = "targets"}, {.name = "logits"}, {.name = "pos_weight"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_same_shape(c);
          require_same_dtype(c, 1, 2);
          const Shape& shape = c.inputs[1].shape();
          const Shape& weight = c.inputs[2].shape();
          if (broadcast_shapes(shape, weight, "weighted_cross_entropy_with_logits: logits and pos_weight") !=
              shape)
            fail<InvalidArgumentError>("weighted_cross_entropy_with_logits: pos_weight ", to_string(weight),
                                       " does not broadcast to logits ", to_string(shape));
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          const Tensor& z = c.inputs[0];
          const Tensor& x = c.inputs[1];
          const Tensor negative = run_kernel(kernels::Binary::subtract, constant(1.0, x.dtype()), z);
          const Tensor positive = run_kernel(kernels::Binary::multiply, c.inputs[2], z);
          const Tensor line =
              run_kernel(kernels::Binary::add,
                         run_kernel(kernels::Binary::multiply, negative, run_unary(kernels::Unary::relu, x)),
                         run_kernel(kernels::Binary::multiply, positive,
                                    run_unary(kernels::Unary::relu, run_unary(kernels::Unary::negative, x))));
          const Tensor weight = run_kernel(kernels::Binary::add, negative, positive);
          return one(run_kernel(kernels::Binary::add, line,
                                run_kernel(kernels::Binary::multiply, weight, softplus_rest(x))));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          const Tensor& g = c.cotangents[0];
          const Tensor& z = c.inputs[0];
          const Tensor& x = c.inputs[1];
          const Tensor& q = c.inputs[2];
          Tensors gradients(3);
          if (c.wanted[0]) gradients[0] = g * (q * softplus(-x) - softplus(x));
          if (c.wanted[1]) gradients[1] = g * ((1.0 - z) * sigmoid(x) - q * z * sigmoid(-x));
          if (c.wanted[2]) gradients[2] = unbroadcast(g * z * softplus(-x), q.shape());
          return gradients;
        },
    .vjp_formula =
        "with x logits, t labels, q pos_weight: dx = dz·((1 − t)·σ(x) − q·t·σ(−x)), dt = dz·(q·softplus(−x) "
        "− softplus(x)), dq = Σ dz·t·softplus(−x)",
    .cost = cost::per_input<10, 1>,
    .doc =
        "The cross entropy of labels and σ(logits) with a weight for the positive ones: −q·t·ln σ(x) − (1 − "
        "t)·ln(1 − σ(x)), computed as (1 − t)·max(x, 0) + q·t·max(−x, 0) + (1 − t + q·t)·ln(1 + e^−|x|), "
        "which does not overflow.\n\n"
        "labels: t; logits: x, of one shape; pos_weight: q, which broadcasts to them; any floating dtype, "
        "all of one dtype.\n"
        "Returns: dtype and shape of logits.\n"
        "Errors: InvalidArgumentError for shapes that do not fit; TypeMismatchError for other or different "
        "dtypes.",
};

// ---- bias_add ----
namespace {

int channel_axis(const OpDef& op, const std::string& format, const Shape& shape) {
  if (format.starts_with("NC")) return 1;
  if (!format.starts_with('N') || !format.ends_with('C'))
    fail<InvalidArgumentError>(op.name, ": data_format is '", format, "'; must be 'N…C' or 'NC…'");
  return shape.rank() - 1;
}
Shape bias_shape(const Shape& value, int axis) {
  Shape shape;
  for (int i = 0; i < value.rank(); ++i) shape.push_back(i == axis ? value[i] : 1);
  return shape;
}

}  // namespace

TAPEDECK_OP(bias_add_op) = {
    .name = "bias_add",
    .python_names = {"nn.bias_add"},
    .inputs = {{.name = "value"}, {.name = "bias"}},
    .attributes = {{.name = "data_format", .kind = AttributeKind::text, .fallback = std::string("NHWC")}},
    .shape_rule =
        [](const OpContext& c) {
          require_same_dtype(c, 0, 1);
          require_kind(c, 0, Kind::numeric);
          const Shape& value = c.inputs[0].shape();
          const Shape& bias = c.inputs[1].shape();
          if (value.rank() < 2)
            fail<InvalidArgumentError>("bias_add: value has shape ", to_string(value),
                                       "; needs at least 2 axes");
          const int axis = channel_axis(c.op, c.get<std::string>("data_format"), value);
          if (bias != Shape{value[axis]})
            fail<InvalidArgumentError>("bias_add: bias ", to_string(bias), " and value ", to_string(value),
                                       "; needs one number for each of the ", value[axis],
                                       " channels on axis ", axis);
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          const Shape& shape = c.inputs[0].shape();
          const int axis = channel_axis(c.op, c.get<std::string>("data_format"), shape);
          Strides strides;
          for (int i = 0; i < shape.rank(); ++i) strides.push_back(i == axis ? c.inputs[1].strides()[0] : 0);
          const Tensor bias = view_of(c.inputs[1], bias_shape(shape, axis), strides);
          return one(run_kernel(kernels::Binary::add, c.inputs[0], bias));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          const Shape& shape = c.inputs[0].shape();
          const int axis = channel_axis(c.op, c.get<std::string>("data_format"), shape);
          Tensors gradients(2);
          if (c.wanted[0]) gradients[0] = c.cotangents[0];
          Integers others;
          for (int i = 0; i < shape.rank(); ++i)
            if (i != axis) others.push_back(i);
          if (c.wanted[1]) gradients[1] = reduce_sum(c.cotangents[0], others);
          return gradients;
        },
    .vjp_formula = "d(value) = dz, d(bias) = Σ dz over all axes but the channels",
    .doc =
        "Adds one number to each channel.\n\n"
        "value: at least 2 axes; bias: (channels,); any numeric dtype, one for both; "
        "data_format: 'N…C' ('NHWC', 'NWC'), channels on the last axis, or 'NC…', on axis 1.\n"
        "Returns: dtype and shape of value.\n"
        "Errors: InvalidArgumentError for shapes that do not fit or another data_format; "
        "TypeMismatchError for other or different dtypes.",
};
TAPEDECK_FACTS(bias_add_op) = {.sums = true};

// ---- in_top_k ----
TAPEDECK_OP(in_top_k_op) = {
    .name = "in_top_k",
    .python_names = {"nn.in_top_k", "math.in_top_k"},
    .inputs = {{.name = "predictions"}, {.name = "targets", .group = '\0', .preferred = DType::int32}},
    .attributes = {{.name = "k", .kind = AttributeKind::integer, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          require_kind(c, 0, Kind::floating);
          require_kind(c, 1, Kind::integer);
          const Shape& predictions = c.inputs[0].shape();
          const Shape& targets = c.inputs[1].shape();
          if (predictions.rank() != 2 || targets != Shape{predictions[0]})
            fail<InvalidArgumentError>("in_top_k: predictions ", to_string(predictions), " and targets ",
                                       to_string(targets), "; need (rows, classes) and (rows,)");
          (void)integer_of(c, "k");
          return spec(DType::bool_, targets);
        },
    .forward =
        [](const OpContext& c) {
          const Tensor predictions = contiguous(c.inputs[0]);
          Tensor targets = contiguous(c.inputs[1]);
          if (targets.dtype() != DType::int64) {
            const Tensor wide = Tensor::allocate(DType::int64, targets.shape());
            backend().cast(targets.dtype(), wide.dtype(), operand(targets, targets.shape()),
                           wide.writable_data<std::byte>(), targets.shape());
            targets = wide;
          }
          Tensor out = allocate_output(c);
          backend().in_top_k(predictions.dtype(), predictions.raw(), predictions.dim(0), predictions.dim(1),
                             targets.data<std::int64_t>(), integer_of(c, "k"), out.writable_data<bool>());
          return one(std::move(out));
        },
    .vjp = nullptr,
    .vjp_formula = "none",
    .doc =
        "True where the right class is among the k best: fewer than k classes of the row have a larger "
        "prediction.\n\n"
        "predictions: (rows, classes), any floating dtype; targets: (rows,), any whole-number dtype, the "
        "right "
        "class of each row; k: whole number.\n"
        "Returns: bool, (rows,). False if the target is not a class, or the row contains NaN or ∞.\n"
        "Errors: InvalidArgumentError for shapes that do not fit; TypeMismatchError for other dtypes.",
};

}  // namespace tapedeck::ops
