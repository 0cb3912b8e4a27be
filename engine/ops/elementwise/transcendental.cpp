// Exponential, logarithmic, trigonometric and sigmoid functions.
#include <numbers>

#include "engine/ops/elementwise/binary_row.h"
#include "engine/ops/elementwise/unary_row.h"

namespace tapedeck::ops {

using kernels::Unary;

TAPEDECK_OP(exp_op, VjpReads::outputs) = unary_op<Unary::exp, Kind::inexact>(
    {"exp", {"exp", "math.exp"}, "The exponential function: eˣ; ∞ where that overflows.", "dx = dz·z"},
    [](const VjpContext& c) { return one(c.cotangents[0] * c.outputs[0]); });

TAPEDECK_OP(expm1_op, VjpReads::inputs) = unary_op<Unary::expm1, Kind::inexact>(
    {"expm1", {"expm1", "math.expm1"}, "eˣ − 1, accurate for small x too.", "dx = dz·eˣ"},
    [](const VjpContext& c) { return one(c.cotangents[0] * exp(c.inputs[0])); });

TAPEDECK_OP(log_op, VjpReads::inputs) = unary_op<Unary::log, Kind::inexact>(
    {"log", {"log", "math.log"}, "The natural logarithm: ln x; −∞ at 0, NaN below.", "dx = dz / x"},
    [](const VjpContext& c) { return one(c.cotangents[0] / c.inputs[0]); });
TAPEDECK_FACTS(log_op) = {.outside = [](double a, double) {
  return a == 0 ? "the logarithm of 0 is minus infinity" : facts::negative(a, 0);
}};

TAPEDECK_OP(log1p_op, VjpReads::inputs) = unary_op<Unary::log1p, Kind::inexact>(
    {"log1p", {"log1p", "math.log1p"}, "ln(1 + x), accurate for small x too.", "dx = dz / (1 + x)"},
    [](const VjpContext& c) { return one(c.cotangents[0] / (1.0 + c.inputs[0])); });
TAPEDECK_FACTS(log1p_op) = {.outside = facts::negative};

TAPEDECK_OP(sin_op, VjpReads::inputs) = unary_op<Unary::sin, Kind::inexact>(
    {"sin", {"sin", "math.sin"}, "The sine; x in radians.", "dx = dz·cos x"},
    [](const VjpContext& c) { return one(c.cotangents[0] * cos(c.inputs[0])); });

TAPEDECK_OP(cos_op, VjpReads::inputs) = unary_op<Unary::cos, Kind::inexact>(
    {"cos", {"cos", "math.cos"}, "The cosine; x in radians.", "dx = −dz·sin x"},
    [](const VjpContext& c) { return one(-c.cotangents[0] * sin(c.inputs[0])); });

TAPEDECK_OP(tan_op, VjpReads::outputs) = unary_op<Unary::tan, Kind::inexact>(
    {"tan", {"tan", "math.tan"}, "The tangent; x in radians.", "dx = dz·(1 + z²)"},
    [](const VjpContext& c) { return one(c.cotangents[0] * (1.0 + square(c.outputs[0]))); });

namespace {

/// 1 − x², which keeps its digits where x is near ±1.
Tensor one_minus_square(const Tensor& x) {
  return (1.0 - x) * (1.0 + x);
}

}  // namespace

TAPEDECK_OP(asin_op, VjpReads::inputs) = unary_op<Unary::asin, Kind::inexact>(
    {"asin",
     {"asin", "math.asin"},
     "The inverse sine, in radians; NaN outside [−1, 1].",
     "dx = dz / √(1 − x²)"},
    [](const VjpContext& c) { return one(c.cotangents[0] * rsqrt(one_minus_square(c.inputs[0]))); });
TAPEDECK_FACTS(asin_op) = {.outside = facts::beyond_one};

TAPEDECK_OP(acos_op, VjpReads::inputs) = unary_op<Unary::acos, Kind::inexact>(
    {"acos",
     {"acos", "math.acos"},
     "The inverse cosine, in radians; NaN outside [−1, 1].",
     "dx = −dz / √(1 − x²)"},
    [](const VjpContext& c) { return one(-c.cotangents[0] * rsqrt(one_minus_square(c.inputs[0]))); });
TAPEDECK_FACTS(acos_op) = {.outside = facts::beyond_one};

TAPEDECK_OP(atan_op, VjpReads::inputs) = unary_op<Unary::atan, Kind::inexact>(
    {"atan", {"atan", "math.atan"}, "The inverse tangent, in radians.", "dx = dz / (1 + x²)"},
    [](const VjpContext& c) { return one(c.cotangents[0] / (1.0 + square(c.inputs[0]))); });

TAPEDECK_OP(sinh_op, VjpReads::inputs) = unary_op<Unary::sinh, Kind::inexact>(
    {"sinh", {"sinh", "math.sinh"}, "The hyperbolic sine: (eˣ − e⁻ˣ) / 2.", "dx = dz·cosh x"},
    [](const VjpContext& c) { return one(c.cotangents[0] * cosh(c.inputs[0])); });

TAPEDECK_OP(cosh_op, VjpReads::inputs) = unary_op<Unary::cosh, Kind::inexact>(
    {"cosh", {"cosh", "math.cosh"}, "The hyperbolic cosine: (eˣ + e⁻ˣ) / 2.", "dx = dz·sinh x"},
    [](const VjpContext& c) { return one(c.cotangents[0] * sinh(c.inputs[0])); });

TAPEDECK_OP(tanh_op, VjpReads::outputs) = unary_op<Unary::tanh, Kind::inexact>(
    {"tanh",
     {"tanh", "math.tanh", "nn.tanh"},
     "The hyperbolic tangent: (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ).",
     "dx = dz·(1 − z²)"},
    [](const VjpContext& c) { return one(tanh_grad(c.outputs[0], c.cotangents[0])); });
TAPEDECK_FACTS(tanh_op) = {.flat = facts::saturated, .activation = Activation::tanh};

TAPEDECK_OP(sigmoid_op, VjpReads::outputs) = unary_op<Unary::sigmoid, Kind::inexact>(
    {"sigmoid",
     {"sigmoid", "math.sigmoid", "nn.sigmoid"},
     "The logistic function: 1 / (1 + e⁻ˣ).",
     "dx = dz·z·(1 − z)"},
    [](const VjpContext& c) { return one(sigmoid_grad(c.outputs[0], c.cotangents[0])); });
TAPEDECK_FACTS(sigmoid_op) = {.flat = facts::saturated, .activation = Activation::sigmoid};

TAPEDECK_OP(softplus_op, VjpReads::inputs) = unary_op<Unary::softplus, Kind::floating>(
    {"softplus",
     {"nn.softplus", "math.softplus"},
     "ln(1 + eˣ), computed as max(x, 0) + ln(1 + e^−|x|) so that it neither overflows nor loses digits.",
     "dx = dz·sigmoid(x)",
     "features"},
    [](const VjpContext& c) { return one(c.cotangents[0] * sigmoid(c.inputs[0])); });
TAPEDECK_FACTS(softplus_op) = {.flat = facts::saturated};

TAPEDECK_OP(erf_op, VjpReads::inputs) = unary_op<Unary::erf, Kind::floating>(
    {"erf", {"erf", "math.erf"}, "The error function: 2/√π · ∫₀ˣ e^(−t²) dt.", "dx = dz·2/√π·e^(−x²)"},
    [](const VjpContext& c) {
      return one(c.cotangents[0] * (2.0 * std::numbers::inv_sqrtpi * exp(-square(c.inputs[0]))));
    });
TAPEDECK_FACTS(erf_op) = {.flat = facts::saturated};

TAPEDECK_OP(asinh_op, VjpReads::outputs) = unary_op<Unary::asinh, Kind::inexact>(
    {"asinh", {"asinh", "math.asinh"}, "The inverse hyperbolic sine: ln(x + √(x² + 1)).", "dx = dz / cosh z"},
    [](const VjpContext& c) { return one(c.cotangents[0] / cosh(c.outputs[0])); });

TAPEDECK_OP(acosh_op, VjpReads::outputs) = unary_op<Unary::acosh, Kind::inexact>(
    {"acosh",
     {"acosh", "math.acosh"},
     "The inverse hyperbolic cosine: ln(x + √(x² − 1)); NaN below 1.",
     "dx = dz / sinh z"},
    [](const VjpContext& c) { return one(c.cotangents[0] / sinh(c.outputs[0])); });

TAPEDECK_OP(atanh_op, VjpReads::inputs) = unary_op<Unary::atanh, Kind::inexact>(
    {"atanh",
     {"atanh", "math.atanh"},
     "The inverse hyperbolic tangent: ½·ln((1 + x) / (1 − x)); ±∞ at ±1, NaN beyond.",
     "dx = dz / (1 − x²)"},
    [](const VjpContext& c) { return one(c.cotangents[0] / one_minus_square(c.inputs[0])); });
TAPEDECK_FACTS(atanh_op) = {.outside = facts::beyond_one};

TAPEDECK_OP(atan2_op, VjpReads::inputs) = binary_op<kernels::Binary::atan2, Kind::floating>(
    {"atan2",
     {"atan2", "math.atan2"},
     "The angle of the point (x, y) in radians, from −π to π: the inverse tangent of y / x in the right "
     "quadrant.",
     "dy = dz·x / (x² + y²), dx = −dz·y / (x² + y²)",
     "y",
     "x"},
    [](const VjpContext& c) {
      const Tensor& y = c.inputs[0];
      const Tensor& x = c.inputs[1];
      // The angle does not depend on the point's distance, which may be treated as a constant; its square
      // might overflow, or underflow.
      const Tensor one_instead = number(1.0, x.dtype());
      const Tensor largest = stop_gradient(maximum(abs(x), abs(y)));
      const Tensor distance = where(logical_and(is_finite(largest), greater(largest, number(0.0, x.dtype()))),
                                    largest, one_instead);
      const Tensor a = x / distance, b = y / distance;
      const Tensor scaled = c.cotangents[0] / distance / (square(a) + square(b));
      return binary_gradients(
          c, [&] { return scaled * a; }, [&] { return -scaled * b; });
    });

}  // namespace tapedeck::ops
