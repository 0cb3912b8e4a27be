// Symbolic tensors of which not the whole shape is known while a function is traced.
#pragma once

#include <string>

#include "engine/tensor/tensor.h"

namespace tapedeck {

/// What of a symbolic tensor's shape is not known. Tensor::shape() has sample extents there.
struct UnknownShape {
  std::uint32_t axes = 0;  ///< bit i: the extent of axis i
  bool rank = false;       ///< not even the number of axes

  explicit operator bool() const { return rank || axes != 0; }
  bool has(int axis) const { return rank || (axes >> axis & 1) != 0; }
  bool operator==(const UnknownShape&) const = default;
};

/// A symbolic tensor keeps it where others have their offset.
inline UnknownShape unknown_of(const Tensor& tensor) {
  if (!tensor.is_symbolic() || tensor.offset() == 0) [[likely]]
    return {};
  return {static_cast<std::uint32_t>(tensor.offset()), (tensor.offset() >> 32) != 0};
}

/// A symbolic tensor; `sample` has any extents where they are unknown.
Tensor symbolic_tensor(DType dtype, const Shape& sample, UnknownShape unknown);
/// Gives a symbolic tensor another shape, for all of its handles. Only on the thread that traces it.
void set_symbolic_shape(const Tensor& tensor, const Shape& sample, UnknownShape unknown);

/// Whether a tensor of the shape `real` (of which `of_real` is unknown) may be what is known of `shape`.
bool is_compatible(const Shape& real, UnknownShape of_real, const Shape& shape, UnknownShape unknown);
/// What is sure of a value that has one of the two shapes; `first` is its sample.
UnknownShape merged(const Shape& first, UnknownShape of_first, const Shape& other, UnknownShape of_other);

/// "(None, 2)", "<unknown>".
std::string to_string(const Shape& shape, UnknownShape unknown);
/// The same of a tensor's.
std::string shape_text(const Tensor& tensor);

}  // namespace tapedeck
