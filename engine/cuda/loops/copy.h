// Moving elements on a GPU.
#pragma once

#include <cstddef>

#include "engine/tensor/shape.h"

namespace tapedeck::cuda {

/// As cpu::copy, on the current device.
void copy_elements(std::size_t size, const void* source, const Strides& source_strides, void* target,
                   const Strides& target_strides, const Shape& shape);

}  // namespace tapedeck::cuda
