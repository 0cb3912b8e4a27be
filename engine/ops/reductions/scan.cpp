// Running sums and products along an axis.
#include <complex>
#include <limits>

#include "engine/ops/core/rows.h"
#include "engine/ops/elementwise/complex.h"

namespace tapedeck::ops {

static Tensor cumulative_logsumexp(const Tensor& x, std::int64_t axis = 0, bool exclusive = false,
                                   bool reverse = false);
extern const OpDef& cumprod_op;

namespace {

int scan_axis(const OpContext& c) {
  return normalize_axis(c.op.name, "axis", integer_of(c, "axis"), c.inputs[0].shape());
}

TensorSpecs scan_shape(const OpContext& c) {
  require_kind(c, 0, Kind::numeric);
  scan_axis(c);
  return like_first(c);
}

using ScanKernel = void (*Backend::*)(kernels::Scan, DType, const void*, std::int64_t, std::int64_t,
                                      std::int64_t, void*);

/// A running product of complex numbers, which cannot be computed by parts.
template <class T>
void complex_products(const kernels::Scan& kind, const Tensor& x, std::int64_t count, std::int64_t inner,
                      const Tensor& out) {
  const auto* values = x.data<std::complex<T>>();
  auto* results = out.writable_data<std::complex<T>>();
  for (std::int64_t line = 0; count > 0 && line < x.count() / count; ++line) {
    const std::int64_t first = line / inner * inner * count + line % inner;
    std::complex<double> product(1);
    for (std::int64_t step = 0; step < count; ++step) {
      const std::int64_t at = first + (kind.reverse ? count - 1 - step : step) * inner;
      if (kind.exclusive) results[at] = std::complex<T>(product);
      product *= std::complex<double>(values[at]);
      if (!kind.exclusive) results[at] = std::complex<T>(product);
    }
  }
}

template <bool product, ScanKernel kernel = &Backend::scan>
Tensors scan_forward(const OpContext& c) {
  const Tensor x = contiguous(c.inputs[0]);
  const int axis = scan_axis(c);
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (int i = 0; i < axis; ++i) outer *= x.dim(i);
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
  Tensor out = allocate_output(c);
  const kernels::Scan kind{product, c.get<bool>("exclusive"), c.get<bool>("reverse")};
  if (is_complex(x.dtype()) && product) [[unlikely]] {
    if (x.dtype() == DType::complex64)
      complex_products<float>(kind, x, x.dim(axis), inner, out);
    else
      complex_products<double>(kind, x, x.dim(axis), inner, out);
    return one(std::move(out));
  }
  if (is_complex(x.dtype())) inner *= 2;  // sums of both parts
  (backend().*kernel)(kind, real_dtype(x.dtype()), x.raw(), outer, x.dim(axis), inner,
                      out.writable_data<std::byte>());
  return one(std::move(out));
}

OpDef scan_row(const std::string& name, const std::string& what, const std::string& formula, Forward forward,
               Vjp vjp, const std::string& dtypes = "any numeric dtype") {
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
      .doc = what + "\n\nx: " + dtypes +
             ", at least one axis; axis: along which; exclusive: "
             "leave each "
             "element's own value out; reverse: run from the last element to the first.\nReturns: dtype and "
             "shape of x. "
             "float32 is carried in float64; integers wrap around.\nErrors: InvalidArgumentError for an "
             "axis out of "
             "range; TypeMismatchError for another dtype.",
      .takes_others = name != "cumulative_logsumexp",
      .uint64_mapping = name == "cumulative_logsumexp" ? Uint64Mapping::none : Uint64Mapping::bits,
  };
}

/// `rows` (outer × n) moved by `steps` columns to the left, zeros after them.
Tensor shifted(const Tensor& rows, std::int64_t steps) {
  const Tensor rest = slice(rows, {0, steps}, {rows.dim(0), rows.dim(1) - steps});
  return pad(rest, {0, 0, 0, steps});
}

/// sᵢ = gᵢ + factorᵢ·sᵢ₊₁ along rows, composed in log₂ n doublings, so that the result differentiates again.
/// The last factor must be finite: it meets a 0.
Tensor scanned_back(Tensor factor, const Tensor& g) {
  Tensor sum = g;
  for (std::int64_t step = 1; step < g.dim(1); step *= 2) {
    sum = sum + factor * shifted(sum, step);
    if (2 * step < g.dim(1)) factor = factor * shifted(factor, step);
  }
  return sum;
}

/// Gradient of the inclusive forward product of rows (outer × n): dxᵢ = (Πⱼ<ᵢ xⱼ)·sᵢ with sᵢ = gᵢ +
/// xᵢ₊₁·sᵢ₊₁; zeros need no division.
Tensor product_gradient(const Tensor& x, const Tensor& g) {
  return run_op1(cumprod_op, {x}, {std::int64_t{1}, true, false}) * scanned_back(shifted(x, 1), g);
}

/// Calls `f` on tensors converted to rows (outer × n) that run forwards, and converts its result back.
template <class F>
Tensor along_rows(const VjpContext& c, F&& f) {
  const Tensor& x = c.inputs[0];
  std::vector<bool> flags(static_cast<std::size_t>(x.rank()), false);
  flags[static_cast<std::size_t>(scan_axis({c.op, c.inputs, c.attributes, {}}))] = true;
  const RowOrder order(x.shape(), flags);
  const bool backwards = c.get<bool>("reverse");
  const auto to_rows = [&](const Tensor& tensor) {
    const Tensor rows = reshape(transpose(tensor, order.permutation), {order.rows, order.count});
    return backwards ? reverse(rows, {1}) : rows;
  };
  Tensor result = f(to_rows);
  if (backwards) result = reverse(result, {1});
  Shape moved;
  for (const std::int64_t i : order.permutation) moved.push_back(x.dim(static_cast<int>(i)));
  return transpose(reshape(result, moved), order.inverse());
}

/// The gradient of the inclusive scan: an exclusive one is the inclusive one of the element before.
Tensor of_inclusive(const VjpContext& c, const Tensor& gradient_rows) {
  return c.get<bool>("exclusive") ? shifted(gradient_rows, 1) : gradient_rows;
}

Tensors cumprod_vjp(const VjpContext& c) {
  if (c.inputs[0].count() == 0) return one(zeros_like(c.inputs[0]));
  return one(along_rows(c, [&](const auto& to_rows) {
    return product_gradient(to_rows(c.inputs[0]), of_inclusive(c, to_rows(c.cotangents[0])));
  }));
}

/// e^(a − b), and 0 where b is −∞: nothing has been summed there.
Tensor share(const Tensor& a, const Tensor& b) {
  const Tensor none = number(-std::numeric_limits<double>::infinity(), b.dtype());
  return exp(where(equal(b, none), none, a - b));
}

/// dxᵢ = e^(xᵢ − yᵢ)·sᵢ with sᵢ = dyᵢ + e^(yᵢ − yᵢ₊₁)·sᵢ₊₁: no factor is above 1.
Tensors log_sum_vjp(const VjpContext& c) {
  if (c.inputs[0].count() == 0) return one(zeros_like(c.inputs[0]));
  return one(along_rows(c, [&](const auto& to_rows) {
    const Tensor x = to_rows(c.inputs[0]);
    const Tensor y = c.get<bool>("exclusive") ? cumulative_logsumexp(x, 1) : to_rows(c.outputs[0]);
    const std::int64_t rows = y.dim(0), last = y.dim(1) - 1;
    const Tensor next[] = {slice(y, {0, 1}, {rows, last}), slice(y, {0, last}, {rows, 1})};
    const Tensor factor = share(y, concat(next, 1));
    return share(x, y) * scanned_back(factor, of_inclusive(c, to_rows(c.cotangents[0])));
  }));
}

}  // namespace

