// What the families of ops share: checks that name op, argument and values; axes; views; gradients of
// broadcasting.
#pragma once

#include <string_view>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/ops/core/op.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"

namespace tapedeck::ops {

/// numeric: all but bool and string; inexact: floating or complex; ordered: numeric but not complex; addable:
/// numeric or string; index: integer but not uint64.
enum class Kind : std::uint8_t { any, numeric, floating, integer, boolean, inexact, ordered, addable, index };

/// Throws TypeMismatchError, such as "exp: x is int32; needs a floating dtype: …".
void require_kind(const OpContext& context, std::size_t input, Kind kind);
/// Throws TypeMismatchError, such as "add: x is float32 and y is int32; cast one of them".
void require_same_dtype(const OpContext& context, std::size_t first, std::size_t second);
/// The name of an input in errors; "values[2]" for an element of a list.
std::string input_name(const OpContext& context, std::size_t input);

/// The same for one more axis than there are (`extra` = 1 where an axis is being inserted). Throws
/// InvalidArgumentError, such as "concat: axis 3 is out of range for shape (2, 3)".
int normalize_axis(std::string_view op, std::string_view argument, std::int64_t axis, const Shape& shape,
                   int extra = 0);
/// Axes in an attribute of kind `integers` (or None: all), each flag telling whether the axis is meant.
/// Throws InvalidArgumentError for an axis out of range or named twice.
std::vector<bool> axis_flags(const OpContext& context, AttributeName attribute, const Shape& shape);

/// An attribute of kind `dtype` for positions and counts. Throws E, such as "size: out_type is int8; needs
/// int32 or int64": shorter ones would wrap around.
template <class E = InvalidArgumentError>
DType index_dtype_of(const OpContext& context, AttributeName attribute) {
  const DType dtype = context.get<DType>(attribute);
  if (dtype != DType::int32 && dtype != DType::int64)
    fail_of<E>(context.op.name, attribute.text(), " is ", dtype_name(dtype), "; needs int32 or int64");
  return dtype;
}

/// An attribute as a whole number: bindings may give an integer or a real one with an integral value.
std::int64_t integer_of(const OpContext& context, AttributeName attribute);
double real_of(const Attribute& attribute);
/// An attribute of kind `integers`: a list, or one number as a list.
std::vector<std::int64_t> integers_of(const Attribute& attribute);
/// An attribute of kind `shape`, without negative extents.
Shape shape_of(const OpContext& context, AttributeName attribute);
Attribute attribute_of(const Shape& shape);
Attribute attribute_of(const Axes& axes);

/// An op of one input with two results.
inline std::pair<Tensor, Tensor> run_op2(const OpDef& op, const Tensor& input,
                                         const Attributes& attributes = {}) {
  Tensors results = run_op(op, {&input, 1}, attributes);
  return {std::move(results[0]), std::move(results[1])};
}

inline TensorSpecs spec(DType dtype, const Shape& shape) {
  TensorSpecs specs;
  specs.push_back({dtype, shape});
  return specs;
}

/// Shape and dtype of the first input.
TensorSpecs like_first(const OpContext& context);

/// A fresh tensor as the shape rule announced it.
inline Tensor allocate_output(const OpContext& context, std::size_t output = 0) {
  const TensorSpec& spec = context.outputs[output];
  return Tensor::allocate(spec.dtype, spec.shape);
}
/// A view of the tensor's storage.
inline Tensor view_of(const Tensor& tensor, const Shape& shape, const Strides& strides,
                      std::int64_t offset = 0) {
  return Tensor::view(tensor.storage(), tensor.dtype(), shape, strides, tensor.offset() + offset);
}
/// Row-major values: the tensor itself where it is so already.
Tensor contiguous(const Tensor& tensor);
/// For elementwise kernels: a long tensor whose rows do not lie in one piece is copied once, tile by tile,
/// which is faster than walking across it. Anything else comes back as it is.
Tensor readable(const Tensor& tensor);
/// True where one value in memory is repeated along every axis: what is computed of it need be computed once.
bool repeats_one_value(const Tensor& tensor);
/// The only value of a tensor that repeats it, as a scalar, and back.
Tensor repeated_value(const Tensor& tensor);
Tensor repeat_value(const Tensor& scalar, const Shape& shape);
/// Strides over `shape`, to which the tensor broadcasts: 0 where it repeats.
Strides broadcast_strides(const Tensor& tensor, const Shape& shape);
/// On a GPU a scalar of the host goes along as a number.
inline bool is_immediate(const Tensor& tensor) {
  return tensor.on_cpu() && op_device().kind != DeviceKind::cpu;
}
inline kernels::Operand operand(const Tensor& tensor, const Shape& shape) {
  return {tensor.raw(), broadcast_strides(tensor, shape), is_immediate(tensor)};
}
/// One value for all elements.
inline kernels::Values single(const Tensor& scalar) {
  return {scalar.raw(), 0, is_immediate(scalar)};
}
/// Copies `shape` elements of `tensor`, `from` apart, to `out` from element `offset` on, `to` apart. For
/// kernels.
void place(const Tensor& tensor, const Tensor& out, const Shape& shape, const Strides& from,
           const Strides& to, std::int64_t offset);
/// Indices as contiguous int64 on the op's device. Throws OutOfRangeError for one outside [0, count), such as
/// "gather: indices[3] is 7; must be in [0, 5)"; of a GPU's, when the host reads from it the next time.
Tensor checked_indices(const OpContext& context, std::size_t input, std::int64_t count);

/// A number in an attribute as a scalar of `dtype`. Throws InvalidArgumentError where that would change it,
/// such as "pad: constant_values 0.5 is no int32".
Tensor scalar_of(const OpContext& context, AttributeName attribute, DType dtype);

/// These numbers as int32 or int64, as `spec` has it.
Tensor from_integers(std::span<const std::int64_t> values, const TensorSpec& spec);

/// Contiguous values in memory of the op's device: those that a forward function made in the host's, and
/// scalars that came as immediates, are written there; others are there already.
Tensor on_op_device(Tensor host);

/// A constant in a VJP that no op made: the observer is told of it.
Tensor leaf(Tensor tensor);
/// A scalar that nobody writes to and that no op gives back: kernels and other ops read it. It is made once
/// and used again as long as nobody holds it (constants.cpp).
Tensor constant(double value, DType dtype);
/// Such a constant in a VJP; where somebody observes, a leaf of its own that the observer is told of.
Tensor number(double value, DType dtype);
/// Sums a gradient over the axes along which a tensor of `shape` was repeated.
Tensor unbroadcast(const Tensor& gradient, const Shape& shape);
/// Tensors with one element.
inline Tensors one(Tensor tensor) {
  Tensors tensors;
  tensors.push_back(std::move(tensor));
  return tensors;
}
/// For VJPs: zeros_like without the tensor as an operand, whose values the tape may have let go.
Tensor zeros_shaped_like(const Tensor& tensor);
/// The VJP of ops whose gradient is zero everywhere.
Tensors zero_gradient(const VjpContext& context);

}  // namespace tapedeck::ops
