// The regularized incomplete gamma and beta functions.
#include "engine/ops/elementwise/binary_row.h"

namespace tapedeck::ops {

static Tensor beta_density(const Tensor& a, const Tensor& b, const Tensor& x);

static Tensor gamma_density(const Tensor& a, const Tensor& x);
namespace {

template <bool upper>
Tensors gamma_forward(const OpContext& c) {
  Tensor out = allocate_output(c);
  backend().incomplete_gamma(upper, out.dtype(), spread(c, 0).raw(), spread(c, 1).raw(),
                             out.writable_data<std::byte>(), out.count());
  return one(std::move(out));
}

/// ∂P/∂x is the gamma distribution's density f. The derivative of the point at constant P with respect to a
/// is random_gamma_grad = −(∂P/∂a)/f.
template <bool upper>
Tensors gamma_vjp(const VjpContext& c) {
  const Tensor& a = c.inputs[0];
  const Tensor& x = c.inputs[1];
  const DType dtype = x.dtype();
  const Tensor density = gamma_density(a, x);
  const Tensor cotangent = upper ? -c.cotangents[0] : c.cotangents[0];
  return binary_gradients(
      c,
      [&] {
        const Tensor is_inside = logical_and(greater(x, number(0.0, dtype)), is_finite(x));
        const Tensor inner = where(is_inside, x, number(1.0, dtype));
        const Tensor slope = -random_gamma_grad(a, inner) * gamma_density(a, inner);
        return cotangent * where(is_inside, slope, number(0.0, dtype));
      },
      [&] { return cotangent * density; });
}

using BetaKernel = void (*Backend::*)(DType, const void*, const void*, const void*, void*, std::int64_t);

template <BetaKernel kernel>
Tensors beta_forward(const OpContext& c) {
  Tensor out = allocate_output(c);
  (backend().*kernel)(out.dtype(), spread(c, 0).raw(), spread(c, 1).raw(), spread(c, 2).raw(),
                      out.writable_data<std::byte>(), out.count());
  return one(std::move(out));
}

TensorSpecs beta_shape(const OpContext& c) {
  require_same_dtype(c, 0, 1);
  require_same_dtype(c, 0, 2);
  require_kind(c, 0, Kind::floating);
  const Shape both = broadcast_shapes(c.inputs[0].shape(), c.inputs[1].shape(), c.op.name.c_str());
  return spec(c.inputs[0].dtype(), broadcast_shapes(both, c.inputs[2].shape(), c.op.name.c_str()));
}

/// The parts that differ between P and Q.
OpDef gamma_row(const std::string& name, const std::string& doc, const std::string& formula, Forward forward,
                Vjp vjp) {
  return {
      .name = name,
      .python_names = {name, "math." + name},
      .inputs = {{.name = "a"}, {.name = "x"}},
      .attributes = {},
      .shape_rule = binary_shape<Kind::floating>,
      .forward = forward,
      .vjp = vjp,
      .vjp_formula = formula,
      .doc =
          doc +
          "\n\na, x: any floating dtype, one for both, shapes that broadcast.\n"
          "Returns: their dtype, the broadcast shape; NaN where a is not above 0, x is below 0, or both are "
          "infinite. By the power series (DLMF 8.11.4), the continued fraction (8.9.2), a series for small x "
          "(8.7.1) and, for large a and x near a, Temme's uniform expansion (8.12.3). Gradient: in x the "
          "gamma distribution's density; in a by random_gamma_grad, which gives derivatives with respect to "
          "a up to the fourth.\n"
          "Errors: InvalidArgumentError for shapes that do not broadcast; TypeMismatchError for other or "
          "different dtypes.",
  };
}

}  // namespace

// ---- igamma and igammac ----
TAPEDECK_OP(igamma_op, VjpReads::inputs) =
    gamma_row("igamma", "The lower regularized incomplete gamma function: P(a, x) = ∫₀ˣ tᵃ⁻¹·e⁻ᵗ dt / Γ(a).",
              "dx = dz·f, da = −dz·f·random_gamma_grad(a, x), f = xᵃ⁻¹·e⁻ˣ / Γ(a)", gamma_forward<false>,
              gamma_vjp<false>);

TAPEDECK_OP(igammac_op, VjpReads::inputs) = gamma_row(
    "igammac", "The upper regularized incomplete gamma function: Q(a, x) = 1 − P(a, x), see igamma.",
    "dx = −dz·f, da = dz·f·random_gamma_grad(a, x), f = xᵃ⁻¹·e⁻ˣ / Γ(a)", gamma_forward<true>,
    gamma_vjp<true>);

// ---- betainc ----
TAPEDECK_OP(betainc_op) = {
    .name = "betainc",
    .python_names = {"betainc", "math.betainc"},
    .inputs = {{.name = "a"}, {.name = "b"}, {.name = "x"}},
    .attributes = {},
    .shape_rule = beta_shape,
    .forward = beta_forward<&Backend::incomplete_beta>,
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(3);
          if (!c.wanted[2]) return gradients;
          const Tensor a = stop_gradient(c.inputs[0]), b = stop_gradient(c.inputs[1]);
          const Tensor& x = c.inputs[2];
          gradients[2] = unbroadcast(c.cotangents[0] * beta_density(a, b, x), x.shape());
          return gradients;
        },
    .vjp_formula = "none for a and b, dx = dz·xᵃ⁻¹·(1 − x)ᵇ⁻¹ / B(a, b)",
    .doc =
        "The regularized incomplete beta function: I(x; a, b) = ∫₀ˣ tᵃ⁻¹·(1 − t)ᵇ⁻¹ dt / B(a, b).\n\n"
        "a, b, x: any floating dtype, one for all, shapes that broadcast.\n"
        "Returns: their dtype, the broadcast shape; NaN where a or b is not a finite number above 0 or x is "
        "not in [0, 1]. By the continued fraction (DLMF 8.17.22), the power series of the integral and, "
        "where a and b are above 1e4, by quadrature of the density. Gradient: with respect to x alone, as in "
        "TensorFlow.\n"
        "Errors: InvalidArgumentError for shapes that do not broadcast; TypeMismatchError for other or "
        "different dtypes.",
};

