// Reductions over axes, and the positions of extremes.
#include "engine/cpu/reduce.h"

#include <algorithm>

#include "engine/ops/elementwise_rules.h"

namespace tapedeck {

using namespace rules;
using cpu::Reduction;

namespace {

Shape reduced_shape(const Shape& shape, const std::vector<int>& axes, bool keepdims) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool gone = std::binary_search(axes.begin(), axes.end(), axis);
    if (gone && keepdims) result.push_back(1);
    if (!gone) result.push_back(shape[axis]);
  }
  return result;
}

std::vector<int> axes_of(const OpContext& c) { return axes(c, c.attributes[0], c.inputs[0].rank()); }

template <Reduction kind>
TensorSpecs reduce_rule(const OpContext& c) {
  constexpr bool logical = kind == Reduction::any || kind == Reduction::all;
  const Tensor& x = c.inputs[0];
  require(c, 0, (x.dtype() == DType::bool_) == logical, logical ? "bool" : "numbers");
  return one(x.dtype(), reduced_shape(x.shape(), axes_of(c), c.attributes.get<bool>(1)));
}

/// Brings the axes to reduce to the back where they are not neighbours, so that one kernel call does all.
Tensor arranged(const Tensor& x, const std::vector<int>& axes, std::int64_t& outer, std::int64_t& count, std::int64_t& inner) {
  outer = count = inner = 1;
  const bool neighbours = axes.empty() || axes.back() - axes.front() + 1 == static_cast<int>(axes.size());
  if (neighbours) {
    for (int axis = 0; axis < x.rank(); ++axis) {
      const bool before = !axes.empty() && axis < axes.front(), after = axes.empty() || axis > axes.back();
      (before ? outer : after ? inner : count) *= x.dim(axis);
    }
    return x.make_contiguous();
  }
  Shape shape;
  Strides strides;
  for (const bool reduced : {false, true})
    for (int axis = 0; axis < x.rank(); ++axis)
      if (std::binary_search(axes.begin(), axes.end(), axis) == reduced) {
        shape.push_back(x.dim(axis));
        strides.push_back(x.strides()[axis]);
        (reduced ? count : outer) *= x.dim(axis);
      }
  return Tensor::view(x.storage(), x.dtype(), shape, strides, x.offset()).make_contiguous();
}

template <Reduction kind>
Tensors reduce_forward(const OpContext& c) {
  std::int64_t outer, count, inner;
  const Tensor x = arranged(c.inputs[0], axes_of(c), outer, count, inner);
  Tensor out = Tensor::allocate(c.outputs[0].dtype, c.outputs[0].shape);
  cpu::reduce(kind, x.dtype(), x.raw(), outer, count, inner, output(out));
  return one_tensor(std::move(out));
}

/// The output's gradient (or the output) with the reduced axes back as extents of 1.
Tensor with_axes(const VjpContext& c, const Tensor& reduced) {
  const OpContext context{c.op, c.inputs, c.attributes, {}};
  const Shape shape = reduced_shape(c.inputs[0].shape(), axes_of(context), true);
  return reduced.shape() == shape ? reduced : reshape(reduced, shape);
}

std::vector<AttributeSpec> reduction_attributes() {
  return {{"axis", AttributeKind::integers, std::monostate{}}, {"keepdims", AttributeKind::boolean, false}};
}
#define AXES                                                                                                      \
  "\n\naxis: an int, a list of ints, or None for all axes; negative ones count from the end. keepdims: whether " \
  "reduced axes stay with extent 1. Errors: an axis out of range or given twice."

template <Reduction kind>
OpDef reduction(std::string name, std::string math_name, Vjp vjp, std::string formula, std::string doc) {
  return {.name = name,
          .python_names = {name, "math." + math_name},
          .inputs = {{.name = "input_tensor"}},
          .attributes = reduction_attributes(),
          .shape_rule = reduce_rule<kind>,
          .forward = reduce_forward<kind>,
          .vjp = vjp,
          .vjp_formula = std::move(formula),
          .doc = std::move(doc)};
}

