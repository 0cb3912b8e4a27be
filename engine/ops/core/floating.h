// Everything of floating point in one dtype, for as long as a lockstep wants it: a program runs as if it had
// been written in it.
//
// run_op then converts the floating inputs of each op, and what its attributes say of dtypes, before the
// checks. Values that the program brings along (Python's numbers, tensors from before) keep the digits that
// they have. Conversions are written to tapes, but observed by nobody. Random ops draw in float32, so that
// all dtypes get the same numbers.
#pragma once

#include <optional>

#include "engine/ops/core/op.h"

namespace tapedeck {

/// For the ops of this thread while it lives; not nested. dtype: float16, bfloat16, float32 or float64;
/// complex numbers get the dtype that goes with it. Nothing: each op keeps its own, and random ops alone are
/// as said.
class FloatingScope {
 public:
  explicit FloatingScope(std::optional<DType> dtype);
  ~FloatingScope();
  FloatingScope(const FloatingScope&) = delete;
};

/// The dtype that stands for this one on this thread: another one inside of a scope alone.
DType floating_dtype(DType dtype);

/// Whether values of either dtype are taken for the other's on this thread.
bool interchangeable(DType a, DType b);

namespace detail {

/// Runs the op in the scope's dtype.
Tensors run_floating(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes);
/// Runs the op in the dtypes that it is given; run_op.cpp has it.
Tensors run_as_given(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes);

/// The tensor in that dtype, by an op that tapes see and observers do not.
Tensor converted(const Tensor& tensor, DType dtype);

}  // namespace detail
}  // namespace tapedeck
