// Copies a strided view into row-major memory.
#pragma once

#include <cstddef>

#include "engine/tensor/shape.h"

namespace tapedeck::detail {

/// `source` points at the view's first element; `strides` in elements of `item_size` bytes (1, 2, 4, 8 or
/// 16). `destination` takes element_count(shape) items without gaps and does not overlap the source.
void copy_to_contiguous(const std::byte* source, const Shape& shape, const Strides& strides,
                        std::size_t item_size, std::byte* destination);

}  // namespace tapedeck::detail
