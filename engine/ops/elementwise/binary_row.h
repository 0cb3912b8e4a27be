// Registry rows of ops with two operands that broadcast.
#pragma once

#include "engine/ops/core/checks.h"

namespace tapedeck::ops {

inline Shape broadcast_of_inputs(const OpContext& context) {
  const Shape& a = context.inputs[0].shape();
  const Shape& b = context.inputs[1].shape();
  return a == b ? a : broadcast_shapes(a, b, context.op.name.c_str());
}

template <Kind kind>
TensorSpecs binary_shape(const OpContext& context) {
  require_same_dtype(context, 0, 1);
  require_kind(context, 0, kind);
  return spec(context.inputs[0].dtype(), broadcast_of_inputs(context));
}

template <Kind kind>
TensorSpecs binary_to_bool_shape(const OpContext& context) {
  require_same_dtype(context, 0, 1);
  require_kind(context, 0, kind);
  return spec(DType::bool_, broadcast_of_inputs(context));
}

/// The input as row-major values of the output's shape.
inline Tensor spread(const OpContext& context, std::size_t input) {
  const Tensor& tensor = context.inputs[input];
  const Shape& shape = context.outputs[0].shape;
  return contiguous(view_of(tensor, shape, broadcast_strides(tensor, shape)));
}

Tensor run_binary(kernels::Binary kernel, const Tensor& a, const Tensor& b, const TensorSpec& result);

/// For repeated values, such as gradients of means, the result is repeated, too.
Tensor run_binary_on_repeated(kernels::Binary kernel, const Tensor& a, const Tensor& b,
                              const TensorSpec& result);

template <kernels::Binary kernel>
Tensors binary_forward(const OpContext& context) {
  const Tensor &a = context.inputs[0], &b = context.inputs[1];
  const bool repeats = !(a.contiguous() && b.contiguous()) && repeats_one_value(a) && repeats_one_value(b);
  return one((repeats ? run_binary_on_repeated : run_binary)(kernel, a, b, context.outputs[0]));
}

/// Throws InvalidArgumentError if y contains an integer 0, for which the processor would trap.
void require_no_zero_divisor(const OpContext& context);
template <kernels::Binary kernel>
Tensors division_forward(const OpContext& context) {
  require_no_zero_divisor(context);
  return binary_forward<kernel>(context);
}

/// What differs between the rows. `doc`: what it computes; shapes, dtypes and errors are added.
struct BinaryText {
  std::string name;
  std::vector<std::string> python_names;
  std::string doc;
  std::string formula;
  std::string first = "x";
  std::string second = "y";
};

OpDef binary_row(BinaryText text, Kind kind, bool to_bool, ShapeRule shape_rule, Forward forward, Vjp vjp);

template <kernels::Binary kernel, Kind kind>
OpDef binary_op(BinaryText text, Vjp vjp) {
  return binary_row(std::move(text), kind, false, binary_shape<kind>, binary_forward<kernel>, vjp);
}
template <kernels::Binary kernel, Kind kind>
OpDef binary_to_bool_op(BinaryText text) {
  return binary_row(std::move(text), kind, true, binary_to_bool_shape<kind>, binary_forward<kernel>, nullptr);
}

/// Gradients of both inputs: calls `first()` and `second()` if the gradient is wanted, and sums over the axes
/// along which the input was repeated.
template <class First, class Second>
Tensors binary_gradients(const VjpContext& context, First&& first, Second&& second) {
  Tensors gradients(2);
  if (context.wanted[0]) gradients[0] = unbroadcast(first(), context.inputs[0].shape());
  if (context.wanted[1]) gradients[1] = unbroadcast(second(), context.inputs[1].shape());
  return gradients;
}

}  // namespace tapedeck::ops
