// Changes of dtype.
#include <cstring>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"
#include "engine/ops/core/narrow_values.h"

namespace tapedeck::ops {
namespace {

Tensor converted(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return view_of(x, x.shape(), x.strides());
  Tensor out = Tensor::allocate(dtype, x.shape());
  backend().cast(x.dtype(), dtype, operand(x, x.shape()), out.writable_data<std::byte>(), x.shape());
  return out;
}

/// The real parts, and complex numbers from them.
Tensor real_parts(const Tensor& x) {
  Strides strides = x.strides();
  for (std::int64_t& stride : strides) stride *= 2;
  return Tensor::view(x.storage(), real_dtype(x.dtype()), x.shape(), strides, 2 * x.offset());
}
Tensor with_real_parts(const Tensor& parts, DType dtype) {
  Tensor out = Tensor::allocate(dtype, parts.shape());
  std::memset(out.writable_data<std::byte>(), 0, out.bytes());
  const Tensor target = real_parts(out);
  place(parts, target, parts.shape(), parts.strides(), target.strides(), 0);
  return out;
}

/// Also to and from complex dtypes: real parts are taken, imaginary ones are 0.
Tensor converted_any(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype || (!is_complex(x.dtype()) && !is_complex(dtype))) return converted(x, dtype);
  if (!is_complex(x.dtype())) return with_real_parts(converted(x, real_dtype(dtype)), dtype);
  if (!is_complex(dtype)) return converted(real_parts(x), dtype);
  Shape pairs = x.shape();
  pairs.push_back(2);
  const Tensor source = contiguous(x);
  const Tensor parts = Tensor::view(source.storage(), real_dtype(x.dtype()), pairs, contiguous_strides(pairs),
                                    2 * source.offset());
  const Tensor other = converted(parts, real_dtype(dtype));
  return Tensor::view(other.storage(), dtype, x.shape(), contiguous_strides(x.shape()), 0);
}

/// To or from a dtype without kernels: through one that causes no double rounding.
Tensor converted_narrow(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return view_of(x, x.shape(), x.strides());
  if (!x.on_cpu()) return converted(x, dtype);  // a GPU converts from any dtype to any other
  const Tensor wide = widen(x);
  if (!is_narrow(dtype)) return converted_any(wide, dtype);
  const bool has_kernels = !has_partial_support(wide.dtype());
  if (is_floating(dtype))
    return narrow(is_floating(wide.dtype()) ? wide : converted_any(wide, DType::float64), dtype);
  return narrow(is_integer(wide.dtype()) && has_kernels ? wide : converted_any(wide, DType::int64), dtype);
}

}  // namespace

TAPEDECK_OP(cast_op) = {
    .name = "cast",
    .python_names = {"cast", "dtypes.cast"},
    .inputs = {{.name = "x"}},
    .attributes = {{.name = "dtype", .kind = AttributeKind::dtype, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          const DType from = c.inputs[0].dtype(), to = c.get<DType>("dtype");
          if ((from == DType::string) != (to == DType::string))
            fail<UnimplementedError>(
                "cast: ", dtype_name(from), " to ", dtype_name(to), " is not supported; ",
                from == DType::string ? "tf.strings.to_number reads numbers" : "tf.as_string writes numbers");
          return spec(to, c.inputs[0].shape());
        },
    .forward =
        [](const OpContext& c) {
          const Tensor x = readable(c.inputs[0]);
          const DType dtype = c.outputs[0].dtype;
          const bool narrow = is_narrow(x.dtype()) || is_narrow(dtype);
          return one(narrow ? converted_narrow(x, dtype) : converted_any(x, dtype));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          // Between floating-point dtypes only: integers have no gradient.
          if (!is_differentiable(c.inputs[0].dtype()) || !is_differentiable(c.cotangents[0].dtype()))
            return Tensors(1);
          return one(cast(c.cotangents[0], c.inputs[0].dtype()));
        },
    .vjp_formula = "dx = cast(dz, dtype of x) between dtypes of real numbers, else none",
    .cost = cost::moves,
    .doc =
        "Converts the values to another dtype, as C does.\n\n"
        "x: any dtype and shape; dtype: what to convert to. Real numbers are cut towards zero; to bool: x ≠ "
        "0. Numbers "
        "that an integer dtype cannot hold wrap around; real ones that int32 or int64 (or, for the other "
        "dtypes, int64) cannot hold give that one's lowest value first.\n"
        "Returns: the new dtype, the shape of x; it shares memory with x where the dtype is the same.",
    .takes_narrow = true,
};
Tensor cast(const Tensor& x, DType dtype) {
  return run_op1(cast_op, {x}, {dtype});
}

// ---- bitcast ----
namespace {

TensorSpecs bitcast_shape(const OpContext& c) {
  const Tensor& input = c.inputs[0];
  const DType type = c.get<DType>("type");
  if (input.dtype() == DType::bool_ || type == DType::bool_ || input.dtype() == DType::string ||
      type == DType::string)
    fail<TypeMismatchError>("bitcast: input is ", dtype_name(input.dtype()), " and type is ",
                            dtype_name(type), "; needs numeric dtypes");
  const auto from = static_cast<std::int64_t>(item_size(input.dtype()));
  const auto to = static_cast<std::int64_t>(item_size(type));
  Shape shape = input.shape();
  if (from > to) shape.push_back(from / to);
  if (from < to) {
    const int last = shape.rank() - 1;
    if (last < 0 || shape[last] != to / from)
      fail<InvalidArgumentError>("bitcast: input has shape ", to_string(shape), "; ", to / from,
                                 " elements of ", dtype_name(input.dtype()),
                                 " along its last axis make one of ", dtype_name(type));
    shape.resize(last);
  }
  return spec(type, shape);
}

}  // namespace

TAPEDECK_OP(bitcast_op) = {
    .name = "bitcast",
    .python_names = {"bitcast"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "type", .kind = AttributeKind::dtype, .fallback = {}, .required = true}},
    .shape_rule = bitcast_shape,
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor input = contiguous(c.inputs[0]);
          if (input.count() > 0)
            backend().copy(item_size(input.dtype()), input.raw(), {1}, out.writable_data<std::byte>(), {1},
                           {input.count()});
          return one(std::move(out));
        },
    .form = Form::bits,
    .vjp = nullptr,
    .vjp_formula = "none",
    .cost = cost::view,
    .doc =
        "The same bytes, read as another dtype.\n\n"
        "input: any numeric dtype and shape; type: any numeric dtype. Parts of a number are in the "
        "machine's "
        "order, on x86 the lowest first.\n"
        "Returns: type; the shape of input, with an axis behind it for the parts that each element has "
        "become, "
        "or without the last axis, whose elements have become one.\n"
        "Errors: InvalidArgumentError where the last axis is not as long as one element of type has parts; "
        "TypeMismatchError for bool.",
    .takes_narrow = true,
};

}  // namespace tapedeck::ops
