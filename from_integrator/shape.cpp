// Views: the same elements under another shape. Nothing is copied where strides can express the result.
#include <algorithm>

#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

namespace tapedeck {

using namespace rules;

namespace {

Tensor view(const Tensor& x, const Shape& shape, const Strides& strides) {
  return Tensor::view(x.storage(), x.dtype(), shape, strides, x.offset());
}

/// The same elements in the same order.
Tensors reshaped(const OpContext& c) {
  const Tensor x = c.inputs[0].make_contiguous();
  return one_tensor(view(x, c.outputs[0].shape, contiguous_strides(c.outputs[0].shape)));
}

Tensors back_to_input_shape(const VjpContext& c) { return one_tensor(reshape(c.cotangents[0], c.inputs[0].shape())); }

Axes list(const Shape& shape) { return Axes(shape.begin(), shape.end()); }

}  // namespace

// ---- reshape
namespace {
TensorSpecs reshape_rule(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  Axes extents = c.attributes.get<Axes>(0);
  int unknown = -1;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == -1 && unknown < 0)
      unknown = static_cast<int>(i);
    else if (extents[i] < 0)
      fail<InvalidArgumentError>("reshape: shape ", to_string(c.attributes[0]),
                                 extents[i] == -1 ? " has more than one -1" : " has a negative extent");
  }
  if (unknown >= 0) {
    Axes others = extents;
    others[static_cast<std::size_t>(unknown)] = 1;
    const std::int64_t known = element_count(Shape(std::span<const std::int64_t>(others)));
    if (known == 0 || x.count() % known != 0)
      fail<InvalidArgumentError>("reshape: ", x.count(), " elements of tensor ", to_string(x.shape()), " do not fill shape ",
                                 to_string(c.attributes[0]));
    extents[static_cast<std::size_t>(unknown)] = x.count() / known;
  }
  const Shape shape{std::span<const std::int64_t>(extents)};
  if (element_count(shape) != x.count())
    fail<InvalidArgumentError>("reshape: tensor ", to_string(x.shape()), " has ", x.count(), " elements, shape ", to_string(shape),
                               " has ", element_count(shape));
  return one(x.dtype(), shape);
}
}  // namespace
TAPEDECK_OP(reshape_op) = {.name = "reshape",
                           .python_names = {"reshape"},
                           .inputs = {{.name = "tensor"}},
                           .attributes = {{"shape", AttributeKind::shape, Axes{}, true}},
                           .shape_rule = reshape_rule,
                           .forward = reshaped,
                           .vjp = back_to_input_shape,
                           .vjp_formula = "dx = dy, reshaped to x's shape",
                           .doc = "The same elements, row by row, under another shape.\n\ntensor: any. shape: extents, one of which may be -1: "
                                  "as many as are left. Errors: another number of elements."};
Tensor reshape(const Tensor& x, const Shape& shape) { return run_op1(reshape_op, {x}, {list(shape)}); }

