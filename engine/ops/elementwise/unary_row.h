// Registry rows of ops with one operand that work element by element.
#pragma once

#include "engine/ops/core/checks.h"

namespace tapedeck::ops {

template <Kind kind>
TensorSpecs unary_shape(const OpContext& context) {
  require_kind(context, 0, kind);
  return like_first(context);
}

template <Kind kind>
TensorSpecs unary_to_bool_shape(const OpContext& context) {
  require_kind(context, 0, kind);
  return spec(DType::bool_, context.inputs[0].shape());
}

template <kernels::Unary kernel>
Tensors unary_forward(const OpContext& context) {
  Tensor out = allocate_output(context);
  std::byte* target = out.writable_data<std::byte>();
  const Tensor& x = context.inputs[0];
  if (x.contiguous()) {
    backend().unary(kernel, x.dtype(), x.raw(), target, x.count());
  } else {
    const Tensor source = readable(x);
    backend().unary_strided(kernel, x.dtype(), operand(source, x.shape()), target, x.shape());
  }
  return one(std::move(out));
}

/// The parts that differ between rows. `doc`: what it computes; shapes, dtypes and errors are added.
struct UnaryText {
  std::string name;
  std::vector<std::string> python_names;
  std::string doc;
  std::string formula;
  std::string argument = "x";
};

OpDef unary_row(UnaryText text, Kind kind, bool to_bool, ShapeRule shape_rule, Forward forward, Vjp vjp);

template <kernels::Unary kernel, Kind kind>
OpDef unary_op(UnaryText text, Vjp vjp) {
  return unary_row(std::move(text), kind, false, unary_shape<kind>, unary_forward<kernel>, vjp);
}
template <kernels::Unary kernel, Kind kind>
OpDef unary_to_bool_op(UnaryText text) {
  return unary_row(std::move(text), kind, true, unary_to_bool_shape<kind>, unary_forward<kernel>, nullptr);
}

}  // namespace tapedeck::ops
