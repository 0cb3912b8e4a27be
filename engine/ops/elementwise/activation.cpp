// Activations of neural networks other than relu, sigmoid, tanh and softplus.
#include <numbers>

#include "engine/ops/elementwise/binary_row.h"
#include "engine/ops/elementwise/unary_row.h"

namespace tapedeck::ops {

using kernels::Binary;
using kernels::Unary;

TAPEDECK_OP(log_sigmoid_op, VjpReads::inputs) = unary_op<Unary::log_sigmoid, Kind::floating>(
    {"log_sigmoid",
     {"log_sigmoid", "math.log_sigmoid", "nn.log_sigmoid"},
     "The logarithm of the sigmoid, computed as −softplus(−x) so that it neither overflows nor loses digits.",
     "dx = dz·sigmoid(−x)"},
    [](const VjpContext& c) { return one(c.cotangents[0] * sigmoid(-c.inputs[0])); });
TAPEDECK_FACTS(log_sigmoid_op) = {.flat = facts::saturated};

TAPEDECK_OP(relu6_op, VjpReads::inputs) = unary_op<Unary::relu6, Kind::numeric>(
    {"relu6",
     {"nn.relu6"},
     "The rectifier with a ceiling: min(max(x, 0), 6); NaN stays NaN.",
     "dx = dz where 0 < x < 6, else 0",
     "features"},
    [](const VjpContext& c) {
      const Tensor& x = c.inputs[0];
      const Tensor zero = number(0.0, x.dtype());
      const Tensor between = logical_and(greater(x, zero), less(x, number(6.0, x.dtype())));
      return one(where(between, c.cotangents[0], zero));
    });
TAPEDECK_FACTS(relu6_op) = {.flat = "its input is not between 0 and 6 there, and relu6 is flat outside",
                            .activation = Activation::relu6};

TAPEDECK_OP(elu_op) = unary_op<Unary::elu, Kind::floating>(
    {"elu",
     {"nn.elu"},
     "The exponential linear unit: x, but eˣ − 1 where x < 0. (Clevert, Unterthiner, Hochreiter 2015)",
     "dx = dz, but dz·(z + 1) where x < 0",
     "features"},
    [](const VjpContext& c) {
      const Tensor& g = c.cotangents[0];
      const Tensor below = less(c.inputs[0], number(0.0, g.dtype()));
      return one(where(below, g * (c.outputs[0] + 1.0), g));
    });
TAPEDECK_FACTS(elu_op) = {.flat = facts::saturated, .activation = Activation::elu};

TAPEDECK_OP(selu_op) = unary_op<Unary::selu, Kind::floating>(
    {"selu",
     {"nn.selu"},
     "The scaled exponential linear unit: λ·x, but λ·α·(eˣ − 1) where x < 0, with λ = 1.0507009873554805 and "
     "α = 1.6732632423543772. (Klambauer, Unterthiner, Mayr, Hochreiter 2017)",
     "dx = dz·λ, but dz·(z + λ·α) where x < 0",
     "features"},
    [](const VjpContext& c) {
      constexpr double alpha = 1.67326324235437728481;
      constexpr double scale = 1.05070098735548049342;
      const Tensor& g = c.cotangents[0];
      const Tensor below = less(c.inputs[0], number(0.0, g.dtype()));
      return one(where(below, g * (c.outputs[0] + scale * alpha), g * scale));
    });
TAPEDECK_FACTS(selu_op) = {.flat = facts::saturated, .activation = Activation::selu};

TAPEDECK_OP(softsign_op, VjpReads::inputs) = unary_op<Unary::softsign, Kind::floating>(
    {"softsign", {"nn.softsign", "math.softsign"}, "x / (1 + |x|).", "dx = dz / (1 + |x|)²", "features"},
    [](const VjpContext& c) { return one(c.cotangents[0] / square(1.0 + abs(c.inputs[0]))); });
TAPEDECK_FACTS(softsign_op) = {.flat = facts::saturated};

// ---- activations with a parameter ----
namespace {

Tensors with_parameter(const OpContext& c, Binary kernel, AttributeName name) {
  const Tensor parameter = constant(real_of(c.attribute(name)), c.inputs[0].dtype());
  return one(run_binary(kernel, c.inputs[0], parameter, c.outputs[0]));
}

const char* const activation_doc =
    "\nReturns: dtype and shape of features, element by element.\nErrors: TypeMismatchError for another "
    "dtype.";

/// The density of the standard normal distribution.
Tensor normal_density(const Tensor& x) {
  return exp(-0.5 * square(x)) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
}

constexpr double gelu_cubic = 0.044715;
constexpr double gelu_slope = 2.0 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;

Tensors gelu_vjp(const VjpContext& c) {
  const Tensor& x = c.inputs[0];
  if (!c.get<bool>("approximate")) return one(gelu_grad(c.cotangents[0], x));
  const Tensor squares = square(x);
  const Tensor part = sigmoid(x * (gelu_slope * (1.0 + gelu_cubic * squares)));
  const Tensor inner = gelu_slope * (1.0 + 3.0 * gelu_cubic * squares);
  return one(c.cotangents[0] * (part + x * (sigmoid_grad(part, inner))));
}

}  // namespace

TAPEDECK_OP(leaky_relu_op) = {
    .name = "leaky_relu",
    .python_names = {"nn.leaky_relu"},
    .inputs = {{.name = "features"}},
    .attributes = {{.name = "alpha", .kind = AttributeKind::real, .fallback = 0.2}},
    .shape_rule = unary_shape<Kind::floating>,
    .forward = [](const OpContext& c) { return with_parameter(c, Binary::leaky_relu, "alpha"); },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          const Tensor& g = c.cotangents[0];
          const Tensor above = greater(c.inputs[0], number(0.0, g.dtype()));
          return one(where(above, g, g * real_of(c.attribute("alpha"))));
        },
    .vjp_formula = "dx = dz where x > 0, else alpha·dz",
    .doc = std::string("The rectifier with a slope below 0: x where x > 0, else alpha·x.\n\n"
                       "features: any floating dtype, any shape; alpha: the slope.") +
           activation_doc,
};