Attributes attributes_of(const std::optional<Axes>& axis, bool keepdims) {
  return {axis ? Attribute(*axis) : Attribute(std::monostate{}), keepdims};
}

}  // namespace

// ---- sum
TAPEDECK_OP(reduce_sum_op) = reduction<Reduction::sum>(
    "reduce_sum", "reduce_sum",
    [](const VjpContext& c) { return one_tensor(broadcast_to(with_axes(c, c.cotangents[0]), c.inputs[0].shape())); },
    "dx = dy, broadcast to x's shape", "The sum over axes. Integers wrap around; an empty sum is 0." AXES);
Tensor reduce_sum(const Tensor& x, const std::optional<Axes>& axis, bool keepdims) {
  return run_op1(reduce_sum_op, {x}, attributes_of(axis, keepdims));
}

// ---- mean
namespace {
TensorSpecs mean_rule(const OpContext& c) {
  require(c, 0, is_floating(c.inputs[0].dtype()), "float32 or float64");
  return reduce_rule<Reduction::sum>(c);
}
double averaged(const Tensor& x, std::int64_t results) {
  return results == 0 ? 0 : static_cast<double>(x.count()) / static_cast<double>(results);
}
Tensors mean_forward(const OpContext& c) {
  Tensors sum = reduce_forward<Reduction::sum>(c);
  Tensor out = Tensor::allocate(sum[0].dtype(), sum[0].shape());
  const Tensor count = Tensor::scalar(averaged(c.inputs[0], out.count()), out.dtype());
  cpu::binary(cpu::Binary::divide, out.dtype(), sum[0].raw(), 1, count.raw(), 0, output(out), out.count());
  return one_tensor(std::move(out));
}
}  // namespace
TAPEDECK_OP(reduce_mean_op) = [] {
  OpDef op = reduction<Reduction::sum>(
      "reduce_mean", "reduce_mean",
      [](const VjpContext& c) {
        const Tensor scaled = c.cotangents[0] / like(c.inputs[0], averaged(c.inputs[0], c.outputs[0].count()));
        return one_tensor(broadcast_to(with_axes(c, scaled), c.inputs[0].shape()));
      },
      "dx = dy / n, broadcast to x's shape", "The mean over axes, of floats; NaN over nothing." AXES);
  op.shape_rule = mean_rule;
  op.forward = mean_forward;
  return op;
}();
Tensor reduce_mean(const Tensor& x, const std::optional<Axes>& axis, bool keepdims) {
  return run_op1(reduce_mean_op, {x}, attributes_of(axis, keepdims));
}

// ---- prod
namespace {
/// y / x where no factor is 0; with one zero only that element has a gradient, the product of the others; with more, none.
Tensors prod_vjp(const VjpContext& c) {
  const Tensor &x = c.inputs[0], zero = like(x, 0), one = like(x, 1);
  const std::optional<Axes> axis = c.attributes.is_none(0) ? std::nullopt : std::optional(c.attributes.get<Axes>(0));
  const Tensor is_zero = equal(x, zero), dy = with_axes(c, c.cotangents[0]);
  const Tensor zeros = reduce_sum(cast(is_zero, x.dtype()), axis, true);
  const Tensor others = reduce_prod(where(is_zero, one, x), axis, true);  // of the factors that are not 0
  const Tensor none = equal(zeros, zero), single = equal(zeros, one);
  const Tensor safe = where(is_zero, one, x);
  const Tensor partial = where(none, others / safe, where(logical_and(single, is_zero), others, zero));
  return one_tensor(dy * partial);
}
}  // namespace
TAPEDECK_OP(reduce_prod_op) =
    reduction<Reduction::prod>("reduce_prod", "reduce_prod", prod_vjp, "dxᵢ = dy·∏ⱼ≠ᵢ xⱼ",
                               "The product over axes. Integers wrap around; an empty product is 1." AXES);
Tensor reduce_prod(const Tensor& x, const std::optional<Axes>& axis, bool keepdims) {
  return run_op1(reduce_prod_op, {x}, attributes_of(axis, keepdims));
}

