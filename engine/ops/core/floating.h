// Runs all floating-point ops in one dtype during a lockstep, as if the program had been written in it.
//
// run_op then converts the floating inputs of each op, and its dtype attributes, before the checks. Values
// from outside (Python numbers, existing tensors) keep their digits. Conversions are taped but not observed.
// Random ops draw in float32, so that all dtypes get the same numbers.
#pragma once

#include <optional>

#include "engine/ops/core/op.h"

namespace tapedeck {

/// For the ops of this thread while it lives; not nested. dtype: float16, bfloat16, float32 or float64;
/// complex numbers get the matching dtype. nullopt: each op keeps its dtype, and only random ops change.
class FloatingScope {
 public:
  explicit FloatingScope(std::optional<DType> dtype);
  ~FloatingScope();
  FloatingScope(const FloatingScope&) = delete;
};

/// The dtype that replaces this one on this thread; different only inside a scope.
DType floating_dtype(DType dtype);

/// Whether the two dtypes are interchangeable on this thread.
bool interchangeable(DType a, DType b);

namespace detail {

/// Runs the op in the scope's dtype.
Tensors run_floating(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes);
/// Runs the op in the given dtypes; defined in run_op.cpp.
Tensors run_as_given(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes);

/// The tensor in that dtype, by an op that tapes see and observers do not.
Tensor converted(const Tensor& tensor, DType dtype);

}  // namespace detail
}  // namespace tapedeck
