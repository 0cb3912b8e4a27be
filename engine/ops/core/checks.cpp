#include "engine/ops/core/checks.h"

#include <cmath>

#include "engine/ops/core/narrow_values.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/placement.h"
#include "engine/tensor/device_memory.h"
#include "engine/tensor/narrow.h"
#include "engine/tensor/strings.h"

namespace tapedeck::ops {
namespace {

bool fits(DType dtype, Kind kind) {
  switch (kind) {
    case Kind::any:
      return true;
    case Kind::numeric:
      return dtype != DType::bool_ && dtype != DType::string;
    case Kind::floating:
      return is_floating(dtype);
    case Kind::index:
      return is_integer(dtype) && dtype != DType::uint64;
    case Kind::inexact:
      return is_floating(dtype) || is_complex(dtype);
    case Kind::ordered:
      return dtype != DType::bool_ && dtype != DType::string && !is_complex(dtype);
    case Kind::addable:
      return dtype != DType::bool_;
    case Kind::integer:
      return is_integer(dtype);
    case Kind::boolean:
      return dtype == DType::bool_;
  }
  return false;
}

const char* names_of(Kind kind) {
  switch (kind) {
    case Kind::numeric:
      return "a numeric dtype";
    case Kind::floating:
      return "a floating dtype: float16, bfloat16, float32 or float64";
    case Kind::index:
      return "an integer dtype that numbers places: int8 to int64, or uint8 to uint32";
    case Kind::inexact:
      return "a floating dtype: float16, bfloat16, float32 or float64, or a complex one";
    case Kind::ordered:
      return "a real or integer dtype";
    case Kind::addable:
      return "a numeric dtype, or string";
    case Kind::integer:
      return "an integer dtype: int8 to int64, or uint8 to uint64";
    case Kind::boolean:
      return "bool";
    case Kind::any:
      break;
  }
  return "any dtype";
}

/// "[1, 2]" for the element at that row-major index; empty for a scalar.
std::string place_text(std::int64_t at, const Shape& shape) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text.insert(0, (axis > 0 ? ", " : "[") + std::to_string(at % shape[axis]));
    at /= shape[axis];
  }
  return text.empty() ? text : text + "]";
}

}  // namespace

std::string input_name(const OpContext& context, std::size_t input) {
  const auto& specs = context.op.inputs;
  if (input + 1 < specs.size() || (input < specs.size() && !specs[input].variadic)) return specs[input].name;
  return specs.back().name + "[" + std::to_string(input + 1 - specs.size()) + "]";
}

void require_kind(const OpContext& context, std::size_t input, Kind kind) {
  const DType dtype = context.inputs[input].dtype();
  if (!fits(dtype, kind)) [[unlikely]]
    fail_of<TypeMismatchError>(context.op.name, input_name(context, input), " is ", dtype_name(dtype),
                               "; needs ", names_of(kind));
}

void require_same_dtype(const OpContext& context, std::size_t first, std::size_t second) {
  const DType a = context.inputs[first].dtype();
  const DType b = context.inputs[second].dtype();
  if (a != b) [[unlikely]]
    fail_of<TypeMismatchError>(context.op.name, input_name(context, first), " is ", dtype_name(a), " and ",
                               input_name(context, second), " is ", dtype_name(b), "; cast one of them");
}

int normalize_axis(std::string_view op, std::string_view argument, std::int64_t axis, const Shape& shape,
                   int extra) {
  const int rank = shape.rank() + extra;
  if (axis < -rank || axis >= rank)
    fail_of<InvalidArgumentError>(op, argument, " ", axis, " is out of range for shape ", to_string(shape));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<bool> axis_flags(const OpContext& context, AttributeName attribute, const Shape& shape) {
  const auto rank = static_cast<std::size_t>(shape.rank());
  const Attribute& axes = context.attribute(attribute);
  if (std::holds_alternative<std::monostate>(axes)) return std::vector<bool>(rank, true);
  std::vector<bool> flags(rank, false);
  for (const std::int64_t value : integers_of(axes)) {
    const auto axis =
        static_cast<std::size_t>(normalize_axis(context.op.name, attribute.text(), value, shape));
    if (flags[axis])
      fail_of<InvalidArgumentError>(context.op.name, attribute.text(), " ", to_string(axes), " names axis ",
                                    axis, " twice");
    flags[axis] = true;
  }
  return flags;
}

std::int64_t integer_of(const OpContext& context, AttributeName attribute) {
  const Attribute& value = context.attribute(attribute);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value))
    if (*real == std::floor(*real) && std::abs(*real) < 0x1p63) return static_cast<std::int64_t>(*real);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
    if (list->size() == 1) return list->front();
  fail_of<InvalidArgumentError>(context.op.name, attribute.text(), " is ", to_string(value),
                                "; needs an integer");
}

