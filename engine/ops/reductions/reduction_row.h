// Registry rows of reductions: ops that take `axis` and `keepdims`.
#pragma once

#include "engine/ops/core/rows.h"

namespace tapedeck::ops {

template <Kind kind>
TensorSpecs reduction_shape(const OpContext& c) {
  require_kind(c, 0, kind);
  const Shape& shape = c.inputs[0].shape();
  return spec(c.inputs[0].dtype(),
              reduced_shape(shape, axis_flags(c, "axis", shape), c.get<bool>("keepdims")));
}

/// Neighbouring axes with the same flag count as one; each reduced one is a pass, from the innermost
/// outwards.
Tensor reduce_axes(kernels::Reduction op, const Tensor& input, const std::vector<bool>& flags,
                   const Shape& result);
/// Integers in that integer dtype; the tensor itself if it has it. For kernels.
Tensor cast_integers(const Tensor& values, DType dtype);
/// A gradient or output of the reduction with its axes kept, as a tensor that broadcasts to the input.
Tensor with_kept_axes(const VjpContext& c, const Tensor& tensor);
/// How many values are reduced to one.
std::int64_t reduced_count(const Shape& shape, const std::vector<bool>& flags);

struct ReductionText {
  std::string name;
  std::string doc;
  std::string formula;
  CostRule cost = nullptr;
};

OpDef reduction_row(ReductionText text, Kind kind, ShapeRule shape_rule, Forward forward, Vjp vjp);

}  // namespace tapedeck::ops