// ---- transpose
namespace {
std::vector<int> permutation(const OpContext& c) {
  const int rank = c.inputs[0].rank();
  std::vector<int> perm;
  if (c.attributes.is_none(0)) {
    for (int i = rank - 1; i >= 0; --i) perm.push_back(i);
    return perm;
  }
  const Axes& given = c.attributes.get<Axes>(0);
  std::vector<bool> used(static_cast<std::size_t>(rank));
  for (const std::int64_t value : given) perm.push_back(axis(c, value, rank, "perm"));
  for (const int one : perm) used[static_cast<std::size_t>(one)] = true;
  if (static_cast<int>(perm.size()) != rank || std::find(used.begin(), used.end(), false) != used.end())
    fail<InvalidArgumentError>("transpose: perm ", to_string(c.attributes[0]), " is no permutation of the ", rank, " axes of ",
                               to_string(c.inputs[0].shape()));
  return perm;
}
TensorSpecs transpose_rule(const OpContext& c) {
  Shape shape;
  for (const int from : permutation(c)) shape.push_back(c.inputs[0].dim(from));
  return one(c.inputs[0].dtype(), shape);
}
Tensors transpose_forward(const OpContext& c) {
  Strides strides;
  for (const int from : permutation(c)) strides.push_back(c.inputs[0].strides()[from]);
  return one_tensor(view(c.inputs[0], c.outputs[0].shape, strides));
}
Tensors transpose_vjp(const VjpContext& c) {
  if (c.attributes.is_none(0)) return one_tensor(transpose(c.cotangents[0]));
  const std::vector<int> perm = permutation({c.op, c.inputs, c.attributes, {}});
  Axes inverse(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  return one_tensor(transpose(c.cotangents[0], inverse));
}
}  // namespace
TAPEDECK_OP(transpose_op) = {.name = "transpose",
                             .python_names = {"transpose"},
                             .inputs = {{.name = "a"}},
                             .attributes = {{"perm", AttributeKind::integers, std::monostate{}}},
                             .shape_rule = transpose_rule,
                             .forward = transpose_forward,
                             .vjp = transpose_vjp,
                             .vjp_formula = "dx = dy, axes permuted back",
                             .doc = "a with its axes in another order.\n\na: any. perm: a permutation of the axes; None reverses them. Shares a's "
                                    "memory."};
Tensor transpose(const Tensor& x) { return run_op1(transpose_op, {x}, {std::monostate{}}); }
Tensor transpose(const Tensor& x, const Axes& perm) { return run_op1(transpose_op, {x}, {perm}); }

// ---- expand_dims
namespace {
TensorSpecs expand_dims_rule(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  const int at = axis(c, c.attributes.get<std::int64_t>(0), x.rank() + 1);
  Shape shape;
  for (int i = 0; i <= x.rank(); ++i) {
    if (i == at) shape.push_back(1);
    if (i < x.rank()) shape.push_back(x.dim(i));
  }
  return one(x.dtype(), shape);
}
Tensors expand_dims_forward(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  const int at = axis(c, c.attributes.get<std::int64_t>(0), x.rank() + 1);
  Strides strides;
  for (int i = 0; i <= x.rank(); ++i) {
    if (i == at) strides.push_back(i < x.rank() ? x.strides()[i] * x.dim(i) : 1);
    if (i < x.rank()) strides.push_back(x.strides()[i]);
  }
  return one_tensor(view(x, c.outputs[0].shape, strides));
}
}  // namespace
TAPEDECK_OP(expand_dims_op) = {.name = "expand_dims",
                               .python_names = {"expand_dims"},
                               .inputs = {{.name = "input"}},
                               .attributes = {{"axis", AttributeKind::integer, std::int64_t{0}, true}},
                               .shape_rule = expand_dims_rule,
                               .forward = expand_dims_forward,
                               .vjp = back_to_input_shape,
                               .vjp_formula = "dx = dy, reshaped to x's shape",
                               .doc = "input with a new axis of extent 1.\n\ninput: any. axis: where the new axis stands in the result; negative ones "
                                      "count from the end. Shares input's memory."};
Tensor expand_dims(const Tensor& x, std::int64_t axis) { return run_op1(expand_dims_op, {x}, {axis}); }

// ---- squeeze
namespace {
std::vector<int> squeezed(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  std::vector<int> gone = axes(c, c.attributes[0], x.rank());
  if (c.attributes.is_none(0)) {
    std::erase_if(gone, [&](int i) { return x.dim(i) != 1; });
    return gone;
  }
  for (const int i : gone)
    if (x.dim(i) != 1)
      fail<InvalidArgumentError>("squeeze: axis ", i, " of ", describe(c, 0), " has extent ", x.dim(i), ", not 1");
  return gone;
}
template <class Pick>
Dims kept(const OpContext& c, Pick&& pick) {
  const std::vector<int> gone = squeezed(c);
  Dims result;
  for (int i = 0; i < c.inputs[0].rank(); ++i)
    if (!std::binary_search(gone.begin(), gone.end(), i)) result.push_back(pick(i));
  return result;
}
}  // namespace
TAPEDECK_OP(squeeze_op) = {
    .name = "squeeze",
    .python_names = {"squeeze"},
    .inputs = {{.name = "input"}},
    .attributes = {{"axis", AttributeKind::integers, std::monostate{}}},
    .shape_rule = [](const OpContext& c) {
      return one(c.inputs[0].dtype(), kept(c, [&](int i) { return c.inputs[0].dim(i); }));
    },
    .forward = [](const OpContext& c) {
      return one_tensor(view(c.inputs[0], c.outputs[0].shape, kept(c, [&](int i) { return c.inputs[0].strides()[i]; })));
    },
    .vjp = back_to_input_shape,
    .vjp_formula = "dx = dy, reshaped to x's shape",
    .doc = "input without axes of extent 1.\n\ninput: any. axis: which to remove; None: all of extent 1. Errors: an axis of another extent. "
           "Shares input's memory."};
Tensor squeeze(const Tensor& x, const std::optional<Axes>& axis) {
  return run_op1(squeeze_op, {x}, {axis ? Attribute(*axis) : Attribute(std::monostate{})});
}

// ---- broadcast_to
namespace {
TensorSpecs broadcast_to_rule(const OpContext& c) {
  const Shape shape = shape_attribute(c, c.attributes[0], "shape");
  if (shape.rank() < c.inputs[0].rank() || broadcast_shapes(c.inputs[0].shape(), shape, "broadcast_to") != shape)
    fail<InvalidArgumentError>("broadcast_to: input ", to_string(c.inputs[0].shape()), " does not broadcast to ", to_string(shape));
  return one(c.inputs[0].dtype(), shape);
}
}  // namespace
TAPEDECK_OP(broadcast_to_op) = {
    .name = "broadcast_to",
    .python_names = {"broadcast_to"},
    .inputs = {{.name = "input"}},
    .attributes = {{"shape", AttributeKind::shape, Axes{}, true}},
    .shape_rule = broadcast_to_rule,
    .forward = [](const OpContext& c) {
      return one_tensor(view(c.inputs[0], c.outputs[0].shape, broadcast(c.inputs[0], c.outputs[0].shape).strides));
    },
    .vjp = [](const VjpContext& c) { return one_tensor(sum_to_shape(c.cotangents[0], c.inputs[0].shape())); },
    .vjp_formula = "dx = Σ dy over the broadcast axes",
    .doc = "input repeated along axes of extent 1, and along new leading axes, until it has `shape`.\n\ninput: any. Errors: shapes that do not "
           "broadcast. Shares input's memory."};
Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : run_op1(broadcast_to_op, {x}, {list(shape)});
}

