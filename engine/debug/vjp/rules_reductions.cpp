// Sums over axes, and products of matrices.
#include "engine/debug/vjp/foreign_rules.h"
#include "engine/ops/core/ops.h"

namespace tapedeck::debug {
namespace reductions {
namespace {

using Integers = std::vector<std::int64_t>;

/// `dim` as the registry's axes: without any it is over all.
ops::Axes axes_of(const ForeignArguments& call, int rank) {
  const Integers given = call.integers("dim");
  if (given.empty() || rank == 0) return std::nullopt;
  Integers axes;
  for (const std::int64_t axis : given) axes.push_back(ForeignArguments::axis_of(axis, rank));
  return axes;
}

Attribute axes_attribute(const ops::Axes& axes) {
  return axes ? Attribute(*axes) : Attribute(std::monostate());
}

Tensor reduced(const ForeignArguments& call, const char* row) {
  const Tensor self = call.operand("self");
  return call_row1(
      row, {self},
      {{"axis", axes_attribute(axes_of(call, self.rank()))}, {"keepdims", call.flag_or("keepdim", false)}});
}

ForeignResult sum(const ForeignArguments& call) {
  return {{reduced(call, "reduce_sum")}, "dx = dz, broadcast along the axes; with x self"};
}

ForeignResult mean(const ForeignArguments& call) {
  return {{reduced(call, "reduce_mean")}, "dx = dz / n, broadcast along the axes; with x self"};
}

template <bool largest>
ForeignResult extreme(const ForeignArguments& call) {
  if (call.takes_tensor("other")) {
    const Tensor self = call.operand("self"), other = call.operand("other");
    return {{largest ? ops::maximum(self, other) : ops::minimum(self, other)},
            largest ? "dx = dz where x ≥ y, dy = dz where x < y; with x self, y other"
                    : "dx = dz where x ≤ y, dy = dz where x > y; with x self, y other"};
  }
  return {{reduced(call, largest ? "reduce_max" : "reduce_min")},
          "dx = dz where x = z, divided by the number of such x, else 0; with x self"};
}

ForeignResult logsumexp(const ForeignArguments& call) {
  return {{reduced(call, "reduce_logsumexp")}, "dx = dz·e^(x − z); with x self"};
}

ForeignResult norm(const ForeignArguments& call) {
  const char* order = call.is_none("ord") ? "p" : "ord";
  if (call.number_or(order, 2) != 2)
    throw NoFormula{"the formula of reduce_euclidean_norm is that of ord = 2"};
  return {{reduced(call, "reduce_euclidean_norm")}, "dx = dz·x / z; with x self"};
}

ForeignResult product(const ForeignArguments& call) {
  return {{reduced(call, "reduce_prod")}};
}

ForeignResult variance(const ForeignArguments& call) {
  if (call.takes_tensor("unbiased")) throw NoFormula{"it has other arguments"};
  const Tensor self = call.operand("self");
  const double correction = call.number_or("correction", 1);
  const Tensor squares = call_row1(
      "reduce_variance", {self},
      {{"axis", axes_attribute(axes_of(call, self.rank()))}, {"keepdims", call.flag_or("keepdim", false)}});
  const double count =
      static_cast<double>(self.count()) / static_cast<double>(std::max<std::int64_t>(1, squares.count()));
  if (count <= correction) throw NoFormula{"it has too few elements"};
  return {{squares * (count / (count - correction))},
          "dx = dz·2(x − M(x)) / (n − correction), M: the mean along the axes; with x self"};
}

ForeignResult scanned(const ForeignArguments& call, const char* row, const char* formula) {
  const Tensor self = call.operand("self");
  return {{call_row1(row, {self}, {{"axis", ForeignArguments::axis_of(call.integer("dim"), self.rank())}})},
          formula};
}

ForeignResult cumsum(const ForeignArguments& call) {
  return scanned(call, "cumsum", "");
}
ForeignResult cumprod(const ForeignArguments& call) {
  return scanned(call, "cumprod", "");
}

ForeignResult matrix_product(const ForeignArguments& call) {
  return {{ops::matmul(call.operand("self"), call.operand("mat2"))}};
}

ForeignResult matrix_times_vector(const ForeignArguments& call) {
  const Tensor vector = ops::expand_dims(call.operand("vec"), 1);
  return {{ops::reshape(ops::matmul(call.operand("self"), vector), call.shape())},
          "dA = dz·xᵀ, dx = Aᵀ·dz; with A self, x vec"};
}

ForeignResult inner_product(const ForeignArguments& call) {
  const char* second = call.takes_tensor("tensor") ? "tensor" : "other";
  return {{ops::reduce_sum(call.operand("self") * call.operand(second))},
          std::string("dx = dz·y, dy = dz·x; with x self, y ") + second};
}

/// beta·self + alpha·A·B.
ForeignResult added_product(const ForeignArguments& call, const char* first, const char* second) {
  const double beta = call.number_or("beta", 1), alpha = call.number_or("alpha", 1);
  Tensor product = ops::matmul(call.operand(first), call.operand(second));
  if (alpha != 1) product = product * alpha;
  Tensor self = call.operand("self");
  if (beta != 1) self = self * beta;
  const std::string of_self = beta == 1 ? "dx = dC" : "dx = beta·dC", factor = alpha == 1 ? "" : "alpha·";
  return {{self + product},
          of_self + ", dA = " + factor + "dC·Bᵀ, dB = " + factor + "Aᵀ·dC; with x self, A " + first + ", B " +
              second};
}

ForeignResult addmm(const ForeignArguments& call) {
  return added_product(call, "mat1", "mat2");
}
ForeignResult baddbmm(const ForeignArguments& call) {
  return added_product(call, "batch1", "batch2");
}

constexpr NamedRule rules[] = {
    {"sum", &sum},
    {"mean", &mean},
    {"amax", &extreme<true>},
    {"amin", &extreme<false>},
    {"max", &extreme<true>},
    {"min", &extreme<false>},
    {"maximum", &extreme<true>},
    {"minimum", &extreme<false>},
    {"logsumexp", &logsumexp},
    {"linalg_vector_norm", &norm},
    {"norm", &norm},
    {"prod", &product},
    {"var", &variance},
    {"cumsum", &cumsum},
    {"cumprod", &cumprod},
    {"mm", &matrix_product},
    {"bmm", &matrix_product},
    {"mv", &matrix_times_vector},
    {"dot", &inner_product},
    {"vdot", &inner_product},
    {"addmm", &addmm},
    {"baddbmm", &baddbmm},
};

}  // namespace
}  // namespace reductions

std::span<const NamedRule> reduction_rules() {
  return reductions::rules;
}

}  // namespace tapedeck::debug
