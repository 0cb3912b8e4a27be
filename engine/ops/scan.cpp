// Running sums and products along an axis.
#include "engine/cpu/scan.h"

#include "engine/ops/families.h"
#include "engine/ops/rows.h"

namespace tapedeck::ops {
namespace {

int scan_axis(const OpContext& c) {
  return normalize_axis(c.op.name, "axis", integer_of(c, 0), c.inputs[0].shape());
}

TensorSpecs scan_shape(const OpContext& c) {
  require_kind(c, 0, Kind::numeric);
  scan_axis(c);
  return like_first(c);
}

template <bool product>
Tensors scan_forward(const OpContext& c) {
  const Tensor x = contiguous(c.inputs[0]);
  const int axis = scan_axis(c);
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (int i = 0; i < axis; ++i) outer *= x.dim(i);
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
  Tensor out = allocate_output(c);
  const cpu::Scan kind{product, c.attributes.get<bool>(1), c.attributes.get<bool>(2)};
  cpu::scan(kind, x.dtype(), x.raw(), outer, x.dim(axis), inner, out.writable_data<std::byte>());
  return one(std::move(out));
}

OpDef scan_row(const std::string& name, const std::string& what, const std::string& formula, Forward forward,
               Vjp vjp) {
  return {
      .name = name,
      .python_names = {name, "math." + name},
      .inputs = {{.name = "x"}},
      .attributes = {{.name = "axis", .kind = AttributeKind::integer, .fallback = std::int64_t{0}},
                     {.name = "exclusive", .kind = AttributeKind::boolean, .fallback = false},
                     {.name = "reverse", .kind = AttributeKind::boolean, .fallback = false}},
      .shape_rule = scan_shape,
      .forward = forward,
      .vjp = vjp,
      .vjp_formula = formula,
      .doc = what +
             "\n\nx: int32, int64, float32 or float64, at least one axis; axis: along which; exclusive: "
             "leave each "
             "element's own value out; reverse: run from the last element to the first.\nReturns: dtype and "
             "shape of x. "
             "float32 is carried in float64; whole numbers wrap around.\nErrors: InvalidArgumentError for an "
             "axis out of "
             "range; TypeMismatchError for bool.",
  };
}

/// `rows` (outer × n) moved by `steps` columns to the left, zeros after them.
Tensor shifted(const Tensor& rows, std::int64_t steps) {
  const Tensor rest = slice(rows, {0, steps}, {rows.dim(0), rows.dim(1) - steps});
  return pad(rest, {0, 0, 0, steps});
}

/// Gradient of the inclusive forward product of rows (outer × n): dxᵢ = (Πⱼ<ᵢ xⱼ)·sᵢ with sᵢ = gᵢ +
/// xᵢ₊₁·sᵢ₊₁. The recurrence is composed in log₂ n doublings, so that zeros need no division and the result
/// differentiates again.
Tensor product_gradient(const Tensor& x, const Tensor& g) {
  Tensor sum = g;
  Tensor factor = shifted(x, 1);
  for (std::int64_t step = 1; step < x.dim(1); step *= 2) {
    sum = sum + factor * shifted(sum, step);
    if (2 * step < x.dim(1)) factor = factor * shifted(factor, step);
  }
  return cumprod(x, 1, true) * sum;
}

Tensors cumprod_vjp(const VjpContext& c) {
  const Tensor& x = c.inputs[0];
  if (x.count() == 0) return one(zeros_like(x));
  const int axis = scan_axis({c.op, c.inputs, c.attributes, {}});
  std::vector<bool> flags(static_cast<std::size_t>(x.rank()), false);
  flags[static_cast<std::size_t>(axis)] = true;
  const RowOrder order(x.shape(), flags);
  const bool backwards = c.attributes.get<bool>(2);
  const auto to_rows = [&](const Tensor& tensor) {
    const Tensor rows = reshape(transpose(tensor, order.permutation), {order.rows, order.count});
    return backwards ? reverse(rows, {1}) : rows;
  };
  Tensor g = to_rows(c.cotangents[0]);
  if (c.attributes.get<bool>(1))
    g = shifted(g, 1);  // an exclusive product is the inclusive one of the element before
  Tensor gradient = product_gradient(to_rows(x), g);
  if (backwards) gradient = reverse(gradient, {1});
  Shape moved;
  for (const std::int64_t i : order.permutation) moved.push_back(x.dim(static_cast<int>(i)));
  return one(transpose(reshape(gradient, moved), order.inverse()));
}

}  // namespace

TAPEDECK_OP(cumsum_op) = scan_row("cumsum", "Running sums along an axis: yᵢ = x₀ + … + xᵢ.",
                                  "dx = cumsum(dy) in the other direction", scan_forward<false>,
                                  [](const VjpContext& c) {
                                    const std::int64_t axis = scan_axis({c.op, c.inputs, c.attributes, {}});
                                    return one(cumsum(c.cotangents[0], axis, c.attributes.get<bool>(1),
                                                      !c.attributes.get<bool>(2)));
                                  });
Tensor cumsum(const Tensor& x, std::int64_t axis, bool exclusive, bool reverse) {
  return run_op1(cumsum_op, {x}, {axis, exclusive, reverse});
}

TAPEDECK_OP(cumprod_op) = scan_row("cumprod", "Running products along an axis: yᵢ = x₀·…·xᵢ.",
                                   "dxᵢ = Σₖ≥ᵢ dyₖ·Π xⱼ over j ≤ k but i", scan_forward<true>, cumprod_vjp);
Tensor cumprod(const Tensor& x, std::int64_t axis, bool exclusive, bool reverse) {
  return run_op1(cumprod_op, {x}, {axis, exclusive, reverse});
}

void link_scan() {}

}  // namespace tapedeck::ops
