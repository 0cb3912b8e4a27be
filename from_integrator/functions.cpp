// Functions of one operand, element by element.
#include <numbers>

#include "engine/ops/elementwise_rules.h"

namespace tapedeck {

using namespace rules;
using cpu::Unary;

#define TAPEDECK_VJP(expression)                                                                     \
  [](const VjpContext& c) {                                                                          \
    const Tensor &dy = c.cotangents[0], &x = c.inputs[0], &y = c.outputs[0];                         \
    (void)x, (void)y;                                                                                \
    return one_tensor(expression);                                                                   \
  }
#define TAPEDECK_UNARY(function, ...)                                  \
  TAPEDECK_OP(function##_op) = unary_op<Unary::function>(__VA_ARGS__); \
  Tensor function(const Tensor& x) { return run_op1(function##_op, {x}); }

#define FLOATS "\n\nx: float32 or float64, any shape."
#define NUMBERS "\n\nx: numbers, any shape."

TAPEDECK_UNARY(negative, "negative", {"negative", "math.negative"}, TAPEDECK_VJP(negative(dy)), "dx = −dy", "-x." NUMBERS)
TAPEDECK_UNARY(abs, "abs", {"abs", "math.abs"}, TAPEDECK_VJP(dy * sign(x)), "dx = dy·sign(x)", "The absolute value of x." NUMBERS)
TAPEDECK_UNARY(sign, "sign", {"sign", "math.sign"}, TAPEDECK_VJP(zeros_like(dy)), "dx = 0",
               "-1, 0 or 1, as x is negative, zero or positive; NaN stays." NUMBERS)
TAPEDECK_UNARY(square, "square", {"square", "math.square"}, TAPEDECK_VJP(dy * (like(x, 2) * x)), "dx = dy·2x", "x². " NUMBERS)
TAPEDECK_UNARY(sqrt, "sqrt", {"sqrt", "math.sqrt"}, TAPEDECK_VJP(dy * like(y, .5) / y), "dx = dy / (2y)",
               "The square root of x; NaN for negative x." FLOATS)
TAPEDECK_UNARY(rsqrt, "rsqrt", {"rsqrt", "math.rsqrt"}, TAPEDECK_VJP(dy * like(y, -.5) * y * y * y), "dx = −dy·y³ / 2",
               "1 / sqrt(x)." FLOATS)
TAPEDECK_UNARY(reciprocal, "reciprocal", {"reciprocal", "math.reciprocal"}, TAPEDECK_VJP(negative(dy) * y * y), "dx = −dy·y²",
               "1 / x." FLOATS)
TAPEDECK_UNARY(exp, "exp", {"exp", "math.exp"}, TAPEDECK_VJP(dy * y), "dx = dy·y", "e to the power of x." FLOATS)
TAPEDECK_UNARY(expm1, "expm1", {"expm1", "math.expm1"}, TAPEDECK_VJP(dy * exp(x)), "dx = dy·eˣ",
               "exp(x) - 1, exact also for small x." FLOATS)
TAPEDECK_UNARY(log, "log", {"log", "math.log"}, TAPEDECK_VJP(dy / x), "dx = dy / x",
               "The natural logarithm; -Inf at 0, NaN for negative x." FLOATS)
TAPEDECK_UNARY(log1p, "log1p", {"log1p", "math.log1p"}, TAPEDECK_VJP(dy / (like(x, 1) + x)), "dx = dy / (1 + x)",
               "log(1 + x), exact also for small x." FLOATS)
TAPEDECK_UNARY(sin, "sin", {"sin", "math.sin"}, TAPEDECK_VJP(dy * cos(x)), "dx = dy·cos x", "The sine of x (radians)." FLOATS)
TAPEDECK_UNARY(cos, "cos", {"cos", "math.cos"}, TAPEDECK_VJP(negative(dy * sin(x))), "dx = −dy·sin x",
               "The cosine of x (radians)." FLOATS)
TAPEDECK_UNARY(tan, "tan", {"tan", "math.tan"}, TAPEDECK_VJP(dy * (like(y, 1) + y * y)), "dx = dy·(1 + y²)",
               "The tangent of x (radians)." FLOATS)
TAPEDECK_UNARY(asin, "asin", {"asin", "math.asin"}, TAPEDECK_VJP(dy * rsqrt(like(x, 1) - x * x)), "dx = dy / √(1 − x²)",
               "The arc sine, in radians; NaN outside -1 … 1." FLOATS)
TAPEDECK_UNARY(acos, "acos", {"acos", "math.acos"}, TAPEDECK_VJP(negative(dy * rsqrt(like(x, 1) - x * x))),
               "dx = −dy / √(1 − x²)", "The arc cosine, in radians; NaN outside -1 … 1." FLOATS)
TAPEDECK_UNARY(atan, "atan", {"atan", "math.atan"}, TAPEDECK_VJP(dy / (like(x, 1) + x * x)), "dx = dy / (1 + x²)",
               "The arc tangent, in radians." FLOATS)
TAPEDECK_UNARY(sinh, "sinh", {"sinh", "math.sinh"}, TAPEDECK_VJP(dy * cosh(x)), "dx = dy·cosh x", "The hyperbolic sine." FLOATS)
TAPEDECK_UNARY(cosh, "cosh", {"cosh", "math.cosh"}, TAPEDECK_VJP(dy * sinh(x)), "dx = dy·sinh x", "The hyperbolic cosine." FLOATS)
TAPEDECK_UNARY(tanh, "tanh", {"tanh", "math.tanh", "nn.tanh"}, TAPEDECK_VJP(tanh_grad(y, dy)), "dx = dy·(1 − y²)",
               "The hyperbolic tangent." FLOATS)
TAPEDECK_UNARY(sigmoid, "sigmoid", {"sigmoid", "math.sigmoid", "nn.sigmoid"}, TAPEDECK_VJP(sigmoid_grad(y, dy)),
               "dx = dy·y·(1 − y)", "1 / (1 + exp(-x)), without overflow." FLOATS)
TAPEDECK_UNARY(relu, "relu", {"nn.relu"}, TAPEDECK_VJP(relu_grad(dy, x)), "dx = dy where x > 0", "max(x, 0)." NUMBERS)
TAPEDECK_UNARY(softplus, "softplus", {"nn.softplus", "math.softplus"}, TAPEDECK_VJP(dy * sigmoid(x)), "dx = dy·sigmoid(x)",
               "log(1 + exp(x)), without overflow." FLOATS)
TAPEDECK_UNARY(erf, "erf", {"erf", "math.erf"},
               TAPEDECK_VJP(dy * like(x, 2 * std::numbers::inv_sqrtpi) * exp(negative(x * x))), "dx = dy·2/√π·e^(−x²)",
               "The error function, 2/√π ∫₀ˣ e^(−t²) dt." FLOATS)
TAPEDECK_UNARY(floor, "floor", {"floor", "math.floor"}, nullptr, "none",
               "The largest whole number not above x. Not differentiable: it is constant almost everywhere." NUMBERS)
TAPEDECK_UNARY(ceil, "ceil", {"ceil", "math.ceil"}, nullptr, "none",
               "The smallest whole number not below x. Not differentiable: it is constant almost everywhere." NUMBERS)
TAPEDECK_UNARY(round, "round", {"round", "math.round"}, nullptr, "none",
               "The nearest whole number, halves to the even one. Not differentiable: it is constant almost everywhere." NUMBERS)
TAPEDECK_UNARY(logical_not, "logical_not", {"logical_not", "math.logical_not"}, nullptr, "none", "not x.\n\nx: bool.")
TAPEDECK_UNARY(is_nan, "is_nan", {"is_nan", "math.is_nan"}, nullptr, "none", "Which elements are not a number." FLOATS)
TAPEDECK_UNARY(is_inf, "is_inf", {"is_inf", "math.is_inf"}, nullptr, "none", "Which elements are infinite." FLOATS)
TAPEDECK_UNARY(is_finite, "is_finite", {"is_finite", "math.is_finite"}, nullptr, "none",
               "Which elements are neither infinite nor NaN." FLOATS)

// ---- cast
namespace {
TensorSpecs cast_rule(const OpContext& c) { return one(c.attributes.get<DType>(0), c.inputs[0].shape()); }
Tensors cast_forward(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  if (x.dtype() == c.outputs[0].dtype)
    return one_tensor(Tensor::view(x.storage(), x.dtype(), x.shape(), x.strides(), x.offset()));
  Tensor out = Tensor::allocate(c.outputs[0].dtype, x.shape());
  cpu::cast(x.dtype(), out.dtype(), operand(x), output(out), x.shape());
  return one_tensor(std::move(out));
}
}  // namespace
TAPEDECK_OP(cast_op) = {.name = "cast",
                        .python_names = {"cast", "dtypes.cast"},
                        .inputs = {{.name = "x", .group = '\0'}},
                        .attributes = {{"dtype", AttributeKind::dtype, DType::float32, true}},
                        .shape_rule = cast_rule,
                        .forward = cast_forward,
                        .vjp = [](const VjpContext& c) { return one_tensor(cast(c.cotangents[0], c.inputs[0].dtype())); },
                        .vjp_formula = "dx = cast(dy, dtype of x)",
                        .doc = "x with another dtype.\n\nx: any dtype and shape. Floats are cut towards zero when they become "
                               "integers; to bool, everything but 0 is True. The gradient flows between float dtypes."};
Tensor cast(const Tensor& x, DType dtype) { return run_op1(cast_op, {x}, {dtype}); }

namespace detail {
void link_functions() {}
}  // namespace detail

}  // namespace tapedeck
