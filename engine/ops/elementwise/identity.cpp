// Ops that return their input unchanged.
#include <algorithm>
#include <cmath>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"

namespace tapedeck::ops {
namespace {

/// A separate tensor on the same storage.
Tensors same_values(const OpContext& c) {
  return one(view_of(c.inputs[0], c.inputs[0].shape(), c.inputs[0].strides()));
}

}  // namespace

// ---- identity ----
TAPEDECK_OP(identity_op) = {
    .name = "identity",
    .python_names = {"identity"},
    .inputs = {{.name = "input"}},
    .attributes = {},
    .shape_rule = like_first,
    .forward = same_values,
    .vjp_reads = VjpReads::shapes,
    .vjp = [](const VjpContext& c) { return one(c.cotangents[0]); },
    .vjp_formula = "dx = dz",
    .cost = cost::view,
    .doc =
        "The same values as a new tensor, without a copy.\n\ninput: any dtype and shape.\nReturns: its dtype "
        "and shape.",
    .takes_narrow = true,
};
Tensor identity(const Tensor& input) {
  return run_op1(identity_op, {input});
}

// ---- stop_gradient ----
TAPEDECK_OP(stop_gradient_op) = {
    .name = "stop_gradient",
    .python_names = {"stop_gradient"},
    .inputs = {{.name = "input"}},
    .attributes = {},
    .shape_rule = like_first,
    .forward = same_values,
    .vjp = nullptr,
    .vjp_formula = "none",
    .cost = cost::view,
    .doc =
        "The same values, through which no gradient flows: differentiation takes them for a constant.\n\n"
        "input: any dtype and shape.\nReturns: its dtype and shape, without a copy.",
    .takes_narrow = true,
    .stops_gradient = true,
};
Tensor stop_gradient(const Tensor& input) {
  return run_op1(stop_gradient_op, {input});
}

// ---- check_numerics ----
namespace {

Tensor flags_of(kernels::Unary test, const Tensor& x) {
  Tensor flags = Tensor::allocate(DType::bool_, x.shape());
  const Tensor values = readable(x);
  backend().unary_strided(test, x.dtype(), operand(values, x.shape()), flags.writable_data<std::byte>(),
                          x.shape());
  return flags;
}

/// "NaN", "Inf" or "NaN and Inf", as far as x contains them; empty if every value is finite.
std::string not_finite(const Tensor& x) {
  const Tensor finite = flags_of(kernels::Unary::is_finite, x);
  const bool* flags = finite.data<bool>();
  if (std::find(flags, flags + finite.count(), false) == flags + finite.count()) return {};
  bool nan = false;
  bool infinite = false;
  for (const double value : x.to_vector()) {
    nan = nan || std::isnan(value);
    infinite = infinite || std::isinf(value);
  }
  return nan && infinite ? "NaN and Inf" : nan ? "NaN" : "Inf";
}

std::string numerics_error(const OpContext& c, const std::string& found) {
  return "check_numerics: " + c.get<std::string>("message") + " : tensor " + to_string(c.inputs[0].shape()) +
         " had " + found + " values";
}

/// The same, but the error is thrown when the host reads from the GPU: the first one is kept.
void check_late(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  const auto has = [&](kernels::Unary test) {
    const Tensor flags = flags_of(test, x);
    Tensor found = Tensor::allocate(DType::bool_, Shape{});
    backend().reduce(kernels::Reduction::any, DType::bool_, flags.raw(), 1, flags.count(), 1,
                     found.writable_data<std::byte>());
    return found;
  };
  const Tensor nan = has(kernels::Unary::is_nan), infinite = has(kernels::Unary::is_inf);
  Tensor both = Tensor::allocate(DType::bool_, Shape{});
  backend().binary(kernels::Binary::logical_and, DType::bool_, single(nan), single(infinite),
                   both.writable_data<std::byte>(), 1);
  backend().any(both.data<bool>(), 1, numerics_error(c, "NaN and Inf"));
  backend().any(nan.data<bool>(), 1, numerics_error(c, "NaN"));
  backend().any(infinite.data<bool>(), 1, numerics_error(c, "Inf"));
}

}  // namespace

TAPEDECK_OP(check_numerics_op) = {
    .name = "check_numerics",
    .python_names = {"check_numerics", "debugging.check_numerics"},
    .inputs = {{.name = "tensor", .preferred = DType::float32}},
    .attributes = {{.name = "message", .kind = AttributeKind::text, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          require_kind(c, 0, Kind::floating);
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          if (!c.inputs[0].on_cpu()) {
            check_late(c);
            return same_values(c);
          }
          const std::string found = not_finite(c.inputs[0]);
          if (!found.empty()) fail<InvalidArgumentError>(numerics_error(c, found));
          return same_values(c);
        },
    .vjp_reads = VjpReads::shapes,
    .vjp = [](const VjpContext& c) { return one(run_op1(c.op, {c.cotangents[0]}, {"the gradient"})); },
    .vjp_formula = "dx = check_numerics(dz)",
    .doc =
        "The same values, after a check that all of them are finite; its gradient is checked too.\n\n"
        "tensor: any floating dtype, any shape; message: how the error begins.\n"
        "Returns: the dtype and shape of tensor, without a copy.\n"
        "Errors: InvalidArgumentError where a value is NaN or infinite.",
};

}  // namespace tapedeck::ops
