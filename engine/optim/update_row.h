// Registry rows of update ops, dense and sparse: value, slots, gradient, [indices], numbers in; value and
// slots out.
#pragma once

#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"

namespace tapedeck::ops {

/// Defines the two ops of a rule, dense and sparse.
struct UpdateRow {
  std::string name;                  ///< "adam"; the sparse op is "sparse_adam"
  std::vector<std::string> slots;    ///< the op's inputs and outputs after the value
  std::vector<std::string> numbers;  ///< scalars, in the order in which the kernel takes them
  std::string what;                  ///< one line, without the full stop
  std::string formula;               ///< in the inputs' names; g: the gradient
  std::string source;
  /// Has the attribute use_nesterov, which selects the next kernel rule in the enum.
  bool nesterov = false;
};

/// Forward functions are plain function pointers, so each rule passes its own.
OpDef dense_update(const UpdateRow& row, Forward forward, CostRule cost);
OpDef sparse_update(const UpdateRow& row, Forward forward, CostRule cost);
Tensors run_dense_update(kernels::Update rule, const OpContext& context);
Tensors run_sparse_update(kernels::Update rule, const OpContext& context);

OpCost dense_cost(const CostContext& context, double operations);
OpCost sparse_cost(const CostContext& context, double operations);
/// `operations`: arithmetic operations per element in the row's formula; use_nesterov may have another count.
template <int operations, int nesterov>
OpCost dense_update_cost(const CostContext& c) {
  return dense_cost(c, cost::flag(c, "use_nesterov") ? nesterov : operations);
}
template <int operations, int nesterov>
OpCost sparse_update_cost(const CostContext& c) {
  return sparse_cost(c, cost::flag(c, "use_nesterov") ? nesterov : operations);
}

/// The kernel rule of a call, with respect to use_nesterov if the op has it.
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
