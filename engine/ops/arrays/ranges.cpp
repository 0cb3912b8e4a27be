// Equally spaced numbers.
#include <algorithm>
#include <cmath>

#include "engine/ops/core/checks.h"

namespace tapedeck::ops {

// ---- range ----
namespace {

/// The three numbers, as integers if all of them are.
struct Range {
  double start, limit, delta;
  std::int64_t whole_start = 0, whole_delta = 0;
  bool whole = false;
  double count = 0;
};

/// ⌈(limit − start) / delta⌉ of integers, 0 if that is negative.
double whole_count(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  const bool empty = delta > 0 ? limit <= start : limit >= start;
  if (empty) return 0;
  const auto magnitude = [](std::int64_t from, std::int64_t to) {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  };
  const std::uint64_t distance = delta > 0 ? magnitude(start, limit) : magnitude(limit, start);
  const std::uint64_t step = delta > 0 ? magnitude(0, delta) : magnitude(delta, 0);
  return static_cast<double>((distance - 1) / step + 1);
}

Range range_of(const OpContext& c) {
  const bool from_zero = c.is_none("limit");
  const Attribute zero = std::int64_t{0};
  const Attribute& start = from_zero ? zero : c.attribute("start");
  const Attribute& limit = from_zero ? c.attribute("start") : c.attribute("limit");
  const Attribute& delta = c.attribute("delta");
  Range r{real_of(start), real_of(limit), real_of(delta)};
  if (r.delta == 0.0 || !std::isfinite(r.start) || !std::isfinite(r.limit) || !std::isfinite(r.delta))
    fail<InvalidArgumentError>("range: start ", r.start, ", limit ", r.limit, ", delta ", r.delta,
                               "; delta may not be 0, and all must be finite");
  const auto* whole_start = std::get_if<std::int64_t>(&start);
  const auto* whole_limit = std::get_if<std::int64_t>(&limit);
  const auto* whole_delta = std::get_if<std::int64_t>(&delta);
  r.whole = whole_start && whole_limit && whole_delta;
  if (r.whole) {
    r.whole_start = *whole_start;
    r.whole_delta = *whole_delta;
    r.count = whole_count(*whole_start, *whole_limit, *whole_delta);
  } else {
    r.count = std::max(0.0, std::ceil((r.limit - r.start) / r.delta));
  }
  return r;
}

/// The dtype of its numbers as tensors: int64 if one does not fit in int32.
DType whole_dtype(const Range& r) {
  for (const double number : {r.start, r.limit, r.delta})
    if (number < -0x1p31 || number >= 0x1p31) return DType::int64;
  return DType::int32;
}

/// Integers of the result must not wrap around.
void check_range_fits(const Range& r, DType dtype) {
  if (!is_integer(dtype) || r.count == 0) return;
  const auto [lowest, highest] = integer_limits(dtype);
  const double last = r.start + (r.count - 1) * r.delta;
  for (const double end : {r.start, last})
    if (!(end >= static_cast<double>(lowest) && end < static_cast<double>(highest) + 1) &&
        !(r.whole && dtype == DType::int64))
      fail<InvalidArgumentError>("range: start ", r.start, ", limit ", r.limit, ", delta ", r.delta,
                                 " leave ", dtype_name(dtype),
                                 dtype == DType::int64 ? "" : "; pass dtype int64");
}

TensorSpecs range_shape(const OpContext& c) {
  const Range r = range_of(c);
  if (r.count > 0x1p53)
    fail<ResourceExhaustedError>("range: start ", r.start, ", limit ", r.limit, ", delta ", r.delta, " make ",
                                 r.count, " values");
  DType dtype = r.whole ? whole_dtype(r) : DType::float32;
  if (!c.is_none("dtype")) dtype = c.get<DType>("dtype");
  if (dtype == DType::bool_) fail<TypeMismatchError>("range: dtype is bool; needs a number's dtype");
  check_range_fits(r, dtype);
  return spec(dtype, {static_cast<std::int64_t>(r.count)});
}

Tensors range_forward(const OpContext& c) {
  const Range r = range_of(c);
  Tensor out = allocate_output(c);
  backend().sequence(out.dtype(), {r.start, r.delta, r.whole, r.whole_start, r.whole_delta},
                     out.writable_data<std::byte>(), out.count());
  return one(std::move(out));
}

}  // namespace

TAPEDECK_OP(range_op) = {
    .name = "range",
    .python_names = {"range"},
    .inputs = {},
    .attributes = {{.name = "start", .kind = AttributeKind::real, .fallback = {}, .required = true},
                   {.name = "limit", .kind = AttributeKind::real, .fallback = std::monostate{}},
                   {.name = "delta", .kind = AttributeKind::real, .fallback = std::int64_t{1}},
                   {.name = "dtype", .kind = AttributeKind::dtype, .fallback = std::monostate{}}},
    .shape_rule = range_shape,
    .forward = range_forward,
    .vjp = nullptr,
    .vjp_formula = "none",
    .doc =
        "Equally spaced numbers: start + i·delta, up to but excluding limit.\n\n"
        "start, limit, delta: numbers; with limit None, from 0 to start; dtype: None for int32 where all "
        "three are "
        "whole numbers, else float32.\n"
        "Returns: dtype, (⌈(limit − start) / delta⌉,), empty if that is negative.\n"
        "Errors: InvalidArgumentError for a delta of 0, numbers that are not finite, or that dtype cannot "
        "hold.",
};
Tensor range(double start, double limit, double delta, DType dtype) {
  return run_op1(range_op, {}, {start, limit, delta, dtype});
}

// ---- linspace ----
TAPEDECK_OP(linspace_op) = {
    .name = "linspace",
    .python_names = {},  // tf.linspace, which accepts ends with axes
    .inputs = {{.name = "start", .preferred = DType::float32}, {.name = "stop", .preferred = DType::float32}},
    .attributes = {{.name = "num", .kind = AttributeKind::integer, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          require_same_dtype(c, 0, 1);
          require_kind(c, 0, Kind::floating);
          for (std::size_t i : {0, 1})
            if (c.inputs[i].rank() != 0)
              fail<InvalidArgumentError>("linspace: ", input_name(c, i), " has shape ",
                                         to_string(c.inputs[i].shape()), "; needs a scalar");
          const std::int64_t count = integer_of(c, "num");
          if (count < 1) fail<InvalidArgumentError>("linspace: num is ", count, "; needs at least 1");
          return spec(c.inputs[0].dtype(), {count});
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          backend().linspace(out.dtype(), single(c.inputs[0]), single(c.inputs[1]),
                             out.writable_data<std::byte>(), out.count());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          const DType dtype = c.inputs[0].dtype();
          const Tensor part = linspace(number(0.0, dtype), number(1.0, dtype), c.outputs[0].count());
          Tensors gradients(2);
          if (c.wanted[0]) gradients[0] = reduce_sum(c.cotangents[0] * (1.0 - part));
          if (c.wanted[1]) gradients[1] = reduce_sum(c.cotangents[0] * part);
          return gradients;
        },
    .vjp_formula = "d(start) = Σ dzᵢ·(1 − tᵢ), d(stop) = Σ dzᵢ·tᵢ with tᵢ = i / (num − 1)",
    .doc =
        "num numbers at equal steps from start to stop, both included.\n\n"
        "start, stop: scalars, any floating dtype, one for both; num: at least 1 (1 gives start).\n"
        "Returns: that dtype, (num,).\n"
        "Errors: InvalidArgumentError for num below 1 or ends that are not scalars; TypeMismatchError for "
        "other or "
        "different dtypes.",
    .immediates = true,
};
Tensor linspace(const Tensor& start, const Tensor& stop, std::int64_t num) {
  return run_op1(linspace_op, {start, stop}, {num});
}

}  // namespace tapedeck::ops
