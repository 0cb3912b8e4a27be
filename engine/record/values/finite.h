// Whether a tensor has NaN or infinities: one reading of its memory, and no more.
#pragma once

#include "engine/tensor/tensor.h"

namespace tapedeck {

/// Of any dtype; whole numbers and bools are finite. Large ones are read by the engine's threads, which ask
/// for interrupts: throws Interrupted then. Strides do not matter where the elements fill their memory.
bool all_finite(const Tensor& tensor);

}  // namespace tapedeck
