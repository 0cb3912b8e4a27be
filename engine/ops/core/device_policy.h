// The thread's device policy (placement.h) for cases that run_op cannot distinguish or does not see.
#pragma once

#include "engine/ops/core/op.h"

namespace tapedeck::detail {

/// For a CPU scalar that the program holds as a tensor, input `place` of a call that tf.device or another
/// input places on a GPU: throws, prints, or does nothing, as the policy says. run_op cannot distinguish it
/// from numbers of the host language, which are passed to kernels of any device.
void check_number(const OpDef& op, std::span<const Tensor> inputs, std::size_t place);

/// For a tensor that a program assigns to a variable on `device`; `action`: the function that the program
/// called.
void check_assigned(const std::string& action, const Tensor& value, Device device);

}  // namespace tapedeck::detail
