// The error and gamma functions and their relatives, and products with logarithms.
#include <numbers>

#include "engine/ops/elementwise/binary_row.h"
#include "engine/ops/elementwise/unary_row.h"

namespace tapedeck::ops {

using kernels::Binary;
using kernels::Unary;

TAPEDECK_OP(erfc_op, VjpReads::inputs) = unary_op<Unary::erfc, Kind::floating>(
    {"erfc",
     {"erfc", "math.erfc"},
     "The complementary error function: 1 − erf(x), without its loss of digits for large x.",
     "dx = −dz·2/√π·e^(−x²)"},
    [](const VjpContext& c) {
      return one(c.cotangents[0] * (-2.0 * std::numbers::inv_sqrtpi * exp(-square(c.inputs[0]))));
    });

TAPEDECK_OP(erfinv_op, VjpReads::outputs) = unary_op<Unary::erfinv, Kind::floating>(
    {"erfinv",
     {"math.erfinv"},
     "The inverse of erf: ±∞ at ±1, NaN beyond. By Wichura's Algorithm AS 241 (1988).",
     "dx = dz·√π/2·e^(z²)"},
    [](const VjpContext& c) {
      return one(c.cotangents[0] * (0.5 / std::numbers::inv_sqrtpi * exp(square(c.outputs[0]))));
    });
TAPEDECK_FACTS(erfinv_op) = {.outside = facts::beyond_one};

TAPEDECK_OP(erfcinv_op, VjpReads::outputs) = unary_op<Unary::erfcinv, Kind::floating>(
    {"erfcinv",
     {"math.erfcinv"},
     "The inverse of erfc: ∞ at 0, −∞ at 2, NaN outside. By Wichura's Algorithm AS 241 (1988).",
     "dx = −dz·√π/2·e^(z²)"},
    [](const VjpContext& c) {
      return one(c.cotangents[0] * (-0.5 / std::numbers::inv_sqrtpi * exp(square(c.outputs[0]))));
    });

TAPEDECK_OP(ndtri_op, VjpReads::outputs) = unary_op<Unary::ndtri, Kind::floating>(
    {"ndtri",
     {"math.ndtri"},
     "The quantile of the standard normal distribution: −∞ at 0, ∞ at 1, NaN outside. By Wichura's Algorithm "
     "AS 241 "
     "(1988).",
     "dx = dz·√(2π)·e^(z²/2)"},
    [](const VjpContext& c) {
      const double root = std::numbers::sqrt2 / std::numbers::inv_sqrtpi;
      return one(c.cotangents[0] * (root * exp(0.5 * square(c.outputs[0]))));
    });

TAPEDECK_OP(lgamma_op, VjpReads::inputs) = unary_op<Unary::lgamma, Kind::floating>(
    {"lgamma",
     {"lgamma", "math.lgamma"},
     "The logarithm of the gamma function's absolute value: ln |Γ(x)|; ∞ at 0, −1, −2 …",
     "dx = dz·digamma(x)"},
    [](const VjpContext& c) { return one(c.cotangents[0] * digamma(c.inputs[0])); });

TAPEDECK_OP(digamma_op, VjpReads::inputs) = unary_op<Unary::digamma, Kind::floating>(
    {"digamma",
     {"digamma", "math.digamma"},
     "The derivative of lgamma: ψ(x) = Γ'(x) / Γ(x); ∓∞ at ±0, NaN at −1, −2 … (Abramowitz and Stegun, 6.3)",
     "dx = dz·polygamma(1, x)"},
    [](const VjpContext& c) {
      return one(c.cotangents[0] * polygamma(number(1.0, c.inputs[0].dtype()), c.inputs[0]));
    });

// The orders a (and x of zeta) are treated as constants, as in TensorFlow.
TAPEDECK_OP(polygamma_op, VjpReads::inputs) = binary_op<Binary::polygamma, Kind::floating>(
    {"polygamma",
     {"polygamma", "math.polygamma"},
     "The a-th derivative of digamma: ψ⁽ᵃ⁾(x) = (−1)ᵃ⁺¹ a! ζ(a + 1, x); NaN if a is not an integer of at "
     "least 0. "
     "(Abramowitz and Stegun, 6.4.10)",
     "none for a, dx = dz·polygamma(a + 1, x)",
     "a",
     "x"},
    [](const VjpContext& c) {
      Tensors gradients(2);
      if (c.wanted[1])
        gradients[1] =
            unbroadcast(c.cotangents[0] * polygamma(c.inputs[0] + 1.0, c.inputs[1]), c.inputs[1].shape());
      return gradients;
    });

TAPEDECK_OP(zeta_op, VjpReads::inputs) = binary_op<Binary::zeta, Kind::floating>(
    {"zeta",
     {"zeta", "math.zeta"},
     "Hurwitz' zeta function: ζ(x, q) = Σ 1 / (q + k)ˣ over k = 0, 1, 2 …; ∞ at x = 1, NaN below it.",
     "none for x, dq = −dz·x·ζ(x + 1, q)",
     "x",
     "q"},
    [](const VjpContext& c) {
      Tensors gradients(2);
      if (!c.wanted[1]) return gradients;
      const Tensor x = stop_gradient(c.inputs[0]);
      gradients[1] = unbroadcast(c.cotangents[0] * (-x * zeta(x + 1.0, c.inputs[1])), c.inputs[1].shape());
      return gradients;
    });

// Dtypes without kernels would be widened, and the step would be lost.
TAPEDECK_OP(nextafter_op, VjpReads::shapes) = [] {
  OpDef op = binary_op<Binary::nextafter, Kind::floating>(
      {"nextafter",
       {"math.nextafter"},
       "The next number of the dtype after x1 towards x2; x2 if both are equal.",
       "dx1 = dz, dx2 = 0",
       "x1",
       "x2"},
      [](const VjpContext& c) {
        return binary_gradients(
            c, [&] { return c.cotangents[0]; }, [&] { return zeros_like(c.cotangents[0]); });
      });
  op.shape_rule = [](const OpContext& c) {
    if (is_narrow(c.inputs[0].dtype()))
      fail<TypeMismatchError>("nextafter: x1 is ", dtype_name(c.inputs[0].dtype()),
                              "; needs float32 or float64");
    return binary_shape<Kind::floating>(c);
  };
  return op;
}();

namespace {

/// 1 where x is not 0, else 0: what the derivative with respect to x is multiplied by.
Tensor not_zero(const Tensor& x) {
  return cast(not_equal(x, number(0.0, x.dtype())), x.dtype());
}

}  // namespace

TAPEDECK_OP(xdivy_op) =
    binary_op<Binary::xdivy, Kind::inexact>({"xdivy",
                                             {"math.xdivy"},
                                             "The quotient x / y, but 0 where x is 0 whatever y is.",
                                             "dx = dz / y, dy = −dz·z / y; both 0 where x = 0"},
                                            [](const VjpContext& c) {
                                              const Tensor& x = c.inputs[0];
                                              const Tensor& y = c.inputs[1];
                                              return binary_gradients(
                                                  c, [&] { return c.cotangents[0] * xdivy(not_zero(x), y); },
                                                  [&] { return -c.cotangents[0] * xdivy(c.outputs[0], y); });
                                            });
TAPEDECK_FACTS(xdivy_op) = {.outside = facts::quotient};

TAPEDECK_OP(xlogy_op, VjpReads::inputs) =
    binary_op<Binary::xlogy, Kind::inexact>({"xlogy",
                                             {"math.xlogy"},
                                             "The product x·ln y, but 0 where x is 0 whatever y is.",
                                             "dx = dz·ln y, dy = dz·x / y; both 0 where x = 0"},
                                            [](const VjpContext& c) {
                                              const Tensor& x = c.inputs[0];
                                              const Tensor& y = c.inputs[1];
                                              return binary_gradients(
                                                  c, [&] { return c.cotangents[0] * xlogy(not_zero(x), y); },
                                                  [&] { return c.cotangents[0] * xdivy(x, y); });
                                            });

TAPEDECK_OP(xlog1py_op, VjpReads::inputs) = binary_op<Binary::xlog1py, Kind::inexact>(
    {"xlog1py",
     {"math.xlog1py"},
     "The product x·ln(1 + y), but 0 where x is 0 whatever y is.",
     "dx = dz·ln(1 + y), dy = dz·x / (1 + y); both 0 where x = 0"},
    [](const VjpContext& c) {
      const Tensor& x = c.inputs[0];
      const Tensor& y = c.inputs[1];
      return binary_gradients(
          c, [&] { return c.cotangents[0] * xlog1py(not_zero(x), y); },
          [&] { return c.cotangents[0] * xdivy(x, 1.0 + y); });
    });

}  // namespace tapedeck::ops
