// Tensors on the CPU that are numbers, under the thread's device policy.
#pragma once

#include <span>

#include "engine/ops/op.h"
#include "engine/python/python.h"

namespace tapedeck::python {

/// Asks the policy about each number that the program has as a tensor, not as Python's number. `values`: one
/// for each InputSpec of the op; `inputs`: what they became.
void check_numbers(const OpDef& op, PyObject* const* values, std::span<const Tensor> inputs);

}  // namespace tapedeck::python