TAPEDECK_OP(cumsum_op, VjpReads::shapes) = scan_row(
    "cumsum", "Running sums along an axis: zᵢ = x₀ + … + xᵢ.", "dx = cumsum(dz) in the other direction",
    scan_forward<false>, [](const VjpContext& c) {
      const std::int64_t axis = scan_axis({c.op, c.inputs, c.attributes, {}});
      return one(run_op1(c.op, {c.cotangents[0]}, {axis, c.get<bool>("exclusive"), !c.get<bool>("reverse")}));
    });

TAPEDECK_OP(cumprod_op, VjpReads::inputs) = scan_row("cumprod",
                                                     "Running products along an axis: zᵢ = x₀·…·xᵢ.",
                                                     "dxᵢ = Σₖ≥ᵢ dzₖ·Π xⱼ over j ≤ k but i",
                                                     scan_forward<true>, cumprod_vjp);

TAPEDECK_OP(cumulative_logsumexp_op) = [] {
  OpDef row = scan_row(
      "cumulative_logsumexp",
      "Running logarithms of sums of exponentials along an axis: zᵢ = ln(e^x₀ + … + e^xᵢ), without overflow; "
      "the sum of nothing gives −∞ (TensorFlow: the least finite number).",
      "dxᵢ = Σₖ≥ᵢ dzₖ·e^(xᵢ − zₖ)", scan_forward<false, &Backend::scan_log_sum_exp>, log_sum_vjp,
      "float16, bfloat16, float32 or float64");
  row.python_names = {"math.cumulative_logsumexp"};
  row.shape_rule = [](const OpContext& c) {
    require_kind(c, 0, Kind::floating);
    return scan_shape(c);
  };
  return row;
}();
Tensor cumulative_logsumexp(const Tensor& x, std::int64_t axis, bool exclusive, bool reverse) {
  return run_op1(cumulative_logsumexp_op, {x}, {axis, exclusive, reverse});
}

}  // namespace tapedeck::ops
