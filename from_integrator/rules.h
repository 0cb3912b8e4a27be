// What the families' shape rules and forward functions share.
#pragma once

#include <vector>

#include "engine/cpu/elementwise.h"
#include "engine/ops/op.h"

namespace tapedeck::rules {

/// "name dtype shape", as errors write it: "x float32 (2, 3)".
std::string describe(const OpContext& c, std::size_t input);
/// Throws TypeMismatchError where the inputs of one group differ in dtype.
void same_dtype(const OpContext& c);
/// Throws TypeMismatchError naming the input and `allowed` (words) where `ok` is false.
void require(const OpContext& c, std::size_t input, bool ok, const char* allowed);

/// −rank … rank−1 to 0 … rank−1. Throws InvalidArgumentError naming the op and the attribute.
int axis(const OpContext& c, std::int64_t value, int rank, const char* attribute = "axis");
/// A list attribute as sorted axes; None: all of them. Throws for doubles.
std::vector<int> axes(const OpContext& c, const Attribute& attribute, int rank);

/// Strides of `x` seen as `shape`, 0 where broadcast.
cpu::Operand broadcast(const Tensor& x, const Shape& shape);
inline cpu::Operand operand(const Tensor& x) { return {x.raw(), x.strides()}; }
inline void* output(const Tensor& x) { return x.storage()->data(); }

/// A shape attribute: list of extents; throws for negative ones.
Shape shape_attribute(const OpContext& c, const Attribute& attribute, const char* name);

/// A row for the usual case. `fields` beyond these are set by the caller.
inline TensorSpecs one(DType dtype, const Shape& shape) { return TensorSpecs{TensorSpec{dtype, shape}}; }

}  // namespace tapedeck::rules

namespace tapedeck {
inline Tensors one_tensor(Tensor tensor) {
  Tensors list;
  list.push_back(std::move(tensor));
  return list;
}
template <class... T>
Tensors tensors(T&&... each) {
  Tensors list;
  (list.push_back(std::forward<T>(each)), ...);
  return list;
}
}  // namespace tapedeck
