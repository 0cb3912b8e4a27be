// The gradient of gamma distributed numbers with respect to the distribution's shape parameter.
#include "engine/ops/elementwise/binary_row.h"

namespace tapedeck::ops {
namespace {

int order_of(const OpContext& c) {
  const std::int64_t order = integer_of(c, "order");
  if (order < 0 || order > kernels::most_gamma_slope_order)
    fail<InvalidArgumentError>("random_gamma_grad: order is ", order, "; must be in [0, ",
                               kernels::most_gamma_slope_order, "]");
  return static_cast<int>(order);
}

Tensors slope_forward(const OpContext& c) {
  Tensor out = allocate_output(c);
  backend().random_gamma_slope(order_of(c), out.dtype(), spread(c, 0).raw(), spread(c, 1).raw(),
                               out.writable_data<std::byte>(), out.count());
  return one(std::move(out));
}

/// With f the density, s = −(∂F/∂α)/f gives ∂s/∂x = ψ(α) − ln x − s·((α − 1)/x − 1); its derivatives with
/// respect to α follow by the product rule.
Tensors slope_vjp(const VjpContext& c) {
  const int order = order_of({c.op, c.inputs, c.attributes, {}});
  const Tensor& alpha = c.inputs[0];
  const Tensor& sample = c.inputs[1];
  Tensors gradients(2);
  if (c.wanted[0]) {
    if (order == kernels::most_gamma_slope_order)
      fail<UnimplementedError>("random_gamma_grad: no derivative of order ", order + 2,
                               " of gamma distributed numbers with respect to alpha");
    gradients[0] = unbroadcast(c.cotangents[0] * random_gamma_grad(alpha, sample, order + 1), alpha.shape());
  }
  if (c.wanted[1]) {
    Tensor slope =
        polygamma(number(order, alpha.dtype()), alpha) - c.outputs[0] * ((alpha - 1.0) / sample - 1.0);
    slope = order == 0
                ? slope - log(sample)
                : slope - random_gamma_grad(alpha, sample, order - 1) * static_cast<double>(order) / sample;
    gradients[1] = unbroadcast(c.cotangents[0] * slope, sample.shape());
  }
  return gradients;
}

}  // namespace

TAPEDECK_OP(random_gamma_grad_op) = {
    .name = "random_gamma_grad",
    .python_names = {},  // the gradient of tf.random.gamma
    .inputs = {{.name = "alpha"}, {.name = "sample"}},
    .attributes = {{.name = "order", .kind = AttributeKind::integer, .fallback = std::int64_t{0}}},
    .shape_rule =
        [](const OpContext& c) {
          order_of(c);
          return binary_shape<Kind::floating>(c);
        },
    .forward = slope_forward,
    .vjp = slope_vjp,
    .vjp_formula =
        "with x sample: d(alpha) = dz·random_gamma_grad(alpha, x, order + 1), "
        "dx = dz·(ψ(alpha) − ln x − z·((alpha − 1)/x − 1)), differentiated order times",
    .doc =
        "How a gamma distributed number moves with the distribution's shape parameter: the implicit "
        "derivative "
        "s = dx/dα = −(∂F(x; α)/∂α) / f(x; α) with F the distribution function and f the density (Figurnov, "
        "Mohamed, Mnih, \"Implicit reparameterization gradients\", NeurIPS 2018).\n\n"
        "alpha, sample: floating, one dtype for both, shapes that broadcast; order: how often s is "
        "differentiated with respect to alpha, up to 3.\n"
        "Returns: their dtype, the broadcast shape; NaN where alpha or sample is not a finite number above "
        "0.\n"
        "Errors: InvalidArgumentError for shapes that do not broadcast or another order; TypeMismatchError "
        "for "
        "other or different dtypes; in a gradient with respect to alpha of the last order "
        "UnimplementedError.",
    .gpu_kernel = false,
};
Tensor random_gamma_grad(const Tensor& alpha, const Tensor& sample, std::int64_t order) {
  return run_op1(random_gamma_grad_op, {alpha, sample}, {order});
}

}  // namespace tapedeck::ops
