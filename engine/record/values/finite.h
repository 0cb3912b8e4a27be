// Checks a tensor for NaN and infinities in a single pass over its memory.
#pragma once

#include "engine/tensor/tensor.h"

namespace tapedeck {

/// For any dtype; integers and bools are finite. Large tensors are read by the engine's threads, which check
/// for interrupts and throw Interrupted. Strides do not matter if the elements fill their memory.
bool all_finite(const Tensor& tensor);

}  // namespace tapedeck
