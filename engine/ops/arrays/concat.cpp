// Joining and splitting tensors.
#include <algorithm>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::ops {
namespace {

/// The dims without `axis`.
Dims without(const Dims& dims, int axis) {
  Dims result;
  for (int i = 0; i < dims.rank(); ++i)
    if (i != axis) result.push_back(dims[i]);
  return result;
}

/// For loops over parts: there may be millions of trivial ones.
void check_interrupt_at_part(std::size_t i) {
  constexpr std::size_t between = 64;
  if (i % between == between - 1) check_interrupt();
}

/// Cotangents of several outputs, zeros where none arrived.
Tensors filled(const VjpContext& c) {
  Tensors gradients;
  for (std::size_t i = 0; i < c.outputs.size(); ++i) {
    check_interrupt_at_part(i);
    gradients.push_back(c.cotangents[i] ? c.cotangents[i] : zeros_shaped_like(c.outputs[i]));
  }
  return gradients;
}

std::span<const Tensor> span_of(const Tensors& tensors) {
  return {tensors.data(), tensors.size()};
}

void require_values(const OpContext& c) {
  if (c.inputs.empty()) fail<InvalidArgumentError>(c.op.name, ": values is empty; needs at least one tensor");
}

}  // namespace

// ---- concat ----
namespace {

int concat_axis(const OpContext& c) {
  return normalize_axis("concat", "axis", integer_of(c, "axis"), c.inputs[0].shape());
}

TensorSpecs concat_shape(const OpContext& c) {
  require_values(c);
  Shape shape = c.inputs[0].shape();
  const int axis = concat_axis(c);
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    require_same_dtype(c, 0, i);
    const Shape& other = c.inputs[i].shape();
    bool fits = other.rank() == shape.rank();
    for (int k = 0; fits && k < shape.rank(); ++k) fits = k == axis || other[k] == shape[k];
    if (!fits)
      fail<InvalidArgumentError>("concat: values[", i, "] ", to_string(other), " and values[0] ",
                                 to_string(c.inputs[0].shape()), " differ in more than axis ", axis);
    if (__builtin_add_overflow(shape[axis], other[axis], &shape[axis]))
      fail<InvalidArgumentError>("concat: the extents of axis ", axis, " add up to more than int64 counts");
  }
  return spec(c.inputs[0].dtype(), shape);
}

Tensors concat_forward(const OpContext& c) {
  Tensor out = allocate_output(c);
  const int axis = concat_axis(c);
  std::int64_t position = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    check_interrupt_at_part(i);
    const Tensor& value = c.inputs[i];
    place(value, out, value.shape(), value.strides(), out.strides(), position * out.strides()[axis]);
    position += value.dim(axis);
  }
  return one(std::move(out));
}

Tensors concat_vjp(const VjpContext& c) {
  const int axis = concat_axis({c.op, c.inputs, c.attributes, {}});
  Tensors gradients(c.inputs.size());
  Integers begin(static_cast<std::size_t>(c.inputs[0].rank()), 0);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    check_interrupt_at_part(i);
    const Shape& shape = c.inputs[i].shape();
    if (c.wanted[i]) gradients[i] = slice(c.cotangents[0], begin, Integers(shape.begin(), shape.end()));
    begin[static_cast<std::size_t>(axis)] += shape[axis];
  }
  return gradients;
}

}  // namespace

TAPEDECK_OP(concat_op) = {
    .name = "concat",
    .python_names = {"concat"},
    .inputs = {{.name = "values", .variadic = true}},
    .attributes = {{.name = "axis",
                    .kind = AttributeKind::integer,
                    .fallback = {},
                    .required = true,
                    .old_name = "concat_dim"}},
    .shape_rule = concat_shape,
    .forward = concat_forward,
    .vjp_reads = VjpReads::shapes,
    .vjp = concat_vjp,
    .vjp_formula = "dxᵢ = the part of dz that xᵢ became",
    .cost = cost::moves,
    .doc =
        "Puts tensors behind one another along an axis.\n\n"
        "values: a list of tensors of one dtype, whose shapes differ along axis only; axis: negative from "
        "the end.\n"
        "Returns: their dtype; the extents along axis add up.\n"
        "Errors: InvalidArgumentError for an empty list, shapes that differ elsewhere, or an axis out of "
        "range; "
        "TypeMismatchError for different dtypes.",
    .takes_narrow = true,
};
Tensor concat(std::span<const Tensor> values, std::int64_t axis) {
  return run_op1(concat_op, values, {axis});
}

