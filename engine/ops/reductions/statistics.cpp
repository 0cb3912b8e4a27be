// Mean, spread and length of the values along axes.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/ops/core/cost.h"
#include "engine/ops/core/rows.h"
#include "engine/ops/elementwise/binary_row.h"
#include "engine/ops/linear_algebra/matrices.h"
#include "engine/ops/reductions/reduction_row.h"

namespace tapedeck::ops {

namespace {

using kernels::Binary;

Tensor mean_of_rows(const Tensor& rows, const RowOrder& order, const Shape& shape) {
  const Tensor sums = Tensor::allocate(rows.dtype(), shape);
  backend().reduce(kernels::Reduction::sum, rows.dtype(), rows.raw(), order.rows, order.count, 1,
                   sums.writable_data<std::byte>());
  return run_binary(kernels::Binary::divide, sums, constant(static_cast<double>(order.count), rows.dtype()),
                    {rows.dtype(), shape});
}

/// Mean and variance of the values along the flagged axes; `shape` is the shape of both.
std::pair<Tensor, Tensor> moments_of(const Tensor& x, const std::vector<bool>& flags, const Shape& shape) {
  const RowOrder order(x.shape(), flags);
  const Tensor values = order.rows_of(x);
  const Shape matrix{order.rows, order.count};
  const Tensor rows = view_of(values, matrix, contiguous_strides(matrix));
  const Tensor mean = mean_of_rows(rows, order, {order.rows, 1});
  const Tensor squares = run_binary(Binary::squared_difference, rows, mean, {x.dtype(), matrix});
  return {view_of(mean, shape, contiguous_strides(shape)), mean_of_rows(squares, order, shape)};
}

/// Of complex numbers the sum of both parts' variances: the mean of |x − mean|².
Tensor variance_of(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  const std::vector<bool> flags = axis_flags(c, "axis", x.shape());
  const auto variance = [&](const Tensor& part) {
    return moments_of(part, flags, c.outputs[0].shape).second;
  };
  if (!is_complex(x.dtype())) return variance(x);
  return run_binary(Binary::add, variance(part_view(x, 0)), variance(part_view(x, 1)), c.outputs[0]);
}

/// A real number for each result.
TensorSpecs spread_shape(const OpContext& c) {
  TensorSpecs specs = reduction_shape<Kind::inexact>(c);
  specs[0].dtype = real_dtype(specs[0].dtype);
  return specs;
}

Tensor root_of(const Tensor& squares) {
  Tensor out = Tensor::allocate(squares.dtype(), squares.shape());
  backend().unary(kernels::Unary::sqrt, squares.dtype(), squares.raw(), out.writable_data<std::byte>(),
                  squares.count());
  return out;
}

Tensor sums_of_squares(const OpContext& c, const Tensor& x, const std::vector<bool>& flags) {
  const Tensor squares = run_binary(Binary::multiply, x, x, {x.dtype(), x.shape()});
  return reduce_axes(kernels::Reduction::sum, squares, flags, c.outputs[0].shape);
}

/// √(Σ x²) where squares overflow or underflow: of x·2⁻ᵉ with the exponent e of the largest |x|.
Tensor scaled_length(const OpContext& c, const std::vector<bool>& flags, const Tensor& sums) {
  const Tensor& x = c.inputs[0];
  const Tensor dense = contiguous(x);
  Tensor sizes = Tensor::allocate(x.dtype(), x.shape());
  backend().unary(kernels::Unary::abs, x.dtype(), dense.raw(), sizes.writable_data<std::byte>(), x.count());
  const Tensor largest = reduce_axes(kernels::Reduction::max, sizes, flags, sums.shape());
  const Tensor scales = Tensor::allocate(x.dtype(), reduced_shape(x.shape(), flags, true));
  backend().length_scales(x.dtype(), sums.raw(), largest.raw(), sums.count(),
                          scales.writable_data<std::byte>());
  const Tensor scaled = run_binary(Binary::multiply, x, scales, {x.dtype(), x.shape()});
  return run_binary(Binary::divide, root_of(sums_of_squares(c, scaled, flags)),
                    view_of(scales, sums.shape(), contiguous_strides(sums.shape())),
                    {x.dtype(), sums.shape()});
}

/// Whether no square overflowed or underflowed; unknown for values that the host cannot read.
bool are_sound(const Tensor& sums) {
  if (!sums.on_cpu()) return false;
  bool sound = false;
  visit_real(sums.dtype(), [&]<class T>(T) {
    const T* first = sums.data<T>();
    sound = std::all_of(first, first + sums.count(), [](T sum) { return kernels::keeps_digits(sum); });
  });
  return sound;
}

Tensor length_of(const OpContext& c) {
  if (is_complex(c.inputs[0].dtype())) [[unlikely]] {
    const Tensor sizes = magnitudes(c.inputs[0]);
    const TensorSpec result{sizes.dtype(), c.outputs[0].shape};
    const Tensor length = length_of({c.op, {&sizes, 1}, c.attributes, {&result, 1}, c.device});
    const Tensor none = Tensor::allocate(length.dtype(), length.shape());
    std::memset(none.writable_data<std::byte>(), 0, none.bytes());
    return with_parts(length, none);
  }
  const std::vector<bool> flags = axis_flags(c, "axis", c.inputs[0].shape());
  const Tensor sums = sums_of_squares(c, c.inputs[0], flags);
  if (c.inputs[0].count() == 0 || are_sound(sums)) return root_of(sums);
  return scaled_length(c, flags, sums);
}

/// (x − mean) / n along the reduction's axes.
Tensor scaled_deviation(const VjpContext& c) {
  const Tensor& x = c.inputs[0];
  const Axes axes = c.is_none("axis") ? Axes() : Axes(integers_of(c.attribute("axis")));
  const Tensor mean = reduce_mean(x, axes, true);
  const OpContext call{c.op, c.inputs, c.attributes, {}};
  return (x - mean) / static_cast<double>(reduced_count(x.shape(), axis_flags(call, "axis", x.shape())));
}

TensorSpecs moments_shape(const OpContext& c) {
  require_kind(c, 0, Kind::floating);
  const Shape& shape = c.inputs[0].shape();
  const Shape result = reduced_shape(shape, axis_flags(c, "axes", shape), c.get<bool>("keepdims"));
  TensorSpecs specs = spec(c.inputs[0].dtype(), result);
  specs.push_back(specs[0]);
  return specs;
}

Tensors moments_forward(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  auto [mean, variance] = moments_of(x, axis_flags(c, "axes", x.shape()), c.outputs[0].shape);
  return {std::move(mean), std::move(variance)};
}

Tensors moments_vjp(const VjpContext& c) {
  const Tensor& x = c.inputs[0];
  const std::vector<bool> flags = axis_flags({c.op, c.inputs, c.attributes, {}}, "axes", x.shape());
  const Shape kept = reduced_shape(x.shape(), flags, true);
  const double count =
      static_cast<double>(x.count()) / static_cast<double>(std::max<std::int64_t>(1, element_count(kept)));
  Tensor gradient;
  if (c.cotangents[0]) gradient = broadcast_to(reshape(c.cotangents[0] / count, kept), x.shape());
  if (c.cotangents[1]) {
    const Tensor centred = x - reshape(c.outputs[0], kept);
    const Tensor part = reshape(c.cotangents[1] * (2.0 / count), kept) * centred;
    gradient = gradient ? gradient + part : part;
  }
  return one(gradient);
}

}  // namespace

TAPEDECK_OP(moments_op) = {
    .name = "moments",
    .python_names = {"nn.moments"},
    .inputs = {{.name = "x"}},
    .attributes =
        {{.name = "axes", .kind = AttributeKind::integers, .fallback = {}, .required = true},
         {.name = "keepdims", .kind = AttributeKind::boolean, .fallback = false, .old_name = "keep_dims"}},
    .shape_rule = moments_shape,
    .forward = moments_forward,
    .vjp = moments_vjp,
    .vjp_formula = "dx = d(mean) / n + d(variance)·2(x − mean) / n",
    .cost = cost::per_input<4>,
    .doc =
        "Mean and variance along axes: Σ x / n and Σ (x − mean)² / n.\n\n"
        "x: any floating dtype; axes: one axis or a list of axes; keepdims: leave the reduced axes with "
        "extent 1.\n"
        "Returns: (mean, variance), the dtype of x, its shape without the reduced axes.\n"
        "Errors: InvalidArgumentError for an axis out of range or named twice; TypeMismatchError for another "
        "dtype.",
    .results = {.fields = {"mean", "variance"}},
};

TAPEDECK_OP(reduce_variance_op, VjpReads::inputs) = reduction_row(
    {"reduce_variance",
     "The variance of the values along axes: the mean of the squared distances from their mean, Σ (x − "
     "mean)² / n; of "
     "nothing it is NaN. Of complex numbers it is the mean of |x − mean|², in the dtype of their parts.",
     "dx = dz·2(x − mean) / n", cost::per_input<4>},
    Kind::inexact, spread_shape, [](const OpContext& c) { return one(variance_of(c)); },
    [](const VjpContext& c) {
      return one(beside(with_kept_axes(c, c.cotangents[0] * 2.0), c.inputs[0]) * scaled_deviation(c));
    });

TAPEDECK_OP(reduce_std_op) = reduction_row(
    {"reduce_std",
     "The standard deviation of the values along axes: √(Σ (x − mean)² / n); of nothing it is NaN. Where all "
     "values are "
     "equal the gradient is taken as 0. Of complex numbers as reduce_variance.",
     "dx = dz·(x − mean) / (n·z)", cost::per_input<4>},
    Kind::inexact, spread_shape, [](const OpContext& c) { return one(root_of(variance_of(c))); },
    [](const VjpContext& c) {
      const Tensor share = divide_no_nan(c.cotangents[0], c.outputs[0]);
      return one(beside(with_kept_axes(c, share), c.inputs[0]) * scaled_deviation(c));
    });

TAPEDECK_OP(reduce_euclidean_norm_op) = with_complex_vjp(reduction_row(
    {"reduce_euclidean_norm",
     "The Euclidean length of the values along axes: √(Σ x²); of nothing it is 0. Squares may "
     "overflow and underflow. At length 0 the gradient is taken as 0. Of complex numbers √(Σ |x|²), in their "
     "dtype.",
     "dx = dz·x / z", cost::per_input<2>},
    Kind::inexact, reduction_shape<Kind::inexact>, [](const OpContext& c) { return one(length_of(c)); },
    [](const VjpContext& c) {
      const Tensor share =
          divide_no_nan(c.inputs[0], with_kept_axes(c, c.outputs[0]));  // 1 / y may be infinite
      return one(with_kept_axes(c, without_imaginary(c.cotangents[0])) * share);
    }));

}  // namespace tapedeck::ops
