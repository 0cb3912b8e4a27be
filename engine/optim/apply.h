// One step of an optimiser on a variable and its slots.
#pragma once

#include "engine/ops/core/op.h"
#include "engine/tape/variable.h"

namespace tapedeck {

/// Runs an update op, whose first inputs and outputs are the values of `targets` (a variable, and its slots),
/// on them and on `others` (gradient, learning rate, …), and assigns the results. No tape records it. A
/// result reuses the memory of its target's value if nothing else holds a reference to that value, apart from
/// observers that release it.
void apply_update(const OpDef& op, std::span<const Variable> targets, std::span<const Tensor> others,
                  const Attributes& attributes = {});

namespace detail {
/// For update ops: whether the result may overwrite this input's memory.
bool may_overwrite(const Tensor& input);
}  // namespace detail

}  // namespace tapedeck
