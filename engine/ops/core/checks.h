// Functions shared by the families of ops: checks that name op, argument and values; axes; views; gradients
// of broadcasting.
#pragma once

#include <string_view>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/ops/core/op.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"

namespace tapedeck::ops {

/// numeric: all but bool and string; inexact: floating-point or complex; ordered: numeric but not complex;
/// addable: numeric or string; index: integer but not uint64.
enum class Kind : std::uint8_t { any, numeric, floating, integer, boolean, inexact, ordered, addable, index };

/// Throws TypeMismatchError, such as "exp: x is int32; needs a floating dtype: …".
void require_kind(const OpContext& context, std::size_t input, Kind kind);
/// Throws TypeMismatchError, such as "add: x is float32 and y is int32; cast one of them".
void require_same_dtype(const OpContext& context, std::size_t first, std::size_t second);
/// The name of an input in errors; "values[2]" for an element of a list.
std::string input_name(const OpContext& context, std::size_t input);

/// Converts a negative axis; `extra` = 1 allows one more axis, for an axis that is being inserted. Throws
/// InvalidArgumentError, such as "concat: axis 3 is out of range for shape (2, 3)".
int normalize_axis(std::string_view op, std::string_view argument, std::int64_t axis, const Shape& shape,
                   int extra = 0);
/// Axes in an attribute of kind `integers` (or None: all), one flag per axis. Throws InvalidArgumentError for
/// an axis out of range or repeated.
std::vector<bool> axis_flags(const OpContext& context, AttributeName attribute, const Shape& shape);

/// An attribute of kind `dtype` for positions and counts. Throws E, such as "size: out_type is int8; needs
/// int32 or int64": narrower ones would wrap around.
template <class E = InvalidArgumentError>
DType index_dtype_of(const OpContext& context, AttributeName attribute) {
  const DType dtype = context.get<DType>(attribute);
  if (dtype != DType::int32 && dtype != DType::int64)
    fail_of<E>(context.op.name, attribute.text(), " is ", dtype_name(dtype), "; needs int32 or int64");
  return dtype;
}

/// An attribute as an integer: bindings may pass an integer or a float with an integral value.
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

/// A new tensor with the spec that the shape rule announced.
inline Tensor allocate_output(const OpContext& context, std::size_t output = 0) {
  const TensorSpec& spec = context.outputs[output];
  return Tensor::allocate(spec.dtype, spec.shape);
}
/// A view of the tensor's storage.
inline Tensor view_of(const Tensor& tensor, const Shape& shape, const Strides& strides,
                      std::int64_t offset = 0) {
  return Tensor::view(tensor.storage(), tensor.dtype(), shape, strides, tensor.offset() + offset);
}
/// Row-major values; the tensor itself if it is contiguous.
Tensor contiguous(const Tensor& tensor);
/// For elementwise kernels: copies a long tensor whose rows are not contiguous, tile by tile, which is faster
/// than strided access. Returns anything else unchanged.
Tensor readable(const Tensor& tensor);
/// Whether one value in memory is repeated along every axis, so that a function of it needs to be computed
/// only once.
bool repeats_one_value(const Tensor& tensor);
/// The only value of such a tensor as a scalar, and the inverse.
Tensor repeated_value(const Tensor& tensor);
Tensor repeat_value(const Tensor& scalar, const Shape& shape);
/// Strides over `shape`, to which the tensor broadcasts: 0 where it repeats.
Strides broadcast_strides(const Tensor& tensor, const Shape& shape);
/// On a GPU a host scalar is passed to the kernel by value.
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
/// Copies `shape` elements of `tensor`, with strides `from`, to `out` from element `offset` on, with strides
/// `to`. For kernels.
void place(const Tensor& tensor, const Tensor& out, const Shape& shape, const Strides& from,
           const Strides& to, std::int64_t offset);
/// Indices as contiguous int64 on the op's device. Throws OutOfRangeError for one outside [0, count), such as
/// "gather: indices[3] is 7; must be in [0, 5)"; on a GPU at the host's next read from it.
Tensor checked_indices(const OpContext& context, std::size_t input, std::int64_t count);

/// A number in an attribute as a scalar of `dtype`. Throws InvalidArgumentError if that would change it, such
/// as "pad: constant_values 0.5 cannot be represented as int32".
Tensor scalar_of(const OpContext& context, AttributeName attribute, DType dtype);

/// These numbers as int32 or int64, as in `spec`.
Tensor from_integers(std::span<const std::int64_t> values, const TensorSpec& spec);

/// Contiguous values in memory of the op's device: copies values that a forward function made in host memory,
/// and immediate scalars; returns others unchanged.
Tensor on_op_device(Tensor host);

/// A constant in a VJP that no op made; reports it to the observer.
Tensor leaf(Tensor tensor);
/// A read-only scalar for kernels and other ops; no op may return it. It is created once and reused while it
/// has no other reference (constants.cpp).
Tensor constant(double value, DType dtype);
/// Such a constant in a VJP; under an observer, a separate leaf that is reported to it.
Tensor number(double value, DType dtype);
/// Sums a gradient over the axes along which a tensor of `shape` was repeated.
Tensor unbroadcast(const Tensor& gradient, const Shape& shape);
/// Tensors with one element.
inline Tensors one(Tensor tensor) {
  Tensors tensors;
  tensors.push_back(std::move(tensor));
  return tensors;
}
/// For VJPs: zeros_like without the tensor as an operand, because the tape may have released its values.
Tensor zeros_shaped_like(const Tensor& tensor);
/// The VJP of ops whose gradient is zero everywhere.
Tensors zero_gradient(const VjpContext& context);

}  // namespace tapedeck::ops
