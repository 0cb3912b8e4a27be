// Sums, means, products, extremes and their positions.
#include <algorithm>
#include <complex>

#include "engine/ops/core/cost.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/rows.h"
#include "engine/ops/elementwise/binary_row.h"
#include "engine/ops/elementwise/complex.h"
#include "engine/ops/reductions/reduction_row.h"

namespace tapedeck::ops {
using kernels::Reduction;

Tensor reduce_axes(Reduction op, const Tensor& input, const std::vector<bool>& flags, const Shape& result) {
  Tensor values = contiguous(input);
  std::int64_t inner = 1;
  for (int axis = input.rank() - 1; axis >= 0;) {
    const bool flag = flags[static_cast<std::size_t>(axis)];
    std::int64_t extent = 1;
    for (; axis >= 0 && flags[static_cast<std::size_t>(axis)] == flag; --axis) extent *= input.dim(axis);
    if (!flag) {
      inner *= extent;
      continue;
    }
    std::int64_t outer = 1;
    for (int before = 0; before <= axis; ++before) outer *= input.dim(before);
    Tensor out = Tensor::allocate(input.dtype(), {outer, inner});
    backend().reduce(op, input.dtype(), values.raw(), outer, extent, inner, out.writable_data<std::byte>());
    values = out;
  }
  return view_of(values, result, contiguous_strides(result));
}

Tensor cast_integers(const Tensor& values, DType dtype) {
  if (values.dtype() == dtype) return values;
  Tensor out = Tensor::allocate(dtype, values.shape());
  backend().cast(values.dtype(), dtype, operand(values, values.shape()), out.writable_data<std::byte>(),
                 values.shape());
  return out;
}

namespace {

/// Along a trailing axis of pairs that stays, the sums of both parts.
Tensor complex_sum(const Tensor& x, std::vector<bool> flags, const Shape& result) {
  flags.push_back(false);
  Shape pairs = result;
  pairs.push_back(2);
  return from_pairs(reduce_axes(Reduction::sum, pairs_view(contiguous(x)), flags, pairs));
}

template <class T>
Tensor complex_product(const Tensor& x, const RowOrder& order, const TensorSpec& result) {
  const QuietScope quiet;
  const Tensor rows = contiguous(transpose(x, order.permutation));
  Tensor out = Tensor::allocate(result.dtype, result.shape);
  const auto* values = rows.data<std::complex<T>>();
  for (std::int64_t row = 0; row < out.count(); ++row) {
    std::complex<T> product(1);
    for (std::int64_t i = 0; i < order.count; ++i) product *= *values++;
    out.writable_data<std::complex<T>>()[row] = product;
  }
  return out;
}

template <Reduction op>
Tensors reduction_forward(const OpContext& c) {
  const DType dtype = c.inputs[0].dtype();
  if (is_complex(dtype)) [[unlikely]] {
    const std::vector<bool> flags = axis_flags(c, "axis", c.inputs[0].shape());
    if (op == Reduction::sum) return one(complex_sum(c.inputs[0], flags, c.outputs[0].shape));
    const RowOrder order(c.inputs[0].shape(), flags);
    return one(dtype == DType::complex64 ? complex_product<float>(c.inputs[0], order, c.outputs[0])
                                         : complex_product<double>(c.inputs[0], order, c.outputs[0]));
  }
  return one(reduce_axes(op, c.inputs[0], axis_flags(c, "axis", c.inputs[0].shape()), c.outputs[0].shape));
}

}  // namespace

Tensor with_kept_axes(const VjpContext& c, const Tensor& tensor) {
  const OpContext call{c.op, c.inputs, c.attributes, {}};
  const Shape& shape = c.inputs[0].shape();
  const Shape kept = reduced_shape(shape, axis_flags(call, "axis", shape), true);
  return tensor.shape() == kept ? tensor : reshape(tensor, kept);
}

std::int64_t reduced_count(const Shape& shape, const std::vector<bool>& flags) {
  std::int64_t count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (flags[static_cast<std::size_t>(axis)]) count *= shape[axis];
  return count;
}

OpDef reduction_row(ReductionText text, Kind kind, ShapeRule shape_rule, Forward forward, Vjp vjp) {
  const char* dtypes = kind == Kind::boolean    ? "bool"
                       : kind == Kind::floating ? "any floating dtype"
                       : kind == Kind::inexact  ? "any floating or complex dtype"
                                                : "any numeric dtype";
  return {
      .name = text.name,
      .python_names = {text.name, "math." + text.name},
      .inputs = {{.name = "input_tensor",
                  .preferred = kind == Kind::boolean ? std::optional(DType::bool_) : std::nullopt}},
      .attributes =
          {{.name = "axis",
            .kind = AttributeKind::integers,
            .fallback = std::monostate{},
            .old_name = "reduction_indices"},
           {.name = "keepdims", .kind = AttributeKind::boolean, .fallback = false, .old_name = "keep_dims"}},
      .shape_rule = shape_rule,
      .forward = forward,
      .form = Form::reduction,
      .vjp = vjp,
      .vjp_formula = std::move(text.formula),
      .cost = text.cost,
      .doc = text.doc + "\n\ninput_tensor: " + dtypes +
             "; axis: one axis, a list of axes, or None for all, negative ones counted from the end; "
             "keepdims: leave the "
             "reduced axes with extent 1.\nReturns: the dtype of input_tensor, its shape without the reduced "
             "axes. The "
             "order of the additions does not depend on the number of threads.\nErrors: InvalidArgumentError "
             "for an axis "
             "out of range or named twice; TypeMismatchError for another dtype.",
      .takes_others = true,
      .uint64_mapping = text.name == "reduce_max" || text.name == "reduce_min"    ? Uint64Mapping::order
                        : text.name == "reduce_sum" || text.name == "reduce_prod" ? Uint64Mapping::bits
                                                                                  : Uint64Mapping::none,
      .saturates = text.name == "reduce_max" || text.name == "reduce_min",
  };
}

namespace {

Tensors sum_vjp(const VjpContext& c) {
  return one(broadcast_to(with_kept_axes(c, c.cotangents[0]), c.inputs[0].shape()));
}

/// The gradient goes to the extreme elements, in equal parts if several are equal.
Tensors extreme_vjp(const VjpContext& c) {
  const Tensor& x = c.inputs[0];
  const Tensor hits = cast(equal(x, with_kept_axes(c, c.outputs[0])), x.dtype());
  const OpContext call{c.op, c.inputs, c.attributes, {}};
  Integers axes;
  const std::vector<bool> flags = axis_flags(call, "axis", x.shape());
  for (int axis = 0; axis < x.rank(); ++axis)
    if (flags[static_cast<std::size_t>(axis)]) axes.push_back(axis);
  const Tensor ties = reduce_sum(hits, axes, true);
  return one(with_kept_axes(c, c.cotangents[0]) * (hits / ties));
}

/// For each element of the rows (outer × n): the product of the others, by a tree of pairwise products up and
/// down, so that zeros need no division and the result differentiates again.
Tensor product_of_others(const Tensor& rows) {
  const std::int64_t outer = rows.dim(0);
  const std::int64_t count = rows.dim(1);
  if (count <= 1) return ones_like(rows);
  const std::int64_t pairs = (count + 1) / 2;
  const Tensor even = count % 2 == 0 ? rows : pad(rows, {0, 0, 0, 1}, 1.0);
  const Tensors sides = unstack(reshape(even, {outer, pairs, 2}), 2);
  const Tensor& left = sides[0];
  const Tensor& right = sides[1];
  const Tensor others = product_of_others(left * right);
  const Tensor both[] = {others * right, others * left};
  const Tensor result = reshape(stack(both, 2), {outer, 2 * pairs});
  return count % 2 == 0 ? result : slice(result, {0, 0}, {outer, count});
}

Tensors prod_vjp(const VjpContext& c) {
  const Tensor& x = c.inputs[0];
  const OpContext call{c.op, c.inputs, c.attributes, {}};
  const RowOrder order(x.shape(), axis_flags(call, "axis", x.shape()));
  const Tensor moved = transpose(x, order.permutation);
  const Tensor others = product_of_others(reshape(moved, {order.rows, order.count}));
  const Tensor back = transpose(reshape(others, moved.shape()), order.inverse());
  return one(with_kept_axes(c, c.cotangents[0]) * back);
}

Tensor integer_scalar(std::int64_t value) {
  return Tensor::from_values<std::int64_t>({&value, 1}, {});
}

Tensors mean_forward(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  const std::vector<bool> flags = axis_flags(c, "axis", x.shape());
  const std::int64_t count = reduced_count(x.shape(), flags);
  if (count == 0 && is_integer(x.dtype()) && element_count(c.outputs[0].shape) > 0)
    fail<InvalidArgumentError>("reduce_mean: ", to_string(x.shape()), " has no values to take the mean of");
  if (is_differentiable(x.dtype())) {
    const Tensor sum = is_complex(x.dtype()) ? complex_sum(x, flags, c.outputs[0].shape)
                                             : reduce_axes(Reduction::sum, x, flags, c.outputs[0].shape);
    return one(run_binary(kernels::Binary::divide, sum, constant(static_cast<double>(count), x.dtype()),
                          c.outputs[0]));
  }
  // The mean of int32 numbers fits in int32; their sum need not.
  const Tensor wide = Tensor::allocate(DType::int64, x.shape());
  backend().cast(x.dtype(), DType::int64, operand(x, x.shape()), wide.writable_data<std::byte>(), x.shape());
  const Tensor sums = reduce_axes(Reduction::sum, wide, flags, c.outputs[0].shape);
  const Tensor number = integer_scalar(std::max<std::int64_t>(1, count));
  const Tensor means =
      run_binary(kernels::Binary::truncatediv, sums, number, {DType::int64, c.outputs[0].shape});
  return one(cast_integers(means, c.outputs[0].dtype));
}

}  // namespace

TAPEDECK_OP(reduce_sum_op, VjpReads::shapes) = reduction_row(
    {"reduce_sum", "The sum of the values along axes. Integers wrap around; of nothing it is 0.",
     "dx = dz, broadcast along the axes"},
    Kind::numeric, reduction_shape<Kind::numeric>, reduction_forward<Reduction::sum>, sum_vjp);
Tensor reduce_sum(const Tensor& input, const Axes& axis, bool keepdims) {
  return run_op1(reduce_sum_op, {input}, {attribute_of(axis), keepdims});
}

TAPEDECK_OP(reduce_mean_op, VjpReads::shapes) =
    reduction_row({"reduce_mean",
                   "The mean of the values along axes: their sum divided by their number n. Integers "
                   "are divided as such, cut "
                   "towards zero; the mean of nothing is NaN.",
                   "dx = dz / n, broadcast along the axes"},
                  Kind::numeric, reduction_shape<Kind::numeric>, mean_forward, [](const VjpContext& c) {
                    const double count = static_cast<double>(c.inputs[0].count()) /
                                         static_cast<double>(std::max<std::int64_t>(1, c.outputs[0].count()));
                    return one(broadcast_to(with_kept_axes(c, c.cotangents[0] / count), c.inputs[0].shape()));
                  });
Tensor reduce_mean(const Tensor& input, const Axes& axis, bool keepdims) {
  return run_op1(reduce_mean_op, {input}, {attribute_of(axis), keepdims});
}

TAPEDECK_OP(reduce_prod_op, VjpReads::inputs) = reduction_row(
    {"reduce_prod", "The product of the values along axes. Integers wrap around; of nothing it is 1.",
     "dxᵢ = dz·Πⱼ≠ᵢ xⱼ"},
    Kind::numeric, reduction_shape<Kind::numeric>, reduction_forward<Reduction::prod>, prod_vjp);

TAPEDECK_OP(reduce_max_op) = reduction_row(
    {"reduce_max",
     "The largest value along axes; NaN if any value is NaN; for empty axes −∞ or the lowest integer.",
     "dx = dz where x = z, divided by the number of such x, else 0"},
    Kind::ordered, reduction_shape<Kind::ordered>, reduction_forward<Reduction::max>, extreme_vjp);
TAPEDECK_FACTS(reduce_max_op) = {.flat = facts::not_chosen};
Tensor reduce_max(const Tensor& input, const Axes& axis, bool keepdims) {
  return run_op1(reduce_max_op, {input}, {attribute_of(axis), keepdims});
}

TAPEDECK_OP(reduce_min_op) = reduction_row(
    {"reduce_min",
     "The smallest value along axes; NaN if any value is NaN; for empty axes ∞ or the highest integer.",
     "dx = dz where x = z, divided by the number of such x, else 0"},
    Kind::ordered, reduction_shape<Kind::ordered>, reduction_forward<Reduction::min>, extreme_vjp);
TAPEDECK_FACTS(reduce_min_op) = {.flat = facts::not_chosen};

TAPEDECK_OP(reduce_any_op) =
    reduction_row({"reduce_any", "True where any value along the axes is; of nothing it is False.", "none"},
                  Kind::boolean, reduction_shape<Kind::boolean>, reduction_forward<Reduction::any>, nullptr);

TAPEDECK_OP(reduce_all_op) =
    reduction_row({"reduce_all", "True where all values along the axes are; of nothing it is True.", "none"},
                  Kind::boolean, reduction_shape<Kind::boolean>, reduction_forward<Reduction::all>, nullptr);

TAPEDECK_OP(reduce_logsumexp_op) = reduction_row(
    {"reduce_logsumexp",
     "ln Σ eˣ along axes, computed as m + ln Σ e^(x − m) with m the largest x, so that it does not overflow.",
     "dx = dz·e^(x − z)", cost::per_input<4>},
    Kind::floating, reduction_shape<Kind::floating>,
    [](const OpContext& c) {
      Tensor out = allocate_output(c);
      const RowOrder order(c.inputs[0].shape(), axis_flags(c, "axis", c.inputs[0].shape()));
      const Tensor rows = order.rows_of(c.inputs[0]);
      backend().logsumexp(rows.dtype(), rows.raw(), order.rows, order.count, out.writable_data<std::byte>());
      return one(std::move(out));
    },
    [](const VjpContext& c) {
      const Tensor weights = exp(c.inputs[0] - with_kept_axes(c, c.outputs[0]));
      return one(with_kept_axes(c, c.cotangents[0]) * weights);
    });

namespace {

int arg_axis(const OpContext& c) {
  const std::int64_t axis = c.is_none("axis") ? 0 : integer_of(c, "axis");
  return normalize_axis(c.op.name, "axis", axis, c.inputs[0].shape());
}

TensorSpecs arg_shape(const OpContext& c) {
  const Shape& shape = c.inputs[0].shape();
  const int axis = arg_axis(c);
  if (shape[axis] == 0)
    fail<InvalidArgumentError>(c.op.name, ": axis ", axis, " of shape ", to_string(shape), " is empty");
  const DType dtype = index_dtype_of(c, "output_type");
  std::vector<bool> flags(static_cast<std::size_t>(shape.rank()), false);
  flags[static_cast<std::size_t>(axis)] = true;
  return spec(dtype, reduced_shape(shape, flags, false));
}

template <bool largest>
Tensors arg_forward(const OpContext& c) {
  const Tensor x = contiguous(c.inputs[0]);
  const int axis = arg_axis(c);
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (int i = 0; i < axis; ++i) outer *= x.dim(i);
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
  Tensor positions = Tensor::allocate(DType::int64, c.outputs[0].shape);
  backend().arg_extreme(largest, x.dtype(), x.raw(), outer, x.dim(axis), inner,
                        positions.writable_data<std::int64_t>());
  return one(cast_integers(positions, c.outputs[0].dtype));
}

OpDef arg_row(const std::string& name, const std::string& which, Forward forward) {
  return {
      .name = name,
      .python_names = {name, "math." + name},
      .inputs = {{.name = "input"}},
      .attributes = {{.name = "axis",
                      .kind = AttributeKind::integer,
                      .fallback = std::monostate{},
                      .old_name = "dimension"},
                     {.name = "output_type", .kind = AttributeKind::dtype, .fallback = DType::int64}},
      .shape_rule = arg_shape,
      .forward = forward,
      .vjp = nullptr,
      .vjp_formula = "none",
      .doc = "The position of the " + which +
             " value along an axis; the first of equals, a NaN before all.\n\n" +
             "input: any dtype, bool as 0 and 1; axis: None is 0; output_type: int64 or int32.\n"
             "Returns: output_type, the shape of input without the axis.\n"
             "Errors: InvalidArgumentError for an axis out of range, an empty axis, or another output_type.",
      .uint64_mapping = Uint64Mapping::order,
  };
}

}  // namespace

TAPEDECK_OP(argmax_op) = arg_row("argmax", "largest", arg_forward<true>);

TAPEDECK_OP(argmin_op) = arg_row("argmin", "smallest", arg_forward<false>);

}  // namespace tapedeck::ops
