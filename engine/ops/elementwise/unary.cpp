// Arithmetic, rounding and tests of one operand.
#include "engine/ops/elementwise/complex.h"
#include "engine/ops/elementwise/unary_row.h"

namespace tapedeck::ops {

using kernels::Unary;

OpDef unary_row(UnaryText text, Kind kind, bool to_bool, ShapeRule shape_rule, Forward forward, Vjp vjp) {
  const char* dtypes = kind == Kind::numeric    ? "any numeric dtype"
                       : kind == Kind::ordered  ? "any real or integer dtype"
                       : kind == Kind::inexact  ? "any floating or complex dtype"
                       : kind == Kind::floating ? "any floating dtype"
                       : kind == Kind::integer  ? "any integer dtype"
                                                : "bool";
  const std::string& x = text.argument;
  return {
      .name = text.name,
      .python_names = std::move(text.python_names),
      .inputs = {{.name = x}},
      .attributes = {},
      .shape_rule = shape_rule,
      .forward = forward,
      .vjp = vjp,
      .vjp_formula = std::move(text.formula),
      .doc = text.doc + "\n\n" + x + ": " + dtypes +
             ", any shape.\nReturns: " + (to_bool ? "bool, the shape of " : "dtype and shape of ") + x +
             ", element by element.\nErrors: TypeMismatchError for another dtype.",
      .takes_others = true,
  };
}

TAPEDECK_OP(negative_op, VjpReads::shapes) = unary_op<Unary::negative, Kind::numeric>(
    {"negative", {"negative", "math.negative"}, "Changes the sign: −x. Integers wrap around.", "dx = −dz"},
    [](const VjpContext& c) { return one(-c.cotangents[0]); });

TAPEDECK_OP(abs_op, VjpReads::inputs) = unary_row(
    {"abs",
     {"abs", "math.abs"},
     "Absolute value: |x|, of complex numbers √(Re² + Im²) in the dtype of their parts.",
     "dx = dz·sign(x)"},
    Kind::numeric, false,
    [](const OpContext& c) {
      require_kind(c, 0, Kind::numeric);
      return spec(real_dtype(c.inputs[0].dtype()), c.inputs[0].shape());
    },
    [](const OpContext& c) {
      if (is_complex(c.inputs[0].dtype())) [[unlikely]]
        return one(magnitudes(c.inputs[0]));
      return unary_forward<Unary::abs>(c);
    },
    [](const VjpContext& c) {
      const Tensor& g = c.cotangents[0];
      const bool real_numbers = !is_complex(c.inputs[0].dtype());
      return one((real_numbers ? g : complex(g, zeros_shaped_like(g))) * sign(c.inputs[0]));
    });

namespace {

/// Of real numbers 0. Of complex ones z/|z| turns with z: dz = i·w·Im(dw·conj(w)) / |z|, and 0 where z is.
Tensors sign_vjp(const VjpContext& c) {
  const Tensor& z = c.inputs[0];
  if (!is_complex(z.dtype())) return zero_gradient(c);
  const Tensor w = sign(z);
  const Tensor turn = divide_no_nan(imag(c.cotangents[0] * conj(w)), abs(z));
  return one(complex(zeros_shaped_like(turn), turn) * w);
}

}  // namespace

TAPEDECK_OP(sign_op, VjpReads::inputs) = with_complex_vjp(unary_op<Unary::sign, Kind::numeric>(
    {"sign",
     {"sign", "math.sign"},
     "The sign: −1, 0 or 1; of complex numbers x / |x|, 0 at 0; NaN stays NaN.",
     "dx = 0"},
    sign_vjp));
TAPEDECK_FACTS(sign_op) = {.flat = facts::flat_everywhere};

TAPEDECK_OP(square_op, VjpReads::inputs) = unary_op<Unary::square, Kind::numeric>(
    {"square", {"square", "math.square"}, "The square: x·x.", "dx = dz·2x"},
    [](const VjpContext& c) { return one(2.0 * c.cotangents[0] * c.inputs[0]); });

TAPEDECK_OP(sqrt_op, VjpReads::outputs) = unary_op<Unary::sqrt, Kind::inexact>(
    {"sqrt",
     {"sqrt", "math.sqrt"},
     "The square root: √x, correctly rounded; NaN for x < 0.",
     "dx = dz·½ / √x"},
    [](const VjpContext& c) { return one(c.cotangents[0] * 0.5 / c.outputs[0]); });
TAPEDECK_FACTS(sqrt_op) = {.outside = facts::negative};

TAPEDECK_OP(rsqrt_op, VjpReads::outputs) = unary_op<Unary::rsqrt, Kind::inexact>(
    {"rsqrt", {"rsqrt", "math.rsqrt"}, "The reciprocal of the square root: 1 / √x.", "dx = dz·(−½)·z³"},
    [](const VjpContext& c) {
      const Tensor& y = c.outputs[0];
      return one(c.cotangents[0] * (-0.5 * (y * square(y))));
    });
TAPEDECK_FACTS(rsqrt_op) = {.outside = [](double a, double) {
  return a == 0 ? "1 divided by 0 is infinite" : facts::negative(a, 0);
}};

TAPEDECK_OP(reciprocal_op, VjpReads::outputs) = unary_op<Unary::reciprocal, Kind::inexact>(
    {"reciprocal", {"reciprocal", "math.reciprocal"}, "The reciprocal: 1 / x.", "dx = −dz·z²"},
    [](const VjpContext& c) { return one(-c.cotangents[0] * square(c.outputs[0])); });
TAPEDECK_FACTS(reciprocal_op) = {
    .outside = [](double a, double) { return a == 0 ? "1 divided by 0 is infinite" : nullptr; }};

TAPEDECK_OP(relu_op, VjpReads::inputs) = unary_op<Unary::relu, Kind::numeric>(
    {"relu",
     {"nn.relu"},
     "The rectifier: max(x, 0); NaN stays NaN.",
     "dx = dz where x > 0, else 0",
     "features"},
    [](const VjpContext& c) { return one(relu_grad(c.cotangents[0], c.inputs[0])); });
TAPEDECK_FACTS(relu_op) = {.flat = "its input is not above zero there, and relu is flat below zero",
                           .activation = Activation::rectifier};

TAPEDECK_OP(floor_op) = unary_op<Unary::floor, Kind::numeric>(
    {"floor", {"floor", "math.floor"}, "The largest integer that is not above x: ⌊x⌋.", "none"}, nullptr);
TAPEDECK_FACTS(floor_op) = {.flat = facts::flat_everywhere};

TAPEDECK_OP(ceil_op) = unary_op<Unary::ceil, Kind::numeric>(
    {"ceil", {"ceil", "math.ceil"}, "The smallest integer that is not below x: ⌈x⌉.", "none"}, nullptr);
TAPEDECK_FACTS(ceil_op) = {.flat = facts::flat_everywhere};

TAPEDECK_OP(round_op) =
    unary_op<Unary::round, Kind::numeric>({"round",
                                           {"round", "math.round", "rint", "math.rint"},
                                           "The nearest integer; halves go to the even one.",
                                           "none"},
                                          nullptr);
TAPEDECK_FACTS(round_op) = {.flat = facts::flat_everywhere};

TAPEDECK_OP(trunc_op) = unary_op<Unary::trunc, Kind::numeric>(
    {"trunc", {"trunc", "math.trunc"}, "x rounded towards 0.", "none"}, nullptr);
TAPEDECK_FACTS(trunc_op) = {.flat = facts::flat_everywhere};

TAPEDECK_OP(logical_not_op) = unary_to_bool_op<Unary::logical_not, Kind::boolean>(
    {"logical_not", {"logical_not", "math.logical_not"}, "True where x is False.", "none"});

TAPEDECK_OP(is_nan_op) = unary_to_bool_op<Unary::is_nan, Kind::floating>(
    {"is_nan", {"is_nan", "math.is_nan"}, "True where x is NaN.", "none"});

TAPEDECK_OP(is_inf_op) = unary_to_bool_op<Unary::is_inf, Kind::floating>(
    {"is_inf", {"is_inf", "math.is_inf"}, "True where x is +∞ or −∞.", "none"});

TAPEDECK_OP(is_finite_op) =
    unary_to_bool_op<Unary::is_finite, Kind::floating>({"is_finite",
                                                        {"is_finite", "math.is_finite"},
                                                        "True where x is finite: neither NaN nor infinite.",
                                                        "none"});

TAPEDECK_OP(reciprocal_no_nan_op, VjpReads::outputs) = unary_op<Unary::reciprocal_no_nan, Kind::inexact>(
    {"reciprocal_no_nan",
     {"math.reciprocal_no_nan"},
     "The reciprocal 1 / x, but 0 where x is 0.",
     "dx = −dz·z²"},
    [](const VjpContext& c) { return one(-c.cotangents[0] * square(c.outputs[0])); });

}  // namespace tapedeck::ops
