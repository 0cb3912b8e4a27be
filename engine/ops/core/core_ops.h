// The few ops that the engine itself calls by name: sums of gradients, initial gradients, copies.
#pragma once

#include "engine/ops/core/op.h"

namespace tapedeck::detail {

/// A registered op with all attributes at their defaults.
struct CoreOp {
  /// Throws FailedPreconditionError if no op of that name is registered.
  explicit CoreOp(const char* name);
  Tensor operator()(std::span<const Tensor> inputs) const;

  const OpDef& op;
  Attributes attributes;
};

Tensor add(Tensor a, Tensor b);
Tensor ones_like(const Tensor& tensor);
Tensor zeros_like(const Tensor& tensor);
/// The same values under a new id, by the op "identity".
Tensor identity(const Tensor& tensor);

}  // namespace tapedeck::detail