TAPEDECK_OP(swish_op) = {
    .name = "swish",
    .python_names = {"nn.swish", "nn.silu"},
    .inputs = {{.name = "features"}},
    .attributes = {{.name = "beta", .kind = AttributeKind::real, .fallback = 1.0}},
    .shape_rule = unary_shape<Kind::floating>,
    .forward = [](const OpContext& c) { return with_parameter(c, Binary::swish, "beta"); },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          const Tensor& x = c.inputs[0];
          const double beta = real_of(c.attribute("beta"));
          const Tensor part = sigmoid(beta * x);
          return one(c.cotangents[0] * (part + sigmoid_grad(part, beta * x)));
        },
    .vjp_formula = "dx = dz·(s + beta·x·s·(1 − s)) with s = sigmoid(beta·x)",
    .doc = std::string("x·sigmoid(beta·x), also called SiLU. (Ramachandran, Zoph, Le 2017)\n\n"
                       "features: any floating dtype, any shape; beta: the sigmoid's slope.") +
           activation_doc,
};

TAPEDECK_OP(gelu_op) = {
    .name = "gelu",
    .python_names = {"nn.gelu"},
    .inputs = {{.name = "features"}},
    .attributes = {{.name = "approximate", .kind = AttributeKind::boolean, .fallback = false}},
    .shape_rule = unary_shape<Kind::floating>,
    .forward =
        [](const OpContext& c) {
          return c.get<bool>("approximate") ? unary_forward<Unary::gelu_tanh>(c)
                                            : unary_forward<Unary::gelu>(c);
        },
    .vjp_reads = VjpReads::inputs,
    .vjp = gelu_vjp,
    .vjp_formula =
        "dx = dz·(Φ(x) + x·φ(x)) with φ = Φ'; approximate: Φ(x) is sigmoid(√(8/π)·(x + 0.044715·x³))",
    .doc = std::string(
               "The Gaussian error linear unit: x·Φ(x) with Φ the normal distribution. (Hendrycks, Gimpel "
               "2016)\n\n"
               "features: any floating dtype, any shape; approximate: take ½·(1 + tanh(√(2/π)·(x + "
               "0.044715·x³))) for Φ(x).") +
           activation_doc,
};

TAPEDECK_OP(gelu_grad_op, VjpReads::inputs) = binary_op<Binary::gelu_grad, Kind::floating>(
    {"gelu_grad",
     {},
     "The VJP of gelu without approximate: g·(Φ(x) + x·φ(x)) at features x, with Φ the normal "
     "distribution and φ its density.",
     "dg = dz·(Φ(features) + features·φ(features)), d(features) = dz·g·φ(features)·(2 − features²) with "
     "φ = Φ'",
     "g",
     "features"},
    [](const VjpContext& c) {
      const Tensor& x = c.inputs[1];
      return binary_gradients(
          c, [&] { return gelu_grad(c.cotangents[0], x); },
          [&] { return c.cotangents[0] * c.inputs[0] * (normal_density(x) * (2.0 - square(x))); });
    });

}  // namespace tapedeck::ops
