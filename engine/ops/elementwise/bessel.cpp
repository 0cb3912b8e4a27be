// Bessel functions of the orders 0 and 1. Derivatives: DLMF 10.6.2, 10.6.3 and 10.29.2, 10.29.3.
#include "engine/ops/elementwise/unary_row.h"

namespace tapedeck::ops {

using kernels::Unary;

namespace {

/// y / x for a function that is x/2 near 0.
Tensor over_argument(const Tensor& y, const Tensor& x) {
  const Tensor zero = number(0.0, x.dtype());
  return where(equal(x, zero), number(0.5, x.dtype()), divide_no_nan(y, x));
}

template <Unary kernel>
OpDef bessel_op(const std::string& name, bool in_math, const std::string& doc, const std::string& formula,
                Vjp vjp) {
  std::vector<std::string> names = {"math.special." + name};
  if (in_math) names.insert(names.begin(), "math." + name);
  return unary_op<kernel, Kind::floating>({name, names, doc, formula}, vjp);
}

}  // namespace

TAPEDECK_OP(bessel_i0_op, VjpReads::inputs) = bessel_op<Unary::bessel_i0>(
    "bessel_i0", true, "The modified Bessel function of the first kind of order 0: I₀(x).",
    "dx = dz·bessel_i1(x)",
    [](const VjpContext& c) { return one(c.cotangents[0] * bessel_i1(c.inputs[0])); });

TAPEDECK_OP(bessel_i0e_op) = bessel_op<Unary::bessel_i0e>(
    "bessel_i0e", true, "The modified Bessel function of the first kind of order 0, scaled: e^(−|x|)·I₀(x).",
    "dx = dz·(bessel_i1e(x) − sign(x)·z)", [](const VjpContext& c) {
      const Tensor& x = c.inputs[0];
      return one(c.cotangents[0] * (bessel_i1e(x) - sign(x) * c.outputs[0]));
    });

TAPEDECK_OP(bessel_i1_op) = bessel_op<Unary::bessel_i1>(
    "bessel_i1", true, "The modified Bessel function of the first kind of order 1: I₁(x).",
    "dx = dz·(bessel_i0(x) − z / x), dz / 2 at 0", [](const VjpContext& c) {
      const Tensor& x = c.inputs[0];
      return one(c.cotangents[0] * (bessel_i0(x) - over_argument(c.outputs[0], x)));
    });

TAPEDECK_OP(bessel_i1e_op) = bessel_op<Unary::bessel_i1e>(
    "bessel_i1e", true, "The modified Bessel function of the first kind of order 1, scaled: e^(−|x|)·I₁(x).",
    "dx = dz·(bessel_i0e(x) − sign(x)·z − z / x), dz / 2 at 0", [](const VjpContext& c) {
      const Tensor& x = c.inputs[0];
      const Tensor& y = c.outputs[0];
      return one(c.cotangents[0] * (bessel_i0e(x) - sign(x) * y - over_argument(y, x)));
    });

TAPEDECK_OP(bessel_j0_op, VjpReads::inputs) = bessel_op<Unary::bessel_j0>(
    "bessel_j0", false, "The Bessel function of the first kind of order 0: J₀(x).", "dx = −dz·bessel_j1(x)",
    [](const VjpContext& c) { return one(-c.cotangents[0] * bessel_j1(c.inputs[0])); });

TAPEDECK_OP(bessel_j1_op) = bessel_op<Unary::bessel_j1>(
    "bessel_j1", false, "The Bessel function of the first kind of order 1: J₁(x).",
    "dx = dz·(bessel_j0(x) − z / x), dz / 2 at 0", [](const VjpContext& c) {
      const Tensor& x = c.inputs[0];
      return one(c.cotangents[0] * (bessel_j0(x) - over_argument(c.outputs[0], x)));
    });

TAPEDECK_OP(bessel_y0_op, VjpReads::inputs) = bessel_op<Unary::bessel_y0>(
    "bessel_y0", false, "The Bessel function of the second kind of order 0: Y₀(x); −∞ at 0, NaN below it.",
    "dx = −dz·bessel_y1(x)",
    [](const VjpContext& c) { return one(-c.cotangents[0] * bessel_y1(c.inputs[0])); });

TAPEDECK_OP(bessel_y1_op) = bessel_op<Unary::bessel_y1>(
    "bessel_y1", false, "The Bessel function of the second kind of order 1: Y₁(x); −∞ at 0, NaN below it.",
    "dx = dz·(bessel_y0(x) − z / x)", [](const VjpContext& c) {
      const Tensor& x = c.inputs[0];
      return one(c.cotangents[0] * (bessel_y0(x) - c.outputs[0] / x));
    });

TAPEDECK_OP(bessel_k0_op, VjpReads::inputs) = bessel_op<Unary::bessel_k0>(
    "bessel_k0", false,
    "The modified Bessel function of the second kind of order 0: K₀(x); ∞ at 0, NaN below it.",
    "dx = −dz·bessel_k1(x)",
    [](const VjpContext& c) { return one(-c.cotangents[0] * bessel_k1(c.inputs[0])); });

TAPEDECK_OP(bessel_k0e_op) = bessel_op<Unary::bessel_k0e>(
    "bessel_k0e", false,
    "The modified Bessel function of the second kind of order 0, scaled: eˣ·K₀(x); ∞ at 0, NaN below it.",
    "dx = dz·(z − bessel_k1e(x))",
    [](const VjpContext& c) { return one(c.cotangents[0] * (c.outputs[0] - bessel_k1e(c.inputs[0]))); });

TAPEDECK_OP(bessel_k1_op) = bessel_op<Unary::bessel_k1>(
    "bessel_k1", false,
    "The modified Bessel function of the second kind of order 1: K₁(x); ∞ at 0, NaN below it.",
    "dx = −dz·(bessel_k0(x) + z / x)", [](const VjpContext& c) {
      const Tensor& x = c.inputs[0];
      return one(-c.cotangents[0] * (bessel_k0(x) + c.outputs[0] / x));
    });

TAPEDECK_OP(bessel_k1e_op) = bessel_op<Unary::bessel_k1e>(
    "bessel_k1e", false,
    "The modified Bessel function of the second kind of order 1, scaled: eˣ·K₁(x); ∞ at 0, NaN below it.",
    "dx = dz·(z − bessel_k0e(x) − z / x)", [](const VjpContext& c) {
      const Tensor& x = c.inputs[0];
      const Tensor& y = c.outputs[0];
      return one(c.cotangents[0] * (y - bessel_k0e(x) - y / x));
    });

}  // namespace tapedeck::ops
