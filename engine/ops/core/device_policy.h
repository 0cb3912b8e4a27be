// What the thread's device policy (placement.h) says of what run_op cannot tell apart or does not see.
#pragma once

#include "engine/ops/core/op.h"

namespace tapedeck::detail {

/// Of a number on the CPU that a program has as a tensor, input `place` of a call that tf.device or another
/// input takes to a GPU: throws, prints, or does nothing, as the policy says. run_op cannot tell it from the
/// numbers of the host language, which go along with a kernel to any device.
void check_number(const OpDef& op, std::span<const Tensor> inputs, std::size_t place);

/// Of a tensor that a program gives to a variable on `device`; `action`: what the program called.
void check_assigned(const std::string& action, const Tensor& value, Device device);

}  // namespace tapedeck::detail
