// Creation of tensors.
#include <algorithm>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"
#include "engine/ops/core/narrow_values.h"

namespace tapedeck::ops {
namespace {

template <int value>
Tensors constant_forward(const OpContext& c) {
  Tensor out = allocate_output(c);
  if (value == 0 && out.dtype() == DType::string) return one(std::move(out));  // empty ones
  const Tensor element = constant(value, out.dtype());
  backend().fill(item_size(out.dtype()), element.raw(), out.writable_data<std::byte>(), out.count());
  return one(std::move(out));
}

OpDef constant_row(const std::string& name, const std::string& what, Forward forward) {
  return {
      .name = name,
      .python_names = {name},
      .inputs = {},
      .attributes = {{.name = "shape", .kind = AttributeKind::shape, .fallback = {}, .required = true},
                     {.name = "dtype", .kind = AttributeKind::dtype, .fallback = DType::float32}},
      .shape_rule = [](const OpContext& c) { return spec(c.get<DType>("dtype"), shape_of(c, "shape")); },
      .forward = forward,
      .vjp = nullptr,
      .vjp_formula = "none",
      .cost = cost::moves,
      .doc = "A tensor of " + what +
             ".\n\nshape: extents of the result; dtype: any.\nReturns: dtype, shape.\nErrors: "
             "InvalidArgumentError for a "
             "negative extent.",
      .takes_narrow = true,
  };
}

OpDef like_row(const std::string& name, const std::string& what, Forward forward) {
  return {
      .name = name,
      .python_names = {name},
      .inputs = {{.name = "input", .old_name = "tensor"}},
      .attributes = {{.name = "dtype", .kind = AttributeKind::dtype, .fallback = std::monostate{}}},
      .shape_rule =
          [](const OpContext& c) {
            return spec(c.is_none("dtype") ? c.inputs[0].dtype() : c.get<DType>("dtype"),
                        c.inputs[0].shape());
          },
      .forward = forward,
      .vjp = nullptr,
      .vjp_formula = "none",
      .cost = cost::view,
      .doc = "A tensor of " + what +
             " with the shape of another.\n\ninput: any dtype and shape; dtype: of the result, None for that "
             "of input.\n"
             "Returns: dtype, the shape of input.",
      .python_hints = {"optimize"},
      .takes_narrow = true,
  };
}

Attribute optional_dtype(std::optional<DType> dtype) {
  return dtype ? Attribute(*dtype) : Attribute();
}

}  // namespace

TAPEDECK_OP(zeros_op) = constant_row("zeros", "zeros", constant_forward<0>);
Tensor zeros(const Shape& shape, DType dtype) {
  return run_op1(zeros_op, {}, {attribute_of(shape), dtype});
}

TAPEDECK_OP(ones_op) = constant_row("ones", "ones", constant_forward<1>);
Tensor ones(const Shape& shape, DType dtype) {
  return run_op1(ones_op, {}, {attribute_of(shape), dtype});
}

TAPEDECK_OP(zeros_like_op) = like_row("zeros_like", "zeros", constant_forward<0>);
Tensor zeros_like(const Tensor& input, std::optional<DType> dtype) {
  return run_op1(zeros_like_op, {input}, {optional_dtype(dtype)});
}

TAPEDECK_OP(ones_like_op) = like_row("ones_like", "ones", constant_forward<1>);
Tensor ones_like(const Tensor& input, std::optional<DType> dtype) {
  return run_op1(ones_like_op, {input}, {optional_dtype(dtype)});
}

// ---- fill ----
TAPEDECK_OP(fill_op) = {
    .name = "fill",
    .python_names = {"fill"},
    .inputs = {{.name = "value"}},
    .attributes = {{.name = "dims", .kind = AttributeKind::shape, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          if (c.inputs[0].rank() != 0)
            fail<InvalidArgumentError>("fill: value has shape ", to_string(c.inputs[0].shape()),
                                       "; needs a scalar");
          return spec(c.inputs[0].dtype(), shape_of(c, "dims"));
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor& value = c.inputs[0];
          if (value.on_cpu())
            backend().fill(item_size(out.dtype()), value.raw(), out.writable_data<std::byte>(), out.count());
          else
            backend().copy(item_size(out.dtype()), value.raw(), {0}, out.writable_data<std::byte>(), {1},
                           {out.count()});
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp = [](const VjpContext& c) { return one(reduce_sum(c.cotangents[0])); },
    .vjp_formula = "d(value) = Σ dz",
    .cost = cost::moves,
    .doc =
        "A tensor that holds one value everywhere.\n\n"
        "dims: extents of the result; value: a scalar of any dtype.\n"
        "Returns: the dtype of value, shape dims.\n"
        "Errors: InvalidArgumentError for a negative extent, or a value that is not a scalar.",
    .python_order = {"dims", "value"},
    .takes_narrow = true,
    .immediates = true,
};
Tensor fill(const Shape& dims, const Tensor& value) {
  return run_op1(fill_op, {value}, {attribute_of(dims)});
}

// ---- eye ----
TAPEDECK_OP(eye_op) = {
    .name = "eye",
    .python_names = {"eye", "linalg.eye"},
    .inputs = {},
    .attributes = {{.name = "num_rows", .kind = AttributeKind::integer, .fallback = {}, .required = true},
                   {.name = "num_columns", .kind = AttributeKind::integer, .fallback = std::monostate{}},
                   {.name = "batch_shape", .kind = AttributeKind::shape, .fallback = std::monostate{}},
                   {.name = "dtype", .kind = AttributeKind::dtype, .fallback = DType::float32}},
    .shape_rule =
        [](const OpContext& c) {
          const std::int64_t rows = integer_of(c, "num_rows");
          const std::int64_t columns = c.is_none("num_columns") ? rows : integer_of(c, "num_columns");
          if (rows < 0 || columns < 0)
            fail<InvalidArgumentError>("eye: num_rows ", rows, " and num_columns ", columns,
                                       "; neither may be negative");
          Shape shape = c.is_none("batch_shape") ? Shape{} : shape_of(c, "batch_shape");
          shape.push_back(rows);
          shape.push_back(columns);
          return spec(c.get<DType>("dtype"), shape);
        },
    .forward =
        [](const OpContext& c) {
          Tensors result = constant_forward<0>(c);
          const Tensor& out = result[0];
          const Tensor element = on_op_device(Tensor::scalar(1.0, out.dtype()));
          const std::int64_t rows = out.dim(out.rank() - 2);
          const std::int64_t columns = out.dim(out.rank() - 1);
          if (out.count() == 0) return result;
          backend().copy(item_size(out.dtype()), element.raw(), {0, 0}, out.writable_data<std::byte>(),
                         {rows * columns, columns + 1},
                         {out.count() / (rows * columns), std::min(rows, columns)});
          return result;
        },
    .vjp = nullptr,
    .vjp_formula = "none",
    .cost = cost::moves,
    .doc =
        "The identity matrix: ones on the diagonal, zeros elsewhere.\n\n"
        "num_rows; num_columns: None for as many as rows; batch_shape: axes before those of the matrix, "
        "along "
        "which it repeats; dtype: any.\n"
        "Returns: dtype, batch_shape + (num_rows, num_columns).\n"
        "Errors: InvalidArgumentError for a negative number.",
    .takes_narrow = true,
};
Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns, DType dtype) {
  return run_op1(eye_op, {}, {rows, columns ? Attribute(*columns) : Attribute(), Attribute(), dtype});
}

// ---- one_hot ----
namespace {

constexpr AttributeName one_hot_values[] = {"on_value", "off_value"};

/// Without a dtype, that of the values: a number without a point is an int32, as in tf.constant.
DType one_hot_dtype(const OpContext& c) {
  if (!c.is_none("dtype")) return c.get<DType>("dtype");
  for (const AttributeName name : one_hot_values) {
    const Attribute& value = c.attribute(name);
    if (std::holds_alternative<bool>(value)) return DType::bool_;
    if (std::holds_alternative<double>(value)) return DType::float32;
    if (std::holds_alternative<std::int64_t>(value)) return DType::int32;
  }
  return DType::float32;
}

Tensor one_hot_value(const OpContext& c, AttributeName attribute, double fallback, DType dtype) {
  return c.is_none(attribute) ? Tensor::scalar(fallback, dtype) : scalar_of(c, attribute, dtype);
}

TensorSpecs one_hot_shape(const OpContext& c) {
  require_kind(c, 0, Kind::integer);
  const Shape& shape = c.inputs[0].shape();
  const std::int64_t depth = integer_of(c, "depth");
  if (depth < 0) fail<InvalidArgumentError>("one_hot: depth is ", depth, "; it may not be negative");
  const int axis = normalize_axis("one_hot", "axis", integer_of(c, "axis"), shape, 1);
  Shape result;
  for (int i = 0; i <= shape.rank(); ++i)
    result.push_back(i < axis ? shape[i] : i == axis ? depth : shape[i - 1]);
  const DType dtype = one_hot_dtype(c);
  for (const AttributeName name : one_hot_values) one_hot_value(c, name, 0.0, dtype);
  return spec(dtype, result);
}

Tensors one_hot_forward(const OpContext& c) {
  Tensor out = allocate_output(c);
  if (out.count() == 0) return one(std::move(out));
  const Tensor on = one_hot_value(c, "on_value", 1.0, out.dtype());
  const Tensor off = one_hot_value(c, "off_value", 0.0, out.dtype());
  const int axis = normalize_axis("one_hot", "axis", integer_of(c, "axis"), c.inputs[0].shape(), 1);
  std::int64_t inner = 1;
  for (int i = axis + 1; i < out.rank(); ++i) inner *= out.dim(i);
  const Tensor indices = contiguous(widen(c.inputs[0]));
  // uint64 numbers that are negative as int64 are larger than any index.
  const DType dtype = indices.dtype() == DType::uint64 ? DType::int64 : indices.dtype();
  backend().one_hot(item_size(out.dtype()), dtype, indices.raw(), indices.count() / inner, out.dim(axis),
                    inner, on.raw(), off.raw(), out.writable_data<std::byte>());
  return one(std::move(out));
}

}  // namespace

TAPEDECK_OP(one_hot_op) = {
    .name = "one_hot",
    .python_names = {"one_hot"},
    .inputs = {{.name = "indices"}},
    .attributes = {{.name = "depth", .kind = AttributeKind::integer, .fallback = {}, .required = true},
                   {.name = "on_value", .kind = AttributeKind::real, .fallback = std::monostate{}},
                   {.name = "off_value", .kind = AttributeKind::real, .fallback = std::monostate{}},
                   {.name = "axis", .kind = AttributeKind::integer, .fallback = std::int64_t{-1}},
                   {.name = "dtype", .kind = AttributeKind::dtype, .fallback = std::monostate{}}},
    .shape_rule = one_hot_shape,
    .forward = one_hot_forward,
    .vjp = nullptr,
    .vjp_formula = "none",
    .cost = cost::moves,
    .doc =
        "One row per index: on_value at the index, off_value elsewhere.\n\n"
        "indices: any integer dtype, any shape; an index outside [0, depth) gives a row of off_value; "
        "depth: "
        "length of "
        "the rows; on_value, off_value: None for 1 and 0; axis: the position of the new axis, −1 for the "
        "end; "
        "dtype: of the result, None for that of the values, else float32.\n"
        "Returns: dtype, the shape of indices with an axis of extent depth put in.\n"
        "Errors: InvalidArgumentError for a negative depth or an axis out of range; TypeMismatchError for "
        "indices "
        "that are not integers.",
    .takes_narrow = true,
};
Tensor one_hot(const Tensor& indices, std::int64_t depth, DType dtype, std::int64_t axis) {
  return run_op1(one_hot_op, {indices}, {depth, std::monostate{}, std::monostate{}, axis, dtype});
}

}  // namespace tapedeck::ops
