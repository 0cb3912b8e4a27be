// Comparisons, logic, and the choice between two values.
#include "engine/ops/elementwise_rules.h"

namespace tapedeck {

using namespace rules;
using cpu::Binary;

#define TAPEDECK_COMPARISON(function, symbol, inputs)                                                          \
  TAPEDECK_OP(function##_op) =                                                                                 \
      binary_op<Binary::function>(#function, {#function, "math." #function}, nullptr, "none",                  \
                                  "x " symbol " y, element by element, as bool.\n\nx, y: " inputs              \
                                  " of one dtype, shapes that broadcast.");                                    \
  Tensor function(const Tensor& x, const Tensor& y) { return run_op1(function##_op, {x, y}); }

TAPEDECK_COMPARISON(equal, "=", "any")
TAPEDECK_COMPARISON(not_equal, "≠", "any")
TAPEDECK_COMPARISON(less, "<", "numbers")
TAPEDECK_COMPARISON(less_equal, "≤", "numbers")
TAPEDECK_COMPARISON(greater, ">", "numbers")
TAPEDECK_COMPARISON(greater_equal, "≥", "numbers")
TAPEDECK_COMPARISON(logical_and, "and", "bool")
TAPEDECK_COMPARISON(logical_or, "or", "bool")

// ---- logical_xor: on bool, the same as "differs"
TAPEDECK_OP(logical_xor_op) = [] {
  OpDef op = binary_op<Binary::not_equal>("logical_xor", {"logical_xor", "math.logical_xor"}, nullptr, "none",
                                          "Exactly one of x and y, element by element.\n\nx, y: bool, shapes that broadcast.");
  op.shape_rule = binary_rule<Binary::logical_and>;
  return op;
}();

// ---- where
namespace {
TensorSpecs where_rule(const OpContext& c) {
  require(c, 0, c.inputs[0].dtype() == DType::bool_, "bool");
  same_dtype(c);
  const Shape values = broadcast_shapes(c.inputs[1].shape(), c.inputs[2].shape(), "where");
  return one(c.inputs[1].dtype(), broadcast_shapes(c.inputs[0].shape(), values, "where"));
}
Tensors where_forward(const OpContext& c) {
  const Shape& shape = c.outputs[0].shape;
  Tensor out = Tensor::allocate(c.outputs[0].dtype, shape);
  cpu::select(out.dtype(), broadcast(c.inputs[0], shape), broadcast(c.inputs[1], shape), broadcast(c.inputs[2], shape),
              output(out), shape);
  return one_tensor(std::move(out));
}
Tensors where_vjp(const VjpContext& c) {
  const Tensor &dz = c.cotangents[0], zero = like(dz, 0);
  Tensors gradients(3);
  if (c.wanted[1]) gradients[1] = sum_to_shape(where(c.inputs[0], dz, zero), c.inputs[1].shape());
  if (c.wanted[2]) gradients[2] = sum_to_shape(where(c.inputs[0], zero, dz), c.inputs[2].shape());
  return gradients;
}
}  // namespace
TAPEDECK_OP(where_op) = {.name = "where",
                         .python_names = {"where", "where_v2"},
                         .inputs = {{.name = "condition", .group = '\0'}, {.name = "x"}, {.name = "y"}},
                         .attributes = {},
                         .shape_rule = where_rule,
                         .forward = where_forward,
                         .vjp = where_vjp,
                         .vjp_formula = "dx = dz where condition, dy = dz elsewhere",
                         .doc = "x where condition is True, else y, element by element.\n\ncondition: bool. x, y: of one dtype. All "
                                "three broadcast."};
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y) { return run_op1(where_op, {condition, x, y}); }

// ---- clip_by_value
namespace {
TensorSpecs clip_rule(const OpContext& c) {
  same_dtype(c);
  require(c, 0, c.inputs[0].dtype() != DType::bool_, "numbers");
  for (std::size_t i = 1; i < 3; ++i)
    if (broadcast_shapes(c.inputs[0].shape(), c.inputs[i].shape(), "clip_by_value") != c.inputs[0].shape())
      fail<InvalidArgumentError>("clip_by_value: ", describe(c, i), " does not broadcast to ", describe(c, 0));
  return one(c.inputs[0].dtype(), c.inputs[0].shape());
}
Tensors clip_forward(const OpContext& c) {
  const Tensor lower[] = {c.inputs[0], c.inputs[1]};
  Tensor out = std::move(binary_forward<Binary::maximum>({c.op, lower, c.attributes, c.outputs})[0]);
  const Tensor upper[] = {out, c.inputs[2]};
  return binary_forward<Binary::minimum>({c.op, upper, c.attributes, c.outputs});
}
Tensors clip_vjp(const VjpContext& c) {
  const Tensor &dy = c.cotangents[0], &x = c.inputs[0], zero = like(dy, 0);
  const Tensor below = less(x, c.inputs[1]), above = greater(x, c.inputs[2]);
  Tensors gradients(3);
  if (c.wanted[0]) gradients[0] = where(logical_or(below, above), zero, dy);
  if (c.wanted[1]) gradients[1] = sum_to_shape(where(below, dy, zero), c.inputs[1].shape());
  if (c.wanted[2]) gradients[2] = sum_to_shape(where(above, dy, zero), c.inputs[2].shape());
  return gradients;
}
}  // namespace
TAPEDECK_OP(clip_by_value_op) = {
    .name = "clip_by_value",
    .python_names = {"clip_by_value"},
    .inputs = {{.name = "t"}, {.name = "clip_value_min"}, {.name = "clip_value_max"}},
    .attributes = {},
    .shape_rule = clip_rule,
    .forward = clip_forward,
    .vjp = clip_vjp,
    .vjp_formula = "dt = dy inside the limits, dmin = Σ dy below, dmax = Σ dy above",
    .doc = "t, with what lies outside clip_value_min … clip_value_max moved to the limit.\n\nAll of one numeric dtype; the limits "
           "broadcast to t's shape."};
Tensor clip_by_value(const Tensor& x, const Tensor& low, const Tensor& high) {
  return run_op1(clip_by_value_op, {x, low, high});
}

namespace detail {
void link_comparison() {}
}  // namespace detail

}  // namespace tapedeck
