#include "engine/tensor/unknown_shape.h"

namespace tapedeck {
namespace {

std::int64_t packed(UnknownShape unknown) {
  return static_cast<std::int64_t>(unknown.axes) | (unknown.rank ? std::int64_t{1} << 32 : 0);
}

}  // namespace

Tensor symbolic_tensor(DType dtype, const Shape& sample, UnknownShape unknown) {
  Tensor tensor = Tensor::symbolic(dtype, sample);
  tensor.body()->offset = packed(unknown);
  return tensor;
}

void set_symbolic_shape(const Tensor& tensor, const Shape& sample, UnknownShape unknown) {
  TensorBody& body = *tensor.body();
  body.count = element_count(sample);
  body.shape = sample;
  body.strides = contiguous_strides(sample);
  body.offset = packed(unknown);
}

bool is_compatible(const Shape& real, UnknownShape of_real, const Shape& shape, UnknownShape unknown) {
  if (of_real.rank || unknown.rank) return true;
  if (real.rank() != shape.rank()) return false;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (!of_real.has(axis) && !unknown.has(axis) && real[axis] != shape[axis]) return false;
  return true;
}

UnknownShape merged(const Shape& first, UnknownShape of_first, const Shape& other, UnknownShape of_other) {
  UnknownShape result;
  result.rank = of_first.rank || of_other.rank || first.rank() != other.rank();
  if (result.rank) return result;
  for (int axis = 0; axis < first.rank(); ++axis)
    if (of_first.has(axis) || of_other.has(axis) || first[axis] != other[axis])
      result.axes |= std::uint32_t{1} << axis;
  return result;
}

std::string to_string(const Shape& shape, UnknownShape unknown) {
  if (unknown.rank) return "<unknown>";
  if (!unknown) return to_string(shape);
  std::string text;
  for (int axis = 0; axis < shape.rank(); ++axis)
    text += (axis == 0 ? "" : ", ") + (unknown.has(axis) ? std::string("None") : std::to_string(shape[axis]));
  return "(" + text + (shape.rank() == 1 ? ",)" : ")");
}

std::string shape_text(const Tensor& tensor) {
  return to_string(tensor.shape(), unknown_of(tensor));
}

}  // namespace tapedeck
