// Building blocks of losses and classifiers.
#include <algorithm>
#include <cmath>

#include "engine/ops/core/cost.h"
#include "engine/ops/core/rows.h"
#include "engine/ops/elementwise/binary_row.h"

namespace tapedeck::ops {

static Tensor log_softmax(const Tensor& logits, std::int64_t axis = -1);
namespace {

using RowKernel = void (*Backend::*)(DType, const void*, std::int64_t, std::int64_t, void*);

TensorSpecs softmax_shape(const OpContext& c) {
  require_kind(c, 0, Kind::floating);
  normalize_axis(c.op.name, "axis", integer_of(c, "axis"), c.inputs[0].shape());
  return like_first(c);
}

RowOrder rows_along_axis(const OpContext& c, const Shape& shape) {
  std::vector<bool> flags(static_cast<std::size_t>(shape.rank()), false);
  flags[static_cast<std::size_t>(normalize_axis(c.op.name, "axis", integer_of(c, "axis"), shape))] = true;
  return {shape, flags};
}

template <RowKernel kernel>
Tensors softmax_forward(const OpContext& c) {
  const RowOrder order = rows_along_axis(c, c.inputs[0].shape());
  const Tensor rows = order.rows_of(c.inputs[0]);
  Tensor out = Tensor::allocate(rows.dtype(), rows.shape());
  (backend().*kernel)(rows.dtype(), rows.raw(), order.rows, order.count, out.writable_data<std::byte>());
  return one(order.original_order(out));
}

std::int64_t axis_of(const VjpContext& c) {
  return c.get<std::int64_t>("axis");
}

OpDef softmax_row(const std::string& name, const std::string& what, const std::string& formula,
                  Forward forward, Vjp vjp) {
  return {
      .name = name,
      .python_names = {"nn." + name, "math." + name},
      .inputs = {{.name = "logits"}},
      .attributes =
          {{.name = "axis", .kind = AttributeKind::integer, .fallback = std::int64_t{-1}, .old_name = "dim"}},
      .shape_rule = softmax_shape,
      .forward = forward,
      .vjp = vjp,
      .vjp_formula = formula,
      .cost = cost::per_output<5>,
      .doc = what +
             "\n\nlogits: any floating dtype, at least one axis; axis: along which, -1 for the "
             "last.\nReturns: dtype and "
             "shape of logits. The largest logit of each row is subtracted first, so nothing "
             "overflows.\nErrors: "
             "InvalidArgumentError for an axis out of range; TypeMismatchError for another dtype.",
  };
}

}  // namespace

TAPEDECK_OP(softmax_op, VjpReads::outputs) =
    softmax_row("softmax", "Softmax: e^xᵢ / Σⱼ e^xⱼ along an axis.", "dx = z·(dz − Σ dz·z)",
                softmax_forward<&Backend::softmax>, [](const VjpContext& c) {
                  const Tensor& y = c.outputs[0];
                  const Tensor weighted = reduce_sum(c.cotangents[0] * y, Integers{axis_of(c)}, true);
                  return one(y * (c.cotangents[0] - weighted));
                });
TAPEDECK_FACTS(softmax_op) = {.flat = facts::saturated, .activation = Activation::softmax};
Tensor softmax(const Tensor& logits, std::int64_t axis) {
  return run_op1(softmax_op, {logits}, {axis});
}

TAPEDECK_OP(log_softmax_op, VjpReads::outputs) =
    softmax_row("log_softmax", "The logarithm of softmax: xᵢ − ln Σⱼ e^xⱼ along an axis.",
                "dx = dz − e^(z)·Σ dz", softmax_forward<&Backend::log_softmax>, [](const VjpContext& c) {
                  const Tensor sum = reduce_sum(c.cotangents[0], Integers{axis_of(c)}, true);
                  return one(c.cotangents[0] - exp(c.outputs[0]) * sum);
                });
TAPEDECK_FACTS(log_softmax_op) = {
    .outside = [](double a, double) { return a == 0 ? "the logarithm of 0 is minus infinity" : nullptr; }};
Tensor log_softmax(const Tensor& logits, std::int64_t axis) {
  return run_op1(log_softmax_op, {logits}, {axis});
}

// ---- softmax_cross_entropy_with_logits ----
TAPEDECK_OP(softmax_cross_entropy_op) = {
    .name = "softmax_cross_entropy_with_logits",
    .python_names = {"nn.softmax_cross_entropy_with_logits", "nn.softmax_cross_entropy_with_logits_v2"},
    .inputs = {{.name = "labels"}, {.name = "logits"}},
    .attributes =
        {{.name = "axis", .kind = AttributeKind::integer, .fallback = std::int64_t{-1}, .old_name = "dim"}},
    .shape_rule =
        [](const OpContext& c) {
          require_same_dtype(c, 0, 1);
          require_kind(c, 1, Kind::floating);
          const Shape& shape = c.inputs[1].shape();
          if (c.inputs[0].shape() != shape)
            fail<InvalidArgumentError>("softmax_cross_entropy_with_logits: labels ",
                                       to_string(c.inputs[0].shape()), " and logits ", to_string(shape),
                                       " differ in shape");
          std::vector<bool> flags(static_cast<std::size_t>(shape.rank()), false);
          flags[static_cast<std::size_t>(normalize_axis(c.op.name, "axis", integer_of(c, "axis"), shape))] =
              true;
          return spec(c.inputs[1].dtype(), reduced_shape(shape, flags, false));
        },
    .forward =
        [](const OpContext& c) {
          const DType dtype = c.outputs[0].dtype;
          const RowOrder order = rows_along_axis(c, c.inputs[1].shape());
          const Tensor labels = order.rows_of(c.inputs[0]);
          const Tensor logits = order.rows_of(c.inputs[1]);
          const Tensor logarithms = Tensor::allocate(dtype, logits.shape());
          backend().log_softmax(dtype, logits.raw(), order.rows, order.count,
                                logarithms.writable_data<std::byte>());
          const Tensor products =
              run_binary(kernels::Binary::multiply, labels, logarithms, {dtype, logits.shape()});
          const Tensor sums = Tensor::allocate(dtype, c.outputs[0].shape);
          backend().reduce(kernels::Reduction::sum, dtype, products.raw(), order.rows, order.count, 1,
                           sums.writable_data<std::byte>());
          Tensor out = allocate_output(c);
          backend().unary(kernels::Unary::negative, dtype, sums.raw(), out.writable_data<std::byte>(),
                          out.count());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          const Tensor& labels = c.inputs[0];
          const Tensor& logits = c.inputs[1];
          const std::int64_t axis = axis_of(c);
          const int place = normalize_axis(c.op.name, "axis", axis, logits.shape());
          const Tensor g = expand_dims(c.cotangents[0], place);
          Tensors gradients(2);
          if (c.wanted[0]) gradients[0] = -g * log_softmax(logits, axis);
          if (c.wanted[1])
            gradients[1] = g * (softmax(logits, axis) * reduce_sum(labels, Integers{axis}, true) - labels);
          return gradients;
        },
    .vjp_formula = "d(logits) = dz·(softmax(logits)·Σ labels − labels), d(labels) = −dz·log_softmax(logits)",
    .cost = cost::per_input<7, 1>,
    .doc =
        "The cross entropy of labels and softmax(logits): −Σⱼ labelsⱼ·log_softmax(logits)ⱼ along an axis.\n\n"
        "labels, logits: any floating dtype, one for both, and one shape; labels are probabilities that sum "
        "to 1 along "
        "the axis; axis: which, -1 for the last.\n"
        "Returns: that dtype, the shape without the axis.\n"
        "Errors: InvalidArgumentError for different shapes or an axis out of range; TypeMismatchError for "
        "other or "
        "different dtypes.",
};

// ---- sparse_softmax_cross_entropy_with_logits ----
TAPEDECK_OP(sparse_softmax_cross_entropy_op) = {
    .name = "sparse_softmax_cross_entropy_with_logits",
    .python_names = {"nn.sparse_softmax_cross_entropy_with_logits"},
    .inputs = {{.name = "labels", .group = '\0', .preferred = DType::int32}, {.name = "logits"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_kind(c, 0, Kind::integer);
          require_kind(c, 1, Kind::floating);
          const Shape& labels = c.inputs[0].shape();
          const Shape& logits = c.inputs[1].shape();
          const auto rank = static_cast<std::size_t>(std::max(0, logits.rank() - 1));
          if (logits.rank() == 0 || Shape(logits.span().first(rank)) != labels)
            fail<InvalidArgumentError>("sparse_softmax_cross_entropy_with_logits: labels ", to_string(labels),
                                       " and logits ", to_string(logits),
                                       "; labels need the shape without the last axis");
          return spec(c.inputs[1].dtype(), labels);
        },
    .forward =
        [](const OpContext& c) {
          const Tensor logits = contiguous(c.inputs[1]);
          const std::int64_t classes = logits.dim(logits.rank() - 1);
          const Tensor labels = checked_indices(c, 0, classes);
          const Tensor logarithms = Tensor::allocate(logits.dtype(), logits.shape());
          backend().log_softmax(logits.dtype(), logits.raw(), labels.count(), classes,
                                logarithms.writable_data<std::byte>());
          const Tensor picked = Tensor::allocate(logits.dtype(), labels.shape());
          backend().pick(item_size(logits.dtype()), logarithms.raw(), labels.count(), classes,
                         labels.data<std::int64_t>(), picked.writable_data<std::byte>());
          Tensor out = allocate_output(c);
          backend().unary(kernels::Unary::negative, out.dtype(), picked.raw(), out.writable_data<std::byte>(),
                          out.count());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(2);
          if (!c.wanted[1]) return gradients;
          const Tensor& logits = c.inputs[1];
          const Tensor hot = one_hot(c.inputs[0], logits.dim(logits.rank() - 1), logits.dtype());
          gradients[1] = expand_dims(c.cotangents[0], -1) * (softmax(logits) - hot);
          return gradients;
        },
    .vjp_formula = "d(logits) = dz·(softmax(logits) − one_hot(labels))",
    .cost = cost::per_input<5, 1>,
    .doc =
        "The cross entropy of one right class and softmax(logits): −log_softmax(logits)[label] along the "
        "last axis.\n\n"
        "labels: any integer dtype, the shape of logits without the last axis, values in [0, classes); "
        "logits: "
        "any floating dtype, (…, classes).\n"
        "Returns: the dtype of logits, the shape of labels.\n"
        "Errors: OutOfRangeError for a label outside the range; InvalidArgumentError for shapes that do not "
        "fit; "
        "TypeMismatchError for other dtypes.",
};

// ---- l2_loss ----
TAPEDECK_OP(l2_loss_op) = {
    .name = "l2_loss",
    .python_names = {"nn.l2_loss"},
    .inputs = {{.name = "t"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_kind(c, 0, Kind::floating);
          return spec(c.inputs[0].dtype(), {});
        },
    .forward =
        [](const OpContext& c) {
          const Tensor t = contiguous(c.inputs[0]);
          const Tensor squares = allocate_output(c);
          backend().dot(t.dtype(), t.raw(), t.raw(), t.count(), squares.writable_data<std::byte>());
          return one(run_binary(kernels::Binary::multiply, squares, constant(0.5, t.dtype()), c.outputs[0]));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp = [](const VjpContext& c) { return one(c.cotangents[0] * c.inputs[0]); },
    .vjp_formula = "dt = dz·t",
    .cost = cost::per_input<2>,
    .doc =
        "Half the sum of the squares: Σ t² / 2.\n\nt: any floating dtype, any shape.\nReturns: the dtype of "
        "t, a scalar.\n"
        "Errors: TypeMismatchError for another dtype.",
};

}  // namespace tapedeck::ops
