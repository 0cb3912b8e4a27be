// Spread and length of the values along axes.
#include "engine/ops/binary_row.h"
#include "engine/ops/families.h"
#include "engine/ops/reduction_row.h"

namespace tapedeck::ops {

extern const OpDef& moments_op;  // nn.cpp

namespace {

using cpu::Binary;

Tensor variance_of(const OpContext& c) {
  const TensorSpec both[] = {c.outputs[0], c.outputs[0]};
  return moments_op.forward({moments_op, c.inputs, c.attributes, both})[1];
}

Tensor root_of(const Tensor& squares) {
  Tensor out = Tensor::allocate(squares.dtype(), squares.shape());
  cpu::unary(cpu::Unary::sqrt, squares.dtype(), squares.raw(), out.writable_data<std::byte>(),
             squares.count());
  return out;
}

/// (x − mean) / n along the reduction's axes.
Tensor scaled_deviation(const VjpContext& c) {
  const Tensor& x = c.inputs[0];
  const Attribute& axes = c.attributes[axis_attribute];
  const bool all = c.attributes.is_none(axis_attribute);
  const Tensor mean = reduce_mean(x, all ? Axes() : Axes(integers_of(axes)), true);
  const OpContext call{c.op, c.inputs, c.attributes, {}};
  return (x - mean) /
         static_cast<double>(reduced_count(x.shape(), axis_flags(call, axis_attribute, x.shape())));
}

}  // namespace

TAPEDECK_OP(reduce_variance_op) = reduction_row(
    {"reduce_variance",
     "The variance of the values along axes: the mean of the squared distances from their mean, Σ (x − "
     "mean)² / n; of "
     "nothing it is NaN.",
     "dx = dy·2(x − mean) / n"},
    Kind::floating, reduction_shape<Kind::floating>, [](const OpContext& c) { return one(variance_of(c)); },
    [](const VjpContext& c) { return one(with_kept_axes(c, c.cotangents[0] * 2.0) * scaled_deviation(c)); });
Tensor reduce_variance(const Tensor& input, const Axes& axis, bool keepdims) {
  return run_op1(reduce_variance_op, {input}, {attribute_of(axis), keepdims});
}

TAPEDECK_OP(reduce_std_op) = reduction_row(
    {"reduce_std",
     "The standard deviation of the values along axes: √(Σ (x − mean)² / n); of nothing it is NaN. Where all "
     "values are "
     "equal the gradient is taken as 0.",
     "dx = dy·(x − mean) / (n·y)"},
    Kind::floating, reduction_shape<Kind::floating>,
    [](const OpContext& c) { return one(root_of(variance_of(c))); },
    [](const VjpContext& c) {
      const Tensor share = divide_no_nan(c.cotangents[0], c.outputs[0]);
      return one(with_kept_axes(c, share) * scaled_deviation(c));
    });
Tensor reduce_std(const Tensor& input, const Axes& axis, bool keepdims) {
  return run_op1(reduce_std_op, {input}, {attribute_of(axis), keepdims});
}

TAPEDECK_OP(reduce_euclidean_norm_op) = reduction_row(
    {"reduce_euclidean_norm",
     "The Euclidean length of the values along axes: √(Σ x²); of nothing it is 0. At length 0 the gradient "
     "is taken as "
     "0.",
     "dx = dy·x / y"},
    Kind::floating, reduction_shape<Kind::floating>,
    [](const OpContext& c) {
      const Tensor& x = c.inputs[0];
      const Tensor squares = run_binary(Binary::multiply, x, x, {x.dtype(), x.shape()});
      const std::vector<bool> flags = axis_flags(c, axis_attribute, x.shape());
      return one(root_of(reduce_axes(cpu::Reduction::sum, squares, flags, c.outputs[0].shape)));
    },
    [](const VjpContext& c) {
      const Tensor share = divide_no_nan(c.cotangents[0], c.outputs[0]);
      return one(with_kept_axes(c, share) * c.inputs[0]);
    });
Tensor reduce_euclidean_norm(const Tensor& input, const Axes& axis, bool keepdims) {
  return run_op1(reduce_euclidean_norm_op, {input}, {attribute_of(axis), keepdims});
}

void link_statistics() {}

}  // namespace tapedeck::ops
