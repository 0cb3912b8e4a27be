// Changes and queries of shape. If strides can express it, the result shares the input's storage.
#include <algorithm>
#include <limits>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"

namespace tapedeck::ops {

namespace {

/// The VJP of ops that keep the row-major order.
Tensors reshaped_gradient(const VjpContext& c) {
  return one(reshape(c.cotangents[0], c.inputs[0].shape()));
}

}  // namespace

// ---- reshape ----
namespace {

TensorSpecs reshape_shape(const OpContext& c) {
  const Tensor& tensor = c.inputs[0];
  Shape shape{std::span<const std::int64_t>(integers_of(c.attribute("shape")))};
  int open = -1;
  // Beside an extent of 0 the others may have any product.
  std::int64_t known = std::find(shape.begin(), shape.end(), 0) != shape.end() ? 0 : 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == -1 && open < 0)
      open = axis;
    else if (shape[axis] < 0)
      fail<InvalidArgumentError>("reshape: shape ", to_string(shape),
                                 shape[axis] == -1 ? " holds -1 twice" : " has a negative extent");
    else if (known != 0 && __builtin_mul_overflow(known, shape[axis], &known))
      fail<InvalidArgumentError>("reshape: shape ", to_string(shape), " has more elements than int64 counts");
  }
  if (open >= 0) {
    if (known == 0 && tensor.count() == 0)
      fail<InvalidArgumentError>("reshape: shape ", to_string(shape),
                                 " holds -1 beside a 0: it is ambiguous");
    if (known == 0 ? tensor.count() != 0 : tensor.count() % known != 0)
      fail<InvalidArgumentError>("reshape: tensor ", to_string(tensor.shape()), " with ", tensor.count(),
                                 " values does not fill shape ", to_string(shape));
    shape[open] = known == 0 ? 0 : tensor.count() / known;
  } else if (known != tensor.count()) {
    fail<InvalidArgumentError>("reshape: tensor ", to_string(tensor.shape()), " has ", tensor.count(),
                               " values, shape ", to_string(shape), " needs ", known);
  }
  return spec(tensor.dtype(), shape);
}

}  // namespace

TAPEDECK_OP(reshape_op) = {
    .name = "reshape",
    .python_names = {"reshape", "manip.reshape"},
    .inputs = {{.name = "tensor"}},
    .attributes = {{.name = "shape", .kind = AttributeKind::shape, .fallback = {}, .required = true}},
    .shape_rule = reshape_shape,
    .forward =
        [](const OpContext& c) {
          const Tensor values = contiguous(c.inputs[0]);
          return one(view_of(values, c.outputs[0].shape, contiguous_strides(c.outputs[0].shape)));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp = reshaped_gradient,
    .vjp_formula = "dx = reshape(dz, shape of x)",
    .cost = cost::view,
    .doc =
        "The same values in row-major order with another shape; no copy where the tensor is contiguous.\n\n"
        "tensor: any dtype; shape: extents, one of which may be -1: it is what the others leave.\n"
        "Returns: the dtype of tensor, shape.\n"
        "Errors: InvalidArgumentError if the number of values differs, or -1 occurs twice.",
    .takes_narrow = true,
};
Tensor reshape(const Tensor& tensor, const Shape& shape) {
  return run_op1(reshape_op, {tensor}, {attribute_of(shape)});
}

// ---- expand_dims ----
namespace {

int new_axis(const OpContext& c) {
  return normalize_axis("expand_dims", "axis", integer_of(c, "axis"), c.inputs[0].shape(), 1);
}

/// The dims with `value` inserted before `axis`.
Dims insert(const Dims& dims, int axis, std::int64_t value) {
  Dims result;
  for (int i = 0; i <= dims.rank(); ++i) {
    if (i == axis) result.push_back(value);
    if (i < dims.rank()) result.push_back(dims[i]);
  }
  return result;
}

}  // namespace

TAPEDECK_OP(expand_dims_op) = {
    .name = "expand_dims",
    .python_names = {"expand_dims"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "axis",
                    .kind = AttributeKind::integer,
                    .fallback = {},
                    .required = true,
                    .old_name = "dim"}},
    .shape_rule =
        [](const OpContext& c) {
          return spec(c.inputs[0].dtype(), insert(c.inputs[0].shape(), new_axis(c), 1));
        },
    .forward =
        [](const OpContext& c) {
          return one(view_of(c.inputs[0], c.outputs[0].shape, insert(c.inputs[0].strides(), new_axis(c), 0)));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp = reshaped_gradient,
    .vjp_formula = "dx = reshape(dz, shape of x)",
    .cost = cost::view,
    .doc =
        "Puts in an axis of extent 1, without a copy.\n\n"
        "input: any dtype and shape; axis: the position of the new axis, negative from the end of the "
        "result.\n"
        "Returns: the dtype of input, its shape with one more axis.\n"
        "Errors: InvalidArgumentError for an axis out of range.",
    .takes_narrow = true,
};
Tensor expand_dims(const Tensor& input, std::int64_t axis) {
  return run_op1(expand_dims_op, {input}, {axis});
}

// ---- squeeze ----
namespace {

std::vector<bool> squeezed_axes(const OpContext& c) {
  const Shape& shape = c.inputs[0].shape();
  const bool all = c.is_none("axis") || integers_of(c.attribute("axis")).empty();
  std::vector<bool> flags(static_cast<std::size_t>(shape.rank()), false);
  if (!all) flags = axis_flags(c, "axis", shape);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (all) flags[i] = shape[axis] == 1;
    if (flags[i] && shape[axis] != 1)
      fail<InvalidArgumentError>("squeeze: axis ", axis, " of shape ", to_string(shape), " has extent ",
                                 shape[axis], ", not 1");
  }
  return flags;
}

Dims without(const Dims& dims, const std::vector<bool>& flags) {
  Dims result;
  for (int axis = 0; axis < dims.rank(); ++axis)
    if (!flags[static_cast<std::size_t>(axis)]) result.push_back(dims[axis]);
  return result;
}

}  // namespace