// ---- identity, stop_gradient
namespace {
TensorSpecs same(const OpContext& c) { return one(c.inputs[0].dtype(), c.inputs[0].shape()); }
Tensors another_view(const OpContext& c) {
  return one_tensor(view(c.inputs[0], c.inputs[0].shape(), c.inputs[0].strides()));
}
}  // namespace
TAPEDECK_OP(identity_op) = {.name = "identity",
                            .python_names = {"identity"},
                            .inputs = {{.name = "input"}},
                            .attributes = {},
                            .shape_rule = same,
                            .forward = another_view,
                            .vjp = [](const VjpContext& c) { return one_tensor(c.cotangents[0]); },
                            .vjp_formula = "dx = dy",
                            .doc = "The same values as a tensor of its own.\n\ninput: any. Shares input's memory."};
Tensor identity(const Tensor& x) { return run_op1(identity_op, {x}); }

TAPEDECK_OP(stop_gradient_op) = {.name = "stop_gradient",
                                 .python_names = {"stop_gradient"},
                                 .inputs = {{.name = "input"}},
                                 .attributes = {},
                                 .shape_rule = same,
                                 .forward = another_view,
                                 .vjp = nullptr,
                                 .vjp_formula = "none",
                                 .doc = "The same values, as a constant for the tape: no gradient flows through.\n\ninput: any. Shares input's memory."};
Tensor stop_gradient(const Tensor& x) { return run_op1(stop_gradient_op, {x}); }

// ---- shape, size, rank
namespace {
TensorSpecs integers_rule(const OpContext& c, const Shape& shape) {
  const DType dtype = c.attributes.get<DType>(0);
  if (!is_integer(dtype)) fail<TypeMismatchError>(c.op.name, ": out_type ", dtype_name(dtype), " is no integer dtype");
  return one(dtype, shape);
}
Tensor integers(const std::vector<std::int64_t>& values, const TensorSpec& spec) {
  if (spec.dtype == DType::int64) return Tensor::from_values(std::span<const std::int64_t>(values), spec.shape);
  const std::vector<std::int32_t> narrow(values.begin(), values.end());
  return Tensor::from_values(std::span<const std::int32_t>(narrow), spec.shape);
}
OpDef metadata_op(std::string name, ShapeRule rule, Forward forward, std::string doc) {
  return {.name = name,
          .python_names = {name},
          .inputs = {{.name = "input"}},
          .attributes = {{"out_type", AttributeKind::dtype, DType::int32}},
          .shape_rule = rule,
          .forward = forward,
          .vjp = nullptr,
          .vjp_formula = "none",
          .doc = std::move(doc)};
}
}  // namespace
TAPEDECK_OP(shape_op) = metadata_op(
    "shape", [](const OpContext& c) { return integers_rule(c, Shape{c.inputs[0].rank()}); },
    [](const OpContext& c) { return one_tensor(integers(list(c.inputs[0].shape()), c.outputs[0])); },
    "The extents of input as an integer vector.");
TAPEDECK_OP(size_op) = metadata_op(
    "size", [](const OpContext& c) { return integers_rule(c, Shape{}); },
    [](const OpContext& c) { return one_tensor(integers({c.inputs[0].count()}, c.outputs[0])); },
    "The number of elements of input, as an integer scalar.");
TAPEDECK_OP(rank_op) = metadata_op(
    "rank", [](const OpContext& c) { return integers_rule(c, Shape{}); },
    [](const OpContext& c) { return one_tensor(integers({c.inputs[0].rank()}, c.outputs[0])); },
    "The number of axes of input, as an integer scalar.");
Tensor shape_of(const Tensor& x) { return run_op1(shape_op, {x}, {DType::int32}); }
Tensor size_of(const Tensor& x) { return run_op1(size_op, {x}, {DType::int32}); }
Tensor rank_of(const Tensor& x) { return run_op1(rank_op, {x}, {DType::int32}); }

namespace detail {
void link_shape() {}
}  // namespace detail

}  // namespace tapedeck
