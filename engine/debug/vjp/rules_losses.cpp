// Losses. `reduction`: 0 none, 1 mean, 2 sum.
#include "engine/debug/vjp/foreign_rules.h"
#include "engine/ops/core/ops.h"

namespace tapedeck::debug {
namespace losses {
namespace {

ForeignResult reduced(const ForeignArguments& call, const Tensor& losses, const std::string& of_self,
                      const std::string& of_target) {
  const std::int64_t reduction = call.integer_or("reduction", 1);
  const std::string share = reduction == 1 ? " / n" : "";
  Tensor result = losses;
  if (reduction == 1) result = ops::reduce_mean(losses);
  if (reduction == 2) result = ops::reduce_sum(losses);
  return {{result}, "dx = dz·" + of_self + share + ", dy = " + of_target + share + "; with x self, y target"};
}

ForeignResult squared(const ForeignArguments& call) {
  const Tensor apart = call.operand("self") - call.operand("target");
  return reduced(call, apart * apart, "2(x − y)", "−dz·2(x − y)");
}

ForeignResult squared_backward(const ForeignArguments& call) {
  const Tensor self = call.operand("self");
  const bool mean = call.integer_or("reduction", 1) == 1;
  Tensor result = call.operand("grad_output") * (self - call.operand("target")) * 2.0;
  if (mean) result = result / static_cast<double>(self.count());
  const std::string share = mean ? " / N" : "", what = mean ? ", N: the number of elements of x" : "";
  return {{result},
          "dg = Σ dz·2(x − y)" + share + ", dx = dz·2·g" + share + ", dy = −dz·2·g" + share + what +
              "; with g grad_output, x self, y target"};
}

/// Quadratic up to `bound`, then linear: huber_loss(delta), smooth_l1_loss(beta) times beta.
Tensor huber(const Tensor& apart, double bound) {
  const Tensor size = ops::abs(apart);
  const Tensor inside = ops::less(size, Tensor::scalar(bound, apart.dtype()));
  return ops::where(inside, apart * apart * 0.5, (size - 0.5 * bound) * bound);
}

ForeignResult huber_loss(const ForeignArguments& call) {
  const Tensor apart = call.operand("self") - call.operand("target");
  return reduced(call, huber(apart, call.number_or("delta", 1)), "clamp(x − y, −delta, delta)",
                 "−dz·clamp(x − y, −delta, delta)");
}

ForeignResult smooth_l1_loss(const ForeignArguments& call) {
  const Tensor apart = call.operand("self") - call.operand("target");
  const double beta = call.number_or("beta", 1);
  if (beta <= 0) throw NoFormula{"its beta is 0"};
  return reduced(call, huber(apart, beta) / beta, "clamp((x − y) / beta, −1, 1)",
                 "−dz·clamp((x − y) / beta, −1, 1)");
}

ForeignResult binary_cross_entropy_with_logits(const ForeignArguments& call) {
  if (!call.is_none("pos_weight")) throw NoFormula{"the formula has no pos_weight"};
  const Tensor self = call.operand("self"), target = call.operand("target");
  Tensor losses = call_row1("sigmoid_cross_entropy_with_logits", {target, self});
  const bool weighted = !call.is_none("weight");
  if (weighted) losses = losses * call.operand("weight");
  const std::string factor = weighted ? "weight·" : "";
  return reduced(call, losses, factor + "(sigmoid(x) − y)", "−dz·" + factor + "x");
}

/// Negative log likelihood: minus the element of the right class, axis 1 of images and batches.
ForeignResult nll_loss(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  const std::vector<double> targets = call.tensor("target").to_vector();
  const int axis = self.rank() < 2 ? 0 : 1;
  const std::int64_t classes = self.rank() == 0 ? 1 : self.shape()[axis],
                     ignored = call.integer_or("ignore_index", -100);
  std::int64_t inner = 1;
  for (int i = axis + 1; i < self.rank(); ++i) inner *= self.shape()[i];
  const std::vector<double> weights = call.is_none("weight")
                                          ? std::vector<double>(static_cast<std::size_t>(classes), 1.0)
                                          : call.tensor("weight").to_vector();
  std::vector<std::int64_t> places;
  std::vector<double> shares;
  double total = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto target = static_cast<std::int64_t>(targets[i]);
    const bool counts = target != ignored && target >= 0 && target < classes;
    const auto at = static_cast<std::int64_t>(i);
    places.push_back((at / inner * classes + (counts ? target : 0)) * inner + at % inner);
    shares.push_back(counts ? weights[static_cast<std::size_t>(target)] : 0);
    total += shares.back();
  }
  const Shape flat{static_cast<std::int64_t>(places.size())};
  const Tensor right =
      ops::gather(ops::reshape(self, Shape{self.count()}), Tensor::from_values<std::int64_t>(places, flat));
  const Tensor losses = -(right * ops::cast(Tensor::from_values<double>(shares, flat), self.dtype()));
  const std::int64_t reduction = call.integer_or("reduction", 1);
  const std::string weight = call.is_none("weight") ? "" : "·weight";
  if (reduction == 0)
    return {{ops::reshape(losses, call.shape())},
            "dx = −dz" + weight + " at each target, else 0; none for target; with x self"};
  const Tensor sum = ops::reshape(ops::reduce_sum(losses), call.shape());
  if (reduction == 2)
    return {{sum}, "dx = −dz" + weight + " at each target, else 0; none for target; with x self"};
  if (total == 0) throw NoFormula{"it ignores all targets"};
  return {{sum / total},
          "dx = −dz" + weight + " / T at each target, else 0; none for target, T: the sum of the targets' " +
              (weight.empty() ? std::string("number, without ignore_index") : std::string("weights")) +
              "; with x self"};
}

constexpr NamedRule rules[] = {
    {"mse_loss", &squared},
    {"mse_loss_backward", &squared_backward},
    {"huber_loss", &huber_loss},
    {"smooth_l1_loss", &smooth_l1_loss},
    {"binary_cross_entropy_with_logits", &binary_cross_entropy_with_logits},
    {"nll_loss_forward", &nll_loss},
    {"nll_loss2d_forward", &nll_loss},
};

}  // namespace
}  // namespace losses

std::span<const NamedRule> loss_rules() {
  return losses::rules;
}

}  // namespace tapedeck::debug