TAPEDECK_OP(squeeze_op) = {
    .name = "squeeze",
    .python_names = {"squeeze"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "axis",
                    .kind = AttributeKind::integers,
                    .fallback = std::monostate{},
                    .old_name = "squeeze_dims"}},
    .shape_rule =
        [](const OpContext& c) {
          return spec(c.inputs[0].dtype(), without(c.inputs[0].shape(), squeezed_axes(c)));
        },
    .forward =
        [](const OpContext& c) {
          return one(
              view_of(c.inputs[0], c.outputs[0].shape, without(c.inputs[0].strides(), squeezed_axes(c))));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp = reshaped_gradient,
    .vjp_formula = "dx = reshape(dz, shape of x)",
    .cost = cost::view,
    .doc =
        "Takes away axes of extent 1, without a copy.\n\n"
        "input: any dtype and shape; axis: which ones, None or an empty list for all of extent 1.\n"
        "Returns: the dtype of input, its shape without those axes.\n"
        "Errors: InvalidArgumentError for an axis out of range, named twice, or of another extent.",
    .takes_narrow = true,
};

// ---- shape, size, rank ----
namespace {

/// Views may have more elements than any memory.
DType count_dtype(const OpContext& c, std::span<const std::int64_t> counts) {
  const DType dtype = index_dtype_of(c, "out_type");
  for (const std::int64_t count : counts)
    if (dtype == DType::int32 && count > std::numeric_limits<std::int32_t>::max())
      fail<InvalidArgumentError>(c.op.name, ": ", count, " of input ", to_string(c.inputs[0].shape()),
                                 " does not fit in int32; pass out_type int64");
  return dtype;
}

}  // namespace

TAPEDECK_OP(shape_op) = {
    .name = "shape",
    .python_names = {"shape"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "out_type", .kind = AttributeKind::dtype, .fallback = DType::int32}},
    .shape_rule =
        [](const OpContext& c) {
          return spec(count_dtype(c, c.inputs[0].shape().span()), {c.inputs[0].rank()});
        },
    .forward =
        [](const OpContext& c) { return one(from_integers(c.inputs[0].shape().span(), c.outputs[0])); },
    .vjp = nullptr,
    .vjp_formula = "none",
    .cost = cost::view,
    .doc =
        "The extents of a tensor, as a tensor.\n\ninput: any dtype and shape; out_type: int32 or int64.\n"
        "Returns: out_type, (rank of input,).\nErrors: InvalidArgumentError for another out_type, or one "
        "that is too small.",
    .takes_narrow = true,
};
Tensor shape(const Tensor& input, DType out_type) {
  return run_op1(shape_op, {input}, {out_type});
}

TAPEDECK_OP(size_op) = {
    .name = "size",
    .python_names = {"size"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "out_type", .kind = AttributeKind::dtype, .fallback = DType::int32}},
    .shape_rule =
        [](const OpContext& c) {
          const std::int64_t count = c.inputs[0].count();
          return spec(count_dtype(c, {&count, 1}), {});
        },
    .forward =
        [](const OpContext& c) {
          const std::int64_t count = c.inputs[0].count();
          return one(from_integers({&count, 1}, c.outputs[0]));
        },
    .vjp = nullptr,
    .vjp_formula = "none",
    .cost = cost::view,
    .doc =
        "The number of elements of a tensor.\n\ninput: any dtype and shape; out_type: int32 or int64.\n"
        "Returns: out_type, a scalar.\nErrors: InvalidArgumentError for another out_type, or one that is too "
        "small.",
    .takes_narrow = true,
};
Tensor size(const Tensor& input, DType out_type) {
  return run_op1(size_op, {input}, {out_type});
}

TAPEDECK_OP(rank_op) = {
    .name = "rank",
    .python_names = {"rank"},
    .inputs = {{.name = "input"}},
    .attributes = {},
    .shape_rule = [](const OpContext&) { return spec(DType::int32, {}); },
    .forward =
        [](const OpContext& c) {
          const std::int64_t rank = c.inputs[0].rank();
          return one(from_integers({&rank, 1}, c.outputs[0]));
        },
    .vjp = nullptr,
    .vjp_formula = "none",
    .cost = cost::view,
    .doc = "The number of axes of a tensor.\n\ninput: any dtype and shape.\nReturns: int32, a scalar.",
    .takes_narrow = true,
};
Tensor rank(const Tensor& input) {
  return run_op1(rank_op, {input});
}

}  // namespace tapedeck::ops