// ---- max, min
namespace {
Tensors extreme_vjp(const VjpContext& c) {
  const Tensor &x = c.inputs[0], zero = like(x, 0);
  const std::optional<Axes> axis = c.attributes.is_none(0) ? std::nullopt : std::optional(c.attributes.get<Axes>(0));
  const Tensor chosen = cast(equal(x, with_axes(c, c.outputs[0])), x.dtype());
  const Tensor ties = reduce_sum(chosen, axis, true);
  return one_tensor(with_axes(c, c.cotangents[0]) * (chosen / ties));
}
template <Reduction kind>
TensorSpecs extreme_rule(const OpContext& c) {
  TensorSpecs specs = reduce_rule<kind>(c);
  if (c.inputs[0].count() == 0 && element_count(specs[0].shape) > 0 && !is_floating(c.inputs[0].dtype()))
    fail<InvalidArgumentError>(c.op.name, ": ", describe(c, 0), " is empty; integers have no neutral element");
  return specs;
}
}  // namespace
TAPEDECK_OP(reduce_max_op) = [] {
  OpDef op = reduction<Reduction::max>(
      "reduce_max", "reduce_max", extreme_vjp, "dx = dy where x is the maximum, shared evenly among equals",
      "The largest value over axes; NaN where one is among them, -Inf of nothing." AXES);
  op.shape_rule = extreme_rule<Reduction::max>;
  return op;
}();
Tensor reduce_max(const Tensor& x, const std::optional<Axes>& axis, bool keepdims) {
  return run_op1(reduce_max_op, {x}, attributes_of(axis, keepdims));
}

TAPEDECK_OP(reduce_min_op) = [] {
  OpDef op = reduction<Reduction::min>(
      "reduce_min", "reduce_min", extreme_vjp, "dx = dy where x is the minimum, shared evenly among equals",
      "The smallest value over axes; NaN where one is among them, Inf of nothing." AXES);
  op.shape_rule = extreme_rule<Reduction::min>;
  return op;
}();
Tensor reduce_min(const Tensor& x, const std::optional<Axes>& axis, bool keepdims) {
  return run_op1(reduce_min_op, {x}, attributes_of(axis, keepdims));
}

// ---- any, all
TAPEDECK_OP(reduce_any_op) = reduction<Reduction::any>("reduce_any", "reduce_any", nullptr, "none",
                                                       "Whether any element over axes is True.\n\ninput_tensor: bool." AXES);
Tensor reduce_any(const Tensor& x, const std::optional<Axes>& axis, bool keepdims) {
  return run_op1(reduce_any_op, {x}, attributes_of(axis, keepdims));
}
TAPEDECK_OP(reduce_all_op) = reduction<Reduction::all>("reduce_all", "reduce_all", nullptr, "none",
                                                       "Whether all elements over axes are True.\n\ninput_tensor: bool." AXES);
Tensor reduce_all(const Tensor& x, const std::optional<Axes>& axis, bool keepdims) {
  return run_op1(reduce_all_op, {x}, attributes_of(axis, keepdims));
}

// ---- logsumexp
namespace {
Tensors logsumexp_forward(const OpContext& c) {
  std::int64_t outer, count, inner;
  const Tensor x = arranged(c.inputs[0], axes_of(c), outer, count, inner);
  Tensor out = Tensor::allocate(x.dtype(), c.outputs[0].shape);
  visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T>) {
      const T* values = x.data<T>();
      T* results = out.writable_data<T>();
      for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t i = 0; i < inner; ++i) {
          const T* line = values + o * count * inner + i;
          T top = -std::numeric_limits<T>::infinity();
          for (std::int64_t k = 0; k < count; ++k) top = line[k * inner] > top || line[k * inner] != line[k * inner] ? line[k * inner] : top;
          const T shift = std::isfinite(top) ? top : T(0);
          double sum = 0;
          for (std::int64_t k = 0; k < count; ++k) sum += static_cast<double>(std::exp(line[k * inner] - shift));
          results[o * inner + i] = static_cast<T>(std::log(sum)) + shift;
        }
    }
  });
  return one_tensor(std::move(out));
}
}  // namespace
TAPEDECK_OP(reduce_logsumexp_op) = [] {
  OpDef op = reduction<Reduction::sum>(
      "reduce_logsumexp", "reduce_logsumexp",
      [](const VjpContext& c) {
        const Tensor y = with_axes(c, c.outputs[0]);
        return one_tensor(with_axes(c, c.cotangents[0]) * exp(c.inputs[0] - y));
      },
      "dx = dy·exp(x − y)", "log Σ exp(x) over axes, of floats, without overflow." AXES);
  op.shape_rule = mean_rule;
  op.forward = logsumexp_forward;
  return op;
}();
Tensor reduce_logsumexp(const Tensor& x, const std::optional<Axes>& axis, bool keepdims) {
  return run_op1(reduce_logsumexp_op, {x}, attributes_of(axis, keepdims));
}