double real_of(const Attribute& attribute) {
  if (const auto* integer = std::get_if<std::int64_t>(&attribute)) return static_cast<double>(*integer);
  if (const auto* flag = std::get_if<bool>(&attribute)) return *flag ? 1.0 : 0.0;
  return std::get<double>(attribute);
}

std::vector<std::int64_t> integers_of(const Attribute& attribute) {
  if (const auto* integer = std::get_if<std::int64_t>(&attribute)) return {*integer};
  return std::get<std::vector<std::int64_t>>(attribute);
}

Shape shape_of(const OpContext& context, AttributeName attribute) {
  const Shape shape{std::span<const std::int64_t>(integers_of(context.attribute(attribute)))};
  for (const std::int64_t extent : shape)
    if (extent < 0)
      fail_of<InvalidArgumentError>(context.op.name, attribute.text(), " ", to_string(shape),
                                    " has a negative extent, ", extent);
  return shape;
}

Attribute attribute_of(const Shape& shape) {
  return std::vector<std::int64_t>(shape.begin(), shape.end());
}
Attribute attribute_of(const Axes& axes) {
  return axes ? Attribute(*axes) : Attribute();
}

TensorSpecs like_first(const OpContext& context) {
  return spec(context.inputs[0].dtype(), context.inputs[0].shape());
}

Tensor contiguous(const Tensor& tensor) {
  if (tensor.contiguous()) return tensor;
  Tensor out = Tensor::allocate(tensor.dtype(), tensor.shape(), tensor.device());
  backend(tensor.device())
      .copy(item_size(tensor.dtype()), tensor.raw(), tensor.strides(), out.writable_data<std::byte>(),
            out.strides(), tensor.shape());
  if (tensor.dtype() == DType::string) share_strings(*out.storage().get(), {&tensor, 1});
  return out;
}

Tensor readable(const Tensor& tensor) {
  constexpr std::int64_t fits_the_cache = 4096;
  if (tensor.contiguous() || tensor.count() <= fits_the_cache) return tensor;
  const std::int64_t step = tensor.strides()[tensor.rank() - 1];
  if (step == 0 || step == 1) return tensor;
  for (int axis = 0; axis < tensor.rank(); ++axis)
    if (tensor.strides()[axis] == 0) return tensor;
  return contiguous(tensor);
}

bool repeats_one_value(const Tensor& tensor) {
  if (tensor.contiguous()) return tensor.count() == 1;
  for (int axis = 0; axis < tensor.rank(); ++axis)
    if (tensor.dim(axis) != 1 && tensor.strides()[axis] != 0) return false;
  return tensor.count() > 0;
}
Tensor repeated_value(const Tensor& tensor) {
  return view_of(tensor, {}, {});
}
Tensor repeat_value(const Tensor& scalar, const Shape& shape) {
  Strides strides;
  strides.resize(shape.rank());
  return view_of(scalar, shape, strides);
}

Strides broadcast_strides(const Tensor& tensor, const Shape& shape) {
  Strides strides;
  strides.resize(shape.rank());
  const int added = shape.rank() - tensor.rank();
  for (int axis = added; axis < shape.rank(); ++axis)
    strides[axis] = tensor.dim(axis - added) == 1 ? 0 : tensor.strides()[axis - added];
  return strides;
}

void place(const Tensor& tensor, const Tensor& out, const Shape& shape, const Strides& from,
           const Strides& to, std::int64_t offset) {
  const std::size_t size = item_size(out.dtype());
  backend().copy(size, tensor.raw(), from,
                 out.writable_data<std::byte>() + offset * static_cast<std::int64_t>(size), to, shape);
}

