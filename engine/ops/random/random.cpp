// Random numbers. Pure ops: see random_state.h.
#include <limits>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/narrow_values.h"
#include "engine/ops/random/random_state.h"
#include "engine/tensor/narrow.h"

namespace tapedeck::ops {
namespace {

std::vector<AttributeSpec> random_attributes(const std::string& first, double first_value,
                                             const std::string& second, Attribute second_value) {
  return {{.name = "shape", .kind = AttributeKind::shape, .fallback = {}, .required = true},
          {.name = first, .kind = AttributeKind::real, .fallback = first_value},
          {.name = second, .kind = AttributeKind::real, .fallback = std::move(second_value)},
          {.name = "dtype", .kind = AttributeKind::dtype, .fallback = DType::float32},
          {.name = "seed", .kind = AttributeKind::integer, .fallback = std::monostate{}},
          {.name = "key", .kind = AttributeKind::integer, .fallback = std::monostate{}},
          {.name = "counter", .kind = AttributeKind::integer, .fallback = std::monostate{}}};
}

void require_resolved(const OpContext& c) {
  if (c.is_none("key") || c.is_none("counter"))
    fail<InvalidArgumentError>(c.op.name,
                               ": key and counter are None; resolve_random() sets them from the seed");
}

std::uint64_t key_of(const OpContext& c) {
  return static_cast<std::uint64_t>(c.get<std::int64_t>("key"));
}
std::uint64_t counter_of(const OpContext& c) {
  return static_cast<std::uint64_t>(c.get<std::int64_t>("counter"));
}

TensorSpecs uniform_shape(const OpContext& c) {
  require_resolved(c);
  const DType dtype = c.get<DType>("dtype");
  if (dtype == DType::bool_ || has_partial_support(dtype))
    fail<TypeMismatchError>("random_uniform: dtype is ", dtype_name(dtype), "; needs a number's dtype");
  if (is_integer(dtype)) {
    if (c.is_none("maxval"))
      fail<InvalidArgumentError>("random_uniform: maxval is None; integers of dtype ", dtype_name(dtype),
                                 " need one");
    const std::int64_t low = integer_of(c, "minval");
    const std::int64_t high = integer_of(c, "maxval");
    if (low >= high)
      fail<InvalidArgumentError>("random_uniform: minval ", low, " is not below maxval ", high);
    const auto [lowest, highest] = integer_limits(dtype);
    if (low < lowest || (dtype != DType::int64 && high > highest + 1))
      fail<InvalidArgumentError>("random_uniform: the range [", low, ", ", high, ") leaves ",
                                 dtype_name(dtype));
  }
  return spec(dtype, shape_of(c, "shape"));
}

/// The largest number of a narrow floating dtype below `high`, as float32.
Tensor largest_below(float high, DType dtype) {
  const Tensor nearest = narrowed(Tensor::scalar(high), dtype);
  if (widened(nearest).item() < high) return widened(nearest);
  auto& bits = *nearest.writable_data<std::uint16_t>();
  // One bit less above 0, one more below it.
  bits = static_cast<std::uint16_t>(bits == 0 ? 0x8001 : bits < 0x8000 ? bits - 1 : bits + 1);
  return widened(nearest);
}

/// Rounded to a narrow floating-point dtype, but never up to `high`, which is excluded.
Tensor rounded_below(const Tensor& wide, DType dtype, float high) {
  const Tensor lowest = Tensor::scalar(-std::numeric_limits<double>::infinity());
  const Tensor highest = largest_below(high, dtype);
  const Tensor cut = Tensor::allocate(wide.dtype(), wide.shape());
  backend().clip(wide.dtype(), wide.raw(), single(lowest), single(highest), cut.writable_data<std::byte>(),
                 wide.count());
  return narrow(cut, dtype);
}

Tensors uniform_forward(const OpContext& c) {
  if (is_narrow(c.outputs[0].dtype)) {
    const DType dtype = c.outputs[0].dtype;
    const TensorSpecs wide = spec(compute_dtype(dtype), c.outputs[0].shape);
    const Tensor values = uniform_forward({c.op, c.inputs, c.attributes, wide})[0];
    if (is_integer(dtype)) return one(narrow(values, dtype));
    const double high = c.is_none("maxval") ? 1.0 : real_of(c.attribute("maxval"));
    const bool empty = !(real_of(c.attribute("minval")) < high);
    return one(empty ? narrow(values, dtype) : rounded_below(values, dtype, static_cast<float>(high)));
  }
  Tensor out = allocate_output(c);
  std::byte* target = out.writable_data<std::byte>();
  if (is_integer(out.dtype())) {
    backend().random_integers(out.dtype(), {key_of(c), counter_of(c)}, integer_of(c, "minval"),
                              integer_of(c, "maxval"), target, out.count());
  } else {
    const double high = c.is_none("maxval") ? 1.0 : real_of(c.attribute("maxval"));
    backend().random_uniform(out.dtype(), {key_of(c), counter_of(c)}, real_of(c.attribute("minval")), high,
                             target, out.count());
  }
  return one(std::move(out));
}

TensorSpecs normal_shape(const OpContext& c) {
  require_resolved(c);
  const DType dtype = c.get<DType>("dtype");
  if (!is_floating(dtype))
    fail<TypeMismatchError>(c.op.name, ": dtype is ", dtype_name(dtype),
                            "; needs a floating dtype: float16, bfloat16, float32 or float64");
  return spec(dtype, shape_of(c, "shape"));
}

template <bool truncated>
Tensors normal_forward(const OpContext& c) {
  Tensor out = allocate_output(c);
  backend().random_normal(out.dtype(), {key_of(c), counter_of(c)}, real_of(c.attribute("mean")),
                          real_of(c.attribute("stddev")), truncated, out.writable_data<std::byte>(),
                          out.count());
  return one(std::move(out));
}

constexpr const char* common_doc =
    "\nThe numbers come from Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, \"Parallel random numbers: as easy "
    "as 1, 2, 3\", "
    "SC 2011) at (key, counter), which are resolved from the seed before the op runs: running it again gives "
    "the same "
    "bits, on any number of threads. Seeds combine with set_random_seed as in TensorFlow.";

OpDef normal_row(std::string name, std::vector<std::string> python_names, const std::string& what,
                 Forward forward) {
  return {
      .name = std::move(name),
      .python_names = std::move(python_names),
      .inputs = {},
      .attributes = random_attributes("mean", 0.0, "stddev", 1.0),
      .shape_rule = normal_shape,
      .forward = forward,
      .form = Form::drawn,
      .vjp = nullptr,
      .vjp_formula = "none",
      .doc =
          what +
          "\n\nshape: extents of the result; mean, stddev: of the distribution; dtype: any floating dtype; "
          "seed: whole "
          "number or None.\nReturns: dtype, shape. By Box and Muller's method (Annals of Mathematical "
          "Statistics 29, "
          "1958).\nErrors: InvalidArgumentError for a negative extent; TypeMismatchError for another dtype." +
          common_doc,
  };
}

Tensor run_random(const OpDef& op, const Shape& shape, double first, double second, DType dtype, Seed seed) {
  std::vector<Attribute> values = {
      attribute_of(shape), first, second, dtype, seed ? Attribute(*seed) : Attribute(), {}, {}};
  resolve_random(op, values);
  return run_op1(op, {}, Attributes(std::move(values)));
}

}  // namespace

TAPEDECK_OP(random_uniform_op) = {
    .name = "random_uniform",
    .python_names = {"random_uniform", "random.uniform"},
    .inputs = {},
    .attributes = random_attributes("minval", 0.0, "maxval", std::monostate{}),
    .shape_rule = uniform_shape,
    .forward = uniform_forward,
    .form = Form::drawn,
    .vjp = nullptr,
    .vjp_formula = "none",
    .doc = std::string("Random numbers, uniform on [minval, maxval).\n\nshape: extents of the result; "
                       "minval, maxval: the "
                       "range, by default [0, 1) (integers need a maxval); dtype: float32, float64, "
                       "int32 or int64; "
                       "seed: integer or None.\nReturns: dtype, shape.\nErrors: InvalidArgumentError "
                       "for a negative "
                       "extent, or an empty range of integers; TypeMismatchError for bool.") +
           common_doc,
    .takes_narrow = true,  // rounding may not reach maxval
};
Tensor random_uniform(const Shape& shape, double minval, double maxval, DType dtype, Seed seed) {
  return run_random(random_uniform_op, shape, minval, maxval, dtype, seed);
}

TAPEDECK_OP(random_normal_op) = normal_row("random_normal", {"random_normal", "random.normal"},
                                           "Random numbers of the normal distribution.",
                                           normal_forward<false>);
Tensor random_normal(const Shape& shape, double mean, double stddev, DType dtype, Seed seed) {
  return run_random(random_normal_op, shape, mean, stddev, dtype, seed);
}

TAPEDECK_OP(truncated_normal_op) = normal_row(
    "truncated_normal", {"truncated_normal", "random.truncated_normal"},
    "Random numbers of the normal distribution; those further than 2·stddev from the mean are drawn again.",
    normal_forward<true>);

}  // namespace tapedeck::ops
