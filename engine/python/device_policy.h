// The thread's device policy, where it depends on what a program wrote: a tensor or Python's numbers.
#pragma once

#include <span>

#include "engine/ops/core/op.h"
#include "engine/python/python.h"

namespace tapedeck::python {

/// Asks the policy about each number that the program has as a tensor, not as Python's number. `values`: one
/// for each InputSpec of the op; `inputs`: what they became.
void check_numbers(const OpDef& op, PyObject* const* values, std::span<const Tensor> inputs);

/// The same of a tensor that goes into a variable on `device`. `tensor`: what `value` became.
void check_assigned(const char* action, PyObject* value, const Tensor& tensor, Device device);

}  // namespace tapedeck::python