// ---- stack ----
namespace {

int stack_axis(const OpContext& c) {
  return normalize_axis("stack", "axis", integer_of(c, "axis"), c.inputs[0].shape(), 1);
}

TensorSpecs stack_shape(const OpContext& c) {
  require_values(c);
  const Shape& shape = c.inputs[0].shape();
  const int axis = stack_axis(c);
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    require_same_dtype(c, 0, i);
    if (c.inputs[i].shape() != shape)
      fail<InvalidArgumentError>("stack: values[", i, "] ", to_string(c.inputs[i].shape()), " and values[0] ",
                                 to_string(shape), " differ in shape");
  }
  Shape result;
  for (int i = 0; i <= shape.rank(); ++i)
    result.push_back(i < axis    ? shape[i]
                     : i == axis ? static_cast<std::int64_t>(c.inputs.size())
                                 : shape[i - 1]);
  return spec(c.inputs[0].dtype(), result);
}

Tensors stack_forward(const OpContext& c) {
  Tensor out = allocate_output(c);
  const int axis = stack_axis(c);
  const Strides to = without(out.strides(), axis);
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    check_interrupt_at_part(i);
    place(c.inputs[i], out, c.inputs[i].shape(), c.inputs[i].strides(), to,
          static_cast<std::int64_t>(i) * out.strides()[axis]);
  }
  return one(std::move(out));
}

}  // namespace

TAPEDECK_OP(stack_op) = {
    .name = "stack",
    .python_names = {"stack"},
    .inputs = {{.name = "values", .variadic = true}},
    .attributes = {{.name = "axis", .kind = AttributeKind::integer, .fallback = std::int64_t{0}}},
    .shape_rule = stack_shape,
    .forward = stack_forward,
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          return unstack(c.cotangents[0], integer_of({c.op, c.inputs, c.attributes, {}}, "axis"));
        },
    .vjp_formula = "dxᵢ = dz[i] along the axis",
    .cost = cost::moves,
    .doc =
        "Puts tensors of one shape together along a new axis.\n\n"
        "values: a list of tensors of one dtype and shape; axis: the position of the new axis.\n"
        "Returns: their dtype; their shape with an axis of extent n put in.\n"
        "Errors: InvalidArgumentError for an empty list, different shapes, or an axis out of range; "
        "TypeMismatchError for different dtypes.",
    .takes_narrow = true,
};
Tensor stack(std::span<const Tensor> values, std::int64_t axis) {
  return run_op1(stack_op, values, {axis});
}

namespace {

/// Throws ResourceExhaustedError for an absurd number of tensors.
void check_output_count(const OpContext& c, std::int64_t count) {
  constexpr std::int64_t most = std::int64_t{1} << 24;
  if (count > most)
    fail<ResourceExhaustedError>(c.op.name, ": would make ", count, " tensors of ",
                                 to_string(c.inputs[0].shape()), "; at most ", most, " can be made");
}

}  // namespace

// ---- unstack ----
TAPEDECK_OP(unstack_op) = {
    .name = "unstack",
    .python_names = {"unstack"},
    .inputs = {{.name = "value"}},
    .attributes = {{.name = "num", .kind = AttributeKind::integer, .fallback = std::monostate{}},
                   {.name = "axis", .kind = AttributeKind::integer, .fallback = std::int64_t{0}}},
    .shape_rule =
        [](const OpContext& c) {
          const Tensor& value = c.inputs[0];
          const int axis = normalize_axis("unstack", "axis", integer_of(c, "axis"), value.shape());
          if (!c.is_none("num") && integer_of(c, "num") != value.dim(axis))
            fail<InvalidArgumentError>("unstack: num is ", integer_of(c, "num"), ", axis ", axis,
                                       " of shape ", to_string(value.shape()), " has extent ",
                                       value.dim(axis));
          check_output_count(c, value.dim(axis));
          TensorSpecs specs;
          for (std::int64_t i = 0; i < value.dim(axis); ++i) {
            check_interrupt_at_part(static_cast<std::size_t>(i));
            specs.push_back({value.dtype(), without(value.shape(), axis)});
          }
          return specs;
        },
    .forward =
        [](const OpContext& c) {
          const Tensor& value = c.inputs[0];
          const int axis = normalize_axis("unstack", "axis", integer_of(c, "axis"), value.shape());
          const Strides strides = without(value.strides(), axis);
          Tensors outputs;
          for (std::size_t i = 0; i < c.outputs.size(); ++i) {
            check_interrupt_at_part(i);
            outputs.push_back(
                view_of(value, c.outputs[i].shape, strides,
                        value.count() == 0 ? 0 : static_cast<std::int64_t>(i) * value.strides()[axis]));
          }
          return outputs;
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          return one(stack(span_of(filled(c)), integer_of({c.op, c.inputs, c.attributes, {}}, "axis")));
        },
    .vjp_formula = "dx = stack(dz₀, dz₁, …) along the axis",
    .cost = cost::view,
    .doc =
        "Splits a tensor along an axis, which is removed; no copies.\n\n"
        "value: any dtype, at least one axis; num: the extent of axis, None to take it as it is; axis: "
        "which.\n"
        "Returns: a list of tensors of the dtype of value.\n"
        "Errors: InvalidArgumentError if num is not the extent, or for an axis out of range.",
    .takes_narrow = true,
    .returns_list = true,
};
Tensors unstack(const Tensor& value, std::int64_t axis) {
  return run_op(unstack_op, {&value, 1}, {std::monostate{}, axis});
}