// ---- the densities ----
TAPEDECK_OP(gamma_density_op) = {
    .name = "gamma_density",
    .python_names = {},  // of the gradients of igamma and igammac
    .inputs = {{.name = "a"}, {.name = "x"}},
    .attributes = {},
    .shape_rule = binary_shape<Kind::floating>,
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          backend().gamma_density(out.dtype(), spread(c, 0).raw(), spread(c, 1).raw(),
                                  out.writable_data<std::byte>(), out.count());
          return one(std::move(out));
        },
    .vjp =
        [](const VjpContext& c) {
          const Tensor& a = c.inputs[0];
          const Tensor& x = c.inputs[1];
          const Tensor& f = c.outputs[0];
          const Tensor unit = number(1.0, a.dtype());
          return binary_gradients(
              c,
              [&] {
                return c.cotangents[0] *
                       where(equal(f, number(0.0, f.dtype())), f, f * (log(x) - digamma(a)));
              },
              [&] {
                // f' = f(a − 1) − f(a), the second of which is 0 at 0 for a > 1
                const Tensor is_start = logical_and(equal(x, number(0.0, x.dtype())), greater(a, unit));
                const Tensor at_zero = gamma_density(where(is_start, a - 1.0, unit), x);
                return c.cotangents[0] * where(is_start, at_zero, f * (xdivy(a - 1.0, x) - 1.0));
              });
        },
    .vjp_formula = "da = dz·z·(ln x − ψ(a)), dx = dz·z·((a − 1)/x − 1)",
    .doc =
        "The gamma distribution's density of rate 1: f = xᵃ⁻¹·e⁻ˣ / Γ(a), with all its digits where a is "
        "large.\n\n"
        "a, x: any floating dtype, one for both, shapes that broadcast.\n"
        "Returns: their dtype, the broadcast shape; NaN where a is not above 0, x is below 0, or both are "
        "infinite; at x = 0 the limit. For large a by Stirling's series (DLMF 5.11.1).\n"
        "Errors: InvalidArgumentError for shapes that do not broadcast; TypeMismatchError for other or "
        "different dtypes.",
};
Tensor gamma_density(const Tensor& a, const Tensor& x) {
  return run_op1(gamma_density_op, {a, x});
}

TAPEDECK_OP(beta_density_op) = {
    .name = "beta_density",
    .python_names = {},  // of the gradient of betainc
    .inputs = {{.name = "a"}, {.name = "b"}, {.name = "x"}},
    .attributes = {},
    .shape_rule = beta_shape,
    .forward = beta_forward<&Backend::beta_density>,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(3);
          if (!c.wanted[2]) return gradients;
          const Tensor a = stop_gradient(c.inputs[0]), b = stop_gradient(c.inputs[1]);
          const Tensor& x = c.inputs[2];
          const Tensor& f = c.outputs[0];
          const Tensor unit = number(1.0, x.dtype()), rest = 1.0 - x;
          // f' = (a + b − 1)·(f(a − 1, b) − f(a, b − 1)), of which one is 0 at an end where the other may not
          // be
          const Tensor at_zero = logical_and(equal(x, number(0.0, x.dtype())), greater(a, unit));
          const Tensor at_one = logical_and(equal(x, unit), greater(b, unit));
          const Tensor from_zero = beta_density(where(at_zero, a - 1.0, unit), b, x) * (a + b - 1.0);
          const Tensor from_one = beta_density(a, where(at_one, b - 1.0, unit), x) * (1.0 - a - b);
          const Tensor inside = f * (xdivy(a - 1.0, x) - xdivy(b - 1.0, rest));
          const Tensor slope = where(at_zero, from_zero, where(at_one, from_one, inside));
          gradients[2] = unbroadcast(c.cotangents[0] * slope, x.shape());
          return gradients;
        },
    .vjp_formula = "none for a and b, dx = dz·z·((a − 1)/x − (b − 1)/(1 − x))",
    .doc =
        "The beta distribution's density: f = xᵃ⁻¹·(1 − x)ᵇ⁻¹ / B(a, b), with all its digits where a or b is "
        "large.\n\n"
        "a, b, x: any floating dtype, one for all, shapes that broadcast.\n"
        "Returns: their dtype, the broadcast shape; NaN where a or b is not a finite number above 0 or x is "
        "not in [0, 1]; at x = 0 and x = 1 the limits. For large a or b by Stirling's series (DLMF 5.11.1). "
        "Gradient: with respect to x alone.\n"
        "Errors: InvalidArgumentError for shapes that do not broadcast; TypeMismatchError for other or "
        "different dtypes.",
};
Tensor beta_density(const Tensor& a, const Tensor& b, const Tensor& x) {
  return run_op1(beta_density_op, {a, b, x});
}

}  // namespace tapedeck::ops
