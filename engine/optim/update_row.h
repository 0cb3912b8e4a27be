// Registry rows of update ops, dense and sparse: value, slots, gradient, [indices], numbers in; value and
// slots out.
#pragma once

#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"

namespace tapedeck::ops {

/// What the two ops of a rule are made of.
struct UpdateRow {
  std::string name;                  ///< "adam"; the sparse op is "sparse_adam"
  std::vector<std::string> slots;    ///< the op's inputs and outputs after the value
  std::vector<std::string> numbers;  ///< scalars, in the order in which the kernel takes them
  std::string what;                  ///< one line, without the stop
  std::string formula;               ///< in the inputs' names; g: the gradient
  std::string source;
  /// With the attribute use_nesterov, which takes the kernel's rule after the one without.
  bool nesterov = false;
};

/// The forward functions are plain functions, so each rule has its own.
OpDef dense_update(const UpdateRow& row, Forward forward, CostRule cost);
OpDef sparse_update(const UpdateRow& row, Forward forward, CostRule cost);
Tensors run_dense_update(kernels::Update rule, const OpContext& context);
Tensors run_sparse_update(kernels::Update rule, const OpContext& context);

OpCost dense_cost(const CostContext& context, double operations);
OpCost sparse_cost(const CostContext& context, double operations);
/// `operations`: for each element, counted in the row's formula; of use_nesterov they may be others.
template <int operations, int nesterov>
OpCost dense_update_cost(const CostContext& c) {
  return dense_cost(c, cost::flag(c, "use_nesterov") ? nesterov : operations);
}
template <int operations, int nesterov>
OpCost sparse_update_cost(const CostContext& c) {
  return sparse_cost(c, cost::flag(c, "use_nesterov") ? nesterov : operations);
}

/// The rule of a call whose op may have the attribute use_nesterov.
inline kernels::Update rule_of(kernels::Update rule, const OpContext& context) {
  const bool nesterov = context.op.has("use_nesterov") && context.get<bool>("use_nesterov");
  return nesterov ? static_cast<kernels::Update>(static_cast<int>(rule) + 1) : rule;
}
template <kernels::Update rule>
Tensors dense_forward(const OpContext& context) {
  return run_dense_update(rule_of(rule, context), context);
}
template <kernels::Update rule>
Tensors sparse_forward(const OpContext& context) {
  return run_sparse_update(rule_of(rule, context), context);
}

}  // namespace tapedeck::ops