// ---- split ----
namespace {

TensorSpecs split_shape(const OpContext& c) {
  const Tensor& value = c.inputs[0];
  const int axis = normalize_axis("split", "axis", integer_of(c, "axis"), value.shape());
  const auto* equal_parts = std::get_if<std::int64_t>(&c.attribute("num_or_size_splits"));
  Integers sizes = integers_of(c.attribute("num_or_size_splits"));
  const std::int64_t extent = value.dim(axis);
  if (!c.is_none("num") && integer_of(c, "num") != (equal_parts ? *equal_parts : std::ssize(sizes)))
    fail<InvalidArgumentError>("split: num is ", integer_of(c, "num"), ", num_or_size_splits ",
                               to_string(c.attribute("num_or_size_splits")));
  if (equal_parts) {
    const std::int64_t parts = *equal_parts;
    check_output_count(c, parts);
    if (parts < 1 || extent % parts != 0)
      fail<InvalidArgumentError>("split: ", parts, " equal parts do not fill axis ", axis, " of shape ",
                                 to_string(value.shape()));
    sizes.assign(static_cast<std::size_t>(parts), extent / parts);
  } else {
    std::int64_t open = -1;
    std::int64_t sum = 0;
    bool overflows = false;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == -1 && open < 0)
        open = static_cast<std::int64_t>(i);
      else if (__builtin_add_overflow(sum, std::max<std::int64_t>(sizes[i], -1), &sum))
        overflows = true;
    }
    if (open >= 0) sizes[static_cast<std::size_t>(open)] = overflows ? -1 : extent - sum;
    const bool negative = std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 0; });
    if (negative || overflows || (open < 0 && sum != extent))
      fail<InvalidArgumentError>("split: sizes ", to_string(c.attribute("num_or_size_splits")),
                                 " do not fill axis ", axis, " of shape ", to_string(value.shape()));
  }
  TensorSpecs specs;
  for (const std::int64_t size : sizes) {
    check_interrupt_at_part(specs.size());
    Shape shape = value.shape();
    shape[axis] = size;
    specs.push_back({value.dtype(), shape});
  }
  return specs;
}

Tensors split_forward(const OpContext& c) {
  const Tensor& value = c.inputs[0];
  const int axis = normalize_axis("split", "axis", integer_of(c, "axis"), value.shape());
  Tensors outputs;
  std::int64_t position = 0;
  for (const TensorSpec& part : c.outputs) {
    check_interrupt_at_part(outputs.size());
    outputs.push_back(
        view_of(value, part.shape, value.strides(),
                value.count() == 0 || part.shape[axis] == 0 ? 0 : position * value.strides()[axis]));
    position += part.shape[axis];
  }
  return outputs;
}

}  // namespace

TAPEDECK_OP(split_op) = {
    .name = "split",
    .python_names = {"split"},
    .inputs = {{.name = "value"}},
    .attributes =
        {{.name = "num_or_size_splits", .kind = AttributeKind::integers, .fallback = {}, .required = true},
         {.name = "axis",
          .kind = AttributeKind::integer,
          .fallback = std::int64_t{0},
          .old_name = "split_dim"},
         {.name = "num", .kind = AttributeKind::integer, .fallback = std::monostate{}}},
    .shape_rule = split_shape,
    .forward = split_forward,
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          return one(concat(span_of(filled(c)), integer_of({c.op, c.inputs, c.attributes, {}}, "axis")));
        },
    .vjp_formula = "dx = concat(dz₀, dz₁, …) along the axis",
    .cost = cost::view,
    .doc =
        "Cuts a tensor along an axis; no copies.\n\n"
        "value: any dtype, at least one axis; num_or_size_splits: one number n for n equal parts, or a list "
        "of sizes, of which one may be -1; axis: which; num: None or the number of parts.\n"
        "Returns: a list of tensors of the dtype of value.\n"
        "Errors: InvalidArgumentError where the parts do not fill the axis, or for an axis out of range.",
    .takes_narrow = true,
    .returns_list = true,
};
Tensors split(const Tensor& value, const Integers& num_or_size_splits, std::int64_t axis) {
  return run_op(split_op, {&value, 1}, {num_or_size_splits, axis, std::monostate{}});
}
Tensors split(const Tensor& value, std::int64_t num, std::int64_t axis) {
  return run_op(split_op, {&value, 1}, {num, axis, std::monostate{}});
}

}  // namespace tapedeck::ops