// ---- argmax, argmin
namespace {
TensorSpecs arg_rule(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  require(c, 0, x.dtype() != DType::bool_, "numbers");
  if (x.rank() == 0) fail<InvalidArgumentError>(c.op.name, ": input is a scalar; it takes at least one axis");
  const int along = axis(c, c.attributes.get<std::int64_t>(0), x.rank());
  const Shape shape = reduced_shape(x.shape(), {along}, false);
  if (x.dim(along) == 0 && element_count(shape) > 0)
    fail<InvalidArgumentError>(c.op.name, ": axis ", along, " of ", describe(c, 0), " is empty");
  const DType dtype = c.attributes.get<DType>(1);
  if (!is_integer(dtype)) fail<TypeMismatchError>(c.op.name, ": output_type ", dtype_name(dtype), " is no integer dtype");
  return one(dtype, shape);
}
template <bool largest>
Tensors arg_forward(const OpContext& c) {
  std::int64_t outer, count, inner;
  const int along = axis(c, c.attributes.get<std::int64_t>(0), c.inputs[0].rank());
  const Tensor x = arranged(c.inputs[0], {along}, outer, count, inner);
  Tensor positions = Tensor::allocate(DType::int64, c.outputs[0].shape);
  cpu::arg_extreme(largest, x.dtype(), x.raw(), outer, count, inner, positions.writable_data<std::int64_t>());
  if (c.outputs[0].dtype == DType::int64) return one_tensor(std::move(positions));
  Tensor out = Tensor::allocate(c.outputs[0].dtype, positions.shape());
  cpu::cast(DType::int64, out.dtype(), operand(positions), output(out), out.shape());
  return one_tensor(std::move(out));
}
OpDef arg_op(std::string name, Forward forward, std::string doc) {
  return {.name = name,
          .python_names = {name, "math." + name},
          .inputs = {{.name = "input"}},
          .attributes = {{"axis", AttributeKind::integer, std::int64_t{0}}, {"output_type", AttributeKind::dtype, DType::int64}},
          .shape_rule = arg_rule,
          .forward = forward,
          .vjp = nullptr,
          .vjp_formula = "none",
          .doc = std::move(doc)};
}
}  // namespace
TAPEDECK_OP(argmax_op) = arg_op("argmax", arg_forward<true>,
                                "The index of the largest value along an axis, the first of equals; a NaN comes before all.\n\ninput: "
                                "numbers with at least one axis. Errors: an empty axis.");
Tensor argmax(const Tensor& x, std::int64_t axis) { return run_op1(argmax_op, {x}, {axis, DType::int64}); }
TAPEDECK_OP(argmin_op) = arg_op("argmin", arg_forward<false>,
                                "The index of the smallest value along an axis, the first of equals; a NaN comes before all.\n\ninput: "
                                "numbers with at least one axis. Errors: an empty axis.");
Tensor argmin(const Tensor& x, std::int64_t axis) { return run_op1(argmin_op, {x}, {axis, DType::int64}); }

namespace detail {
void link_reduction() {}
}  // namespace detail

}  // namespace tapedeck
