// Softmax and losses.
#include "engine/cpu/reduce.h"
#include "engine/cpu/softmax.h"
#include "engine/ops/elementwise_rules.h"

namespace tapedeck {

using namespace rules;

// ---- softmax, log_softmax
namespace {
TensorSpecs softmax_rule(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  require(c, 0, is_floating(x.dtype()), "float32 or float64");
  if (x.rank() == 0)
    fail<InvalidArgumentError>(c.op.name, ": logits is a scalar; it takes at least one axis");
  axis(c, c.attributes.get<std::int64_t>(0), x.rank());
  return one(x.dtype(), x.shape());
}
/// The kernels work on rows: another axis goes to the back, and the result's comes back as a view.
template <void (*kernel)(DType, const void*, std::int64_t, std::int64_t, void*)>
Tensors rowwise(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  const int along = axis(c, c.attributes.get<std::int64_t>(0), x.rank()), last = x.rank() - 1;
  const auto swapped = [&](const Tensor& t) {
    Shape shape = t.shape();
    Strides strides = t.strides();
    std::swap(shape[along], shape[last]);
    std::swap(strides[along], strides[last]);
    return Tensor::view(t.storage(), t.dtype(), shape, strides, t.offset());
  };
  const Tensor rows = (along == last ? x : swapped(x)).make_contiguous();
  Tensor out = Tensor::allocate(x.dtype(), rows.shape());
  const std::int64_t count = x.dim(along);
  if (out.count() > 0) kernel(x.dtype(), rows.raw(), out.count() / count, count, output(out));
  return one_tensor(along == last ? out : swapped(out));
}
Axes along(const VjpContext& c) {
  return {c.attributes.get<std::int64_t>(0)};
}
}  // namespace

TAPEDECK_OP(softmax_op) = {.name = "softmax",
                           .python_names = {"nn.softmax", "math.softmax"},
                           .inputs = {{.name = "logits"}},
                           .attributes = {{"axis", AttributeKind::integer, std::int64_t{-1}}},
                           .shape_rule = softmax_rule,
                           .forward = rowwise<cpu::softmax>,
                           .vjp =
                               [](const VjpContext& c) {
                                 const Tensor &y = c.outputs[0], &dy = c.cotangents[0];
                                 return one_tensor(y * (dy - reduce_sum(dy * y, along(c), true)));
                               },
                           .vjp_formula = "dx = y·(dy − Σ dy·y)",
                           .doc =
                               "exp(x) / Σ exp(x) along an axis, without overflow.\n\nlogits: float32 or "
                               "float64, at least one axis."};
Tensor softmax(const Tensor& logits, std::int64_t axis) {
  return run_op1(softmax_op, {logits}, {axis});
}

TAPEDECK_OP(log_softmax_op) = {
    .name = "log_softmax",
    .python_names = {"nn.log_softmax", "math.log_softmax"},
    .inputs = {{.name = "logits"}},
    .attributes = {{"axis", AttributeKind::integer, std::int64_t{-1}}},
    .shape_rule = softmax_rule,
    .forward = rowwise<cpu::log_softmax>,
    .vjp =
        [](const VjpContext& c) {
          const Tensor& dy = c.cotangents[0];
          return one_tensor(dy - exp(c.outputs[0]) * reduce_sum(dy, along(c), true));
        },
    .vjp_formula = "dx = dy − eʸ·Σ dy",
    .doc =
        "x − log Σ exp(x) along an axis, without overflow.\n\nlogits: float32 or float64, at least one "
        "axis."};
Tensor log_softmax(const Tensor& logits, std::int64_t axis) {
  return run_op1(log_softmax_op, {logits}, {axis});
}

// ---- softmax_cross_entropy_with_logits
namespace {
TensorSpecs cross_entropy_rule(const OpContext& c) {
  const Tensor &labels = c.inputs[0], &logits = c.inputs[1];
  same_dtype(c);
  require(c, 1, is_floating(logits.dtype()), "float32 or float64");
  if (labels.shape() != logits.shape() || logits.rank() == 0)
    fail<InvalidArgumentError>(c.op.name, ": ", describe(c, 0), " and ", describe(c, 1),
                               "; they take one shape with at least one axis");
  const int along = axis(c, c.attributes.get<std::int64_t>(0), logits.rank());
  Shape shape;
  for (int i = 0; i < logits.rank(); ++i)
    if (i != along) shape.push_back(logits.dim(i));
  return one(logits.dtype(), shape);
}
Tensors cross_entropy_forward(const OpContext& c) {
  const Tensor logits[] = {c.inputs[1]};
  const Tensors log_probabilities = rowwise<cpu::log_softmax>({c.op, logits, c.attributes, c.outputs});
  const Tensor pair[] = {c.inputs[0], log_probabilities[0]};
  const TensorSpec full{c.inputs[1].dtype(), c.inputs[1].shape()};
  const Tensors products = binary_forward<cpu::Binary::multiply>({c.op, pair, c.attributes, {&full, 1}});
  const OpDef& sum = *Registry::instance().find("reduce_sum");
  const Attributes over{Axes{c.attributes.get<std::int64_t>(0)}, false};
  const Tensors sums = sum.forward({sum, products, over, c.outputs});
  return unary_forward<cpu::Unary::negative>({c.op, sums, c.attributes, c.outputs});
}
Tensors cross_entropy_vjp(const VjpContext& c) {
  const Tensor &labels = c.inputs[0], &logits = c.inputs[1];
  const std::int64_t axis = c.attributes.get<std::int64_t>(0);
  const Tensor dy = expand_dims(c.cotangents[0], axis);
  Tensors gradients(2);
  if (c.wanted[0]) gradients[0] = negative(dy * log_softmax(logits, axis));
  if (c.wanted[1])
    gradients[1] = dy * (softmax(logits, axis) * reduce_sum(labels, Axes{axis}, true) - labels);
  return gradients;
}
}  // namespace
TAPEDECK_OP(softmax_cross_entropy_with_logits_op) = {
    .name = "softmax_cross_entropy_with_logits",
    .python_names = {"nn.softmax_cross_entropy_with_logits", "nn.softmax_cross_entropy_with_logits_v2"},
    .inputs = {{.name = "labels"}, {.name = "logits"}},
    .attributes = {{"axis", AttributeKind::integer, std::int64_t{-1}}},
    .shape_rule = cross_entropy_rule,
    .forward = cross_entropy_forward,
    .vjp = cross_entropy_vjp,
    .vjp_formula = "dlogits = dy·(softmax(logits)·Σ labels − labels), dlabels = −dy·log_softmax(logits)",
    .doc =
        "−Σ labels·log_softmax(logits) along an axis.\n\nlabels, logits: float32 or float64 of one shape; "
        "labels are probabilities along the "
        "axis."};
Tensor softmax_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits, std::int64_t axis) {
  return run_op1(softmax_cross_entropy_with_logits_op, {labels, logits}, {axis});
}

// ---- l2_loss
TAPEDECK_OP(l2_loss_op) = {
    .name = "l2_loss",
    .python_names = {"nn.l2_loss"},
    .inputs = {{.name = "t"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require(c, 0, is_floating(c.inputs[0].dtype()), "float32 or float64");
          return one(c.inputs[0].dtype(), Shape{});
        },
    .forward =
        [](const OpContext& c) {
          const Tensor x = c.inputs[0].make_contiguous();
          const Tensor sum = Tensor::allocate(x.dtype(), {}), half = like(x, .5);
          cpu::dot(x.dtype(), x.raw(), x.raw(), x.count(), output(sum));
          const Tensor pair[] = {sum, half};
          return binary_forward<cpu::Binary::multiply>({c.op, pair, c.attributes, c.outputs});
        },
    .vjp = [](const VjpContext& c) { return one_tensor(c.cotangents[0] * c.inputs[0]); },
    .vjp_formula = "dt = dy·t",
    .doc = "Σ t² / 2.\n\nt: float32 or float64, any shape."};
Tensor l2_loss(const Tensor& x) {
  return run_op1(l2_loss_op, {x});
}

namespace detail {
void link_neural() {}
}  // namespace detail

}  // namespace tapedeck