Tensor checked_indices(const OpContext& context, std::size_t input, std::int64_t count) {
  const Tensor indices = on_op_device(contiguous(widen(context.inputs[input])));
  Tensor values = Tensor::allocate(DType::int64, indices.shape());
  const std::string name = context.op.name + ": " + input_name(context, input);
  const auto bad = backend().check_indices(indices.dtype(), indices.raw(), indices.count(), 0, count,
                                           values.writable_data<std::int64_t>(), name);
  if (bad)
    fail<OutOfRangeError>(name, place_text(bad->place, indices.shape()), " is ", bad->value,
                          "; must be in [0, ", count, ")");
  return values;
}

Tensor scalar_of(const OpContext& context, AttributeName attribute, DType dtype) {
  const Attribute& value = context.attribute(attribute);
  const auto refuse = [&] {
    fail_of<InvalidArgumentError>(context.op.name, attribute.text(), " ", to_string(value),
                                  " cannot be represented as ", dtype_name(dtype));
  };
  if (dtype == DType::string) {
    if (real_of(value) != 0) refuse();
    return string_tensor({}, std::vector<std::string>(1));
  }
  if (is_narrow(dtype)) {
    const Tensor wide = scalar_of(context, attribute, compute_dtype(dtype));
    Tensor scalar = narrowed(wide, dtype);
    if (is_integer(dtype) && widened(scalar).item() != wide.item()) refuse();
    return scalar;
  }
  const auto* whole = std::get_if<std::int64_t>(&value);
  if (is_integer(dtype) && whole) {
    if (dtype == DType::int32 && *whole != static_cast<std::int32_t>(*whole)) refuse();
    if (dtype == DType::uint64 && *whole < 0) refuse();
    Tensor scalar = Tensor::allocate(dtype, Shape{}, Device{});  // exact, which a double is not
    if (dtype == DType::int32)
      *scalar.writable_data<std::int32_t>() = static_cast<std::int32_t>(*whole);
    else
      *scalar.writable_data<std::int64_t>() = *whole;
    return scalar;
  }
  const double number = real_of(value);
  if (is_integer(dtype)) {
    const double limit = dtype == DType::int32 ? 0x1p31 : dtype == DType::uint64 ? 0x1p64 : 0x1p63;
    const double lowest = dtype == DType::uint64 ? 0 : -limit;
    if (!(number >= lowest && number < limit) || number != std::trunc(number)) refuse();
  }
  return Tensor::scalar(number, dtype);
}

Tensor from_integers(std::span<const std::int64_t> values, const TensorSpec& spec) {
  if (is_narrow(spec.dtype))
    return narrowed(from_integers(values, {compute_dtype(spec.dtype), spec.shape}), spec.dtype);
  Tensor out = Tensor::allocate(spec.dtype, spec.shape, Device{});
  const std::int64_t count = std::ssize(values);
  backend(Device{}).cast(DType::int64, spec.dtype == DType::uint64 ? DType::int64 : spec.dtype,
                         {values.data(), {1}}, out.writable_data<std::byte>(), {count});
  return on_op_device(out);
}

Tensor on_op_device(Tensor host) {
  const Device device = op_device();
  if (device.kind == DeviceKind::cpu || !host.on_cpu()) return host;
  Tensor out = Tensor::allocate(host.dtype(), host.shape());
  device_memory(device).write(host.raw(), out.writable_data<std::byte>(), host.bytes());
  return out;
}

Tensor leaf(Tensor tensor) {
  if (Observer* observer = current_observer()) observer->leaf(tensor, {});
  return tensor;
}

Tensor number(double value, DType dtype) {
  if (Observer* observer = current_observer()) [[unlikely]] {
    Tensor tensor = Tensor::scalar(value, dtype);
    observer->leaf(tensor, {});
    return tensor;
  }
  return constant(value, dtype);
}

Tensor unbroadcast(const Tensor& gradient, const Shape& shape) {
  if (gradient.shape() == shape) return gradient;
  const int added = gradient.rank() - shape.rank();
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < gradient.rank(); ++axis)
    if (axis < added || (shape[axis - added] == 1 && gradient.dim(axis) != 1)) axes.push_back(axis);
  const Tensor sum = axes.empty() ? gradient : reduce_sum(gradient, axes, true);
  return added == 0 ? sum : reshape(sum, shape);
}

Tensor zeros_shaped_like(const Tensor& tensor) {
  const DefaultDeviceScope beside(tensor.device());
  return zeros(tensor.shape(), tensor.dtype());
}

Tensors zero_gradient(const VjpContext& context) {
  return one(zeros_shaped_like(context.inputs[0]));
}

}  // namespace tapedeck::ops
