// Shape rules and forward functions of ops with one or two operands, for the families that have such ops.
#pragma once

#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

namespace tapedeck::rules {

template <cpu::Unary kind>
TensorSpecs unary_rule(const OpContext& c) {
  constexpr bool gives_bool = kind >= cpu::Unary::logical_not;
  const Tensor& x = c.inputs[0];
  require(c, 0, cpu::has_kernel(kind, x.dtype()),
          cpu::has_kernel(kind, DType::int32) ? "numbers" : kind == cpu::Unary::logical_not ? "bool" : "float32 or float64");
  return one(gives_bool ? DType::bool_ : x.dtype(), x.shape());
}

template <cpu::Unary kind>
Tensors unary_forward(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  Tensor out = Tensor::allocate(c.outputs[0].dtype, x.shape());
  if (x.contiguous())
    cpu::unary(kind, x.dtype(), x.raw(), output(out), x.count());
  else
    cpu::unary(kind, x.dtype(), operand(x), output(out), x.shape());
  return one_tensor(std::move(out));
}

template <cpu::Binary kind>
TensorSpecs binary_rule(const OpContext& c) {
  constexpr bool gives_bool = kind >= cpu::Binary::equal;
  const Tensor &x = c.inputs[0], &y = c.inputs[1];
  if (x.dtype() != y.dtype()) same_dtype(c);
  require(c, 0, cpu::has_kernel(kind, x.dtype()),
          kind >= cpu::Binary::logical_and          ? "bool"
          : cpu::has_kernel(kind, DType::int32) ? "numbers"
                                                : "float32 or float64");
  return one(gives_bool ? DType::bool_ : x.dtype(),
             x.shape() == y.shape() ? x.shape() : broadcast_shapes(x.shape(), y.shape(), c.op.name.c_str()));
}

template <cpu::Binary kind>
Tensors binary_forward(const OpContext& c) {
  const Tensor &x = c.inputs[0], &y = c.inputs[1];
  const Shape& shape = c.outputs[0].shape;
  Tensor out = Tensor::allocate(c.outputs[0].dtype, shape);
  const bool whole_x = x.contiguous() && x.count() == out.count(), whole_y = y.contiguous() && y.count() == out.count();
  if ((whole_x || x.count() == 1) && (whole_y || y.count() == 1))
    cpu::binary(kind, x.dtype(), x.raw(), whole_x ? 1 : 0, y.raw(), whole_y ? 1 : 0, output(out), out.count());
  else
    cpu::binary(kind, x.dtype(), broadcast(x, shape), broadcast(y, shape), output(out), shape);
  return one_tensor(std::move(out));
}

/// What rows of one kind share; name, VJP, formula and doc are the op's own.
template <cpu::Unary kind>
OpDef unary_op(std::string name, std::vector<std::string> python_names, Vjp vjp, std::string formula, std::string doc) {
  return {.name = std::move(name),
          .python_names = std::move(python_names),
          .inputs = {{.name = "x"}},
          .attributes = {},
          .shape_rule = unary_rule<kind>,
          .forward = unary_forward<kind>,
          .vjp = vjp,
          .vjp_formula = std::move(formula),
          .doc = std::move(doc)};
}

template <cpu::Binary kind>
OpDef binary_op(std::string name, std::vector<std::string> python_names, Vjp vjp, std::string formula, std::string doc) {
  return {.name = std::move(name),
          .python_names = std::move(python_names),
          .inputs = {{.name = "x"}, {.name = "y"}},
          .attributes = {},
          .shape_rule = binary_rule<kind>,
          .forward = binary_forward<kind>,
          .vjp = vjp,
          .vjp_formula = std::move(formula),
          .doc = std::move(doc)};
}

/// A scalar constant of x's dtype, for formulas.
inline Tensor like(const Tensor& x, double value) { return Tensor::scalar(value, x.dtype()); }

}  // namespace tapedeck::rules
