// Repetitions and borders.
#include <algorithm>
#include <cctype>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"
#include "engine/ops/core/placement.h"

namespace tapedeck::ops {

// ---- tile ----
TAPEDECK_OP(tile_op) = {
    .name = "tile",
    .python_names = {"tile", "manip.tile"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "multiples", .kind = AttributeKind::integers, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          Shape shape = c.inputs[0].shape();
          const Integers multiples = integers_of(c.attribute("multiples"));
          bool fits = multiples.size() == static_cast<std::size_t>(shape.rank());
          for (std::size_t i = 0; fits && i < multiples.size(); ++i)
            fits = multiples[i] >= 0 && !__builtin_mul_overflow(shape[static_cast<int>(i)], multiples[i],
                                                                &shape[static_cast<int>(i)]);
          if (!fits)
            fail<InvalidArgumentError>("tile: multiples ", to_string(c.attribute("multiples")), " for shape ",
                                       to_string(c.inputs[0].shape()),
                                       "; needs one number for each axis, none negative");
          return spec(c.inputs[0].dtype(), shape);
        },
    .forward =
        [](const OpContext& c) {
          if (element_count(c.outputs[0].shape) == 0) return one(allocate_output(c));
          Tensor values = contiguous(c.inputs[0]);
          const Integers multiples = integers_of(c.attribute("multiples"));
          Shape shape = values.shape();
          for (int axis = shape.rank() - 1; axis >= 0;
               --axis) {  // one axis at a time: repeat runs of [axis, end)
            const std::int64_t times = multiples[static_cast<std::size_t>(axis)];
            if (times == 1) continue;
            std::int64_t outer = 1;
            std::int64_t run = 1;
            for (int i = 0; i < axis; ++i) outer *= shape[i];
            for (int i = axis; i < shape.rank(); ++i) run *= shape[i];
            shape[axis] *= times;
            const Tensor next = Tensor::allocate(values.dtype(), shape);
            place(values, next, {outer, times, run}, {run, 0, 1}, {times * run, run, 1}, 0);
            values = next;
          }
          return one(view_of(values, c.outputs[0].shape, contiguous_strides(c.outputs[0].shape)));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          Tensor gradient = c.cotangents[0];
          if (gradient.count() == 0) return zero_gradient(c);
          const Shape& shape = c.inputs[0].shape();
          const Integers multiples = integers_of(c.attribute("multiples"));
          for (int axis = 0; axis < shape.rank(); ++axis) {
            const std::int64_t times = multiples[static_cast<std::size_t>(axis)];
            if (times == 1) continue;
            Shape reduced = gradient.shape();
            reduced[axis] = shape[axis];
            std::int64_t outer = 1;
            std::int64_t run = shape[axis];
            for (int i = 0; i < axis; ++i) outer *= reduced[i];
            for (int i = axis + 1; i < shape.rank(); ++i) run *= reduced[i];
            gradient = reshape(reduce_sum(reshape(gradient, {outer, times, run}), Integers{1}), reduced);
          }
          return one(gradient);
        },
    .vjp_formula = "dx = Σ dz over the repetitions",
    .cost = cost::moves,
    .doc =
        "Repeats a tensor along its axes.\n\n"
        "input: any dtype; multiples: how often along each axis.\n"
        "Returns: the dtype of input, its extents times multiples.\n"
        "Errors: InvalidArgumentError if multiples does not have one non-negative number for each axis.",
    .takes_narrow = true,
};
Tensor tile(const Tensor& input, const Integers& multiples) {
  return run_op1(tile_op, {input}, {multiples});
}

// ---- pad ----
namespace {

enum class Border : std::uint8_t { constant, reflect, symmetric };

Border border_of(const Attribute& mode) {
  std::string text = std::get<std::string>(mode);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (text == "CONSTANT") return Border::constant;
  if (text == "REFLECT") return Border::reflect;
  if (text == "SYMMETRIC") return Border::symmetric;
  fail<InvalidArgumentError>("pad: mode is ", to_string(mode),
                             "; it is 'CONSTANT', 'REFLECT' or 'SYMMETRIC'");
}

TensorSpecs pad_shape(const OpContext& c) {
  const Shape& from = c.inputs[0].shape();
  Shape shape = from;
  const Integers paddings = integers_of(c.attribute("paddings"));
  if (paddings.size() != 2 * static_cast<std::size_t>(shape.rank()) ||
      std::any_of(paddings.begin(), paddings.end(), [](std::int64_t padding) { return padding < 0; }))
    fail<InvalidArgumentError>("pad: paddings ", to_string(c.attribute("paddings")), " for tensor ",
                               to_string(from), "; needs two numbers for each axis, none negative");
  for (std::size_t i = 0; i < paddings.size(); ++i)
    if (__builtin_add_overflow(shape[static_cast<int>(i / 2)], paddings[i], &shape[static_cast<int>(i / 2)]))
      fail<InvalidArgumentError>("pad: paddings ", to_string(c.attribute("paddings")), " for tensor ",
                                 to_string(from), ": the extents overflow int64");
  const Border border = border_of(c.attribute("mode"));
  if (border == Border::constant) {
    scalar_of(c, "constant_values", c.inputs[0].dtype());
    return spec(c.inputs[0].dtype(), shape);
  }
  for (std::size_t i = 0; i < paddings.size(); ++i) {
    const std::int64_t most = from[static_cast<int>(i / 2)] - (border == Border::reflect ? 1 : 0);
    if (paddings[i] > std::max<std::int64_t>(0, most))
      fail<InvalidArgumentError>("pad: paddings ", to_string(c.attribute("paddings")), " for tensor ",
                                 to_string(from), ": mode ", to_string(c.attribute("mode")), " can pad axis ",
                                 i / 2, " by at most ", std::max<std::int64_t>(0, most));
  }
  return spec(c.inputs[0].dtype(), shape);
}

/// The element of an axis of extent `count` at each position of the padded one.
Tensor mirrored_places(std::int64_t count, std::int64_t before, std::int64_t after, Border border) {
  const std::int64_t edge = border == Border::symmetric ? 1 : 0;  // the edge itself is repeated
  Tensor places = Tensor::allocate(DType::int64, {before + count + after}, Device{});
  std::int64_t* place = places.writable_data<std::int64_t>();
  for (std::int64_t i = -before; i < count + after; ++i)
    *place++ = i < 0 ? -i - edge : i >= count ? 2 * (count - 1) - i + edge : i;
  return places;
}

Tensor pad_by_mirrors(const Tensor& tensor, const Integers& paddings, Border border) {
  Tensor values = contiguous(tensor);
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const auto at = 2 * static_cast<std::size_t>(axis);
    if (paddings[at] == 0 && paddings[at + 1] == 0) continue;
    const Tensor places =
        on_op_device(mirrored_places(values.dim(axis), paddings[at], paddings[at + 1], border));
    Shape shape = values.shape();
    std::int64_t outer = 1;
    std::size_t row = item_size(values.dtype());
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) row *= static_cast<std::size_t>(shape[i]);
    shape[axis] = places.count();
    Tensor next = Tensor::allocate(values.dtype(), shape);
    backend().gather_rows(values.raw(), outer, values.dim(axis), places.data<std::int64_t>(), shape[axis],
                          row, next.writable_data<std::byte>());
    values = next;
  }
  return values;
}

Tensors pad_forward(const OpContext& c) {
  const Integers paddings = integers_of(c.attribute("paddings"));
  const Border border = border_of(c.attribute("mode"));
  const Tensor& x = c.inputs[0];
  if (border != Border::constant) {
    const Tensor padded = pad_by_mirrors(x, paddings, border);
    return one(view_of(padded, padded.shape(), padded.strides()));
  }
  Tensor out = allocate_output(c);
  const Tensor value = scalar_of(c, "constant_values", out.dtype());
  backend().fill(item_size(out.dtype()), value.raw(), out.writable_data<std::byte>(), out.count());
  std::int64_t offset = 0;
  if (x.count() > 0) {
    for (int axis = 0; axis < out.rank(); ++axis)
      offset += paddings[2 * static_cast<std::size_t>(axis)] * out.strides()[axis];
    place(x, out, x.shape(), x.strides(), out.strides(), offset);
  }
  return one(std::move(out));
}

/// Adds the gradients of the copies to that of the original element, axis by axis.
Tensor mirror_gradient(Tensor gradient, const Shape& shape, const Integers& paddings, Border border) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto at = 2 * static_cast<std::size_t>(axis);
    if (paddings[at] == 0 && paddings[at + 1] == 0) continue;
    const Tensor ids = copy_to(leaf(mirrored_places(shape[axis], paddings[at], paddings[at + 1], border)),
                               gradient.device());
    Integers front;
    for (int i = 0; i < shape.rank(); ++i) front.push_back(i == 0 ? axis : i == axis ? 0 : i);
    if (axis > 0) gradient = transpose(gradient, front);  // its own inverse
    gradient = unsorted_segment_sum(gradient, ids, shape[axis]);
    if (axis > 0) gradient = transpose(gradient, front);
  }
  return gradient;
}

Tensors pad_vjp(const VjpContext& c) {
  const Integers paddings = integers_of(c.attribute("paddings"));
  const Shape& shape = c.inputs[0].shape();
  const Border border = border_of(c.attribute("mode"));
  if (border != Border::constant) return one(mirror_gradient(c.cotangents[0], shape, paddings, border));
  Integers begin;
  for (std::size_t i = 0; i < paddings.size(); i += 2) begin.push_back(paddings[i]);
  return one(slice(c.cotangents[0], begin, Integers(shape.begin(), shape.end())));
}

}  // namespace

TAPEDECK_OP(pad_op) = {
    .name = "pad",
    .python_names = {},  // tf.pad reads the pairs of paddings
    .inputs = {{.name = "tensor"}},
    .attributes = {{.name = "paddings", .kind = AttributeKind::integers, .fallback = {}, .required = true},
                   {.name = "mode", .kind = AttributeKind::text, .fallback = std::string("CONSTANT")},
                   {.name = "constant_values", .kind = AttributeKind::real, .fallback = 0.0}},
    .shape_rule = pad_shape,
    .forward = pad_forward,
    .vjp_reads = VjpReads::shapes,
    .vjp = pad_vjp,
    .vjp_formula = "dx = dz without the border, the border's mirrored part added",
    .cost = cost::moves,
    .doc =
        "Adds a border to a tensor: one value, or the tensor's mirror image.\n\n"
        "tensor: any dtype; paddings: how many before and after, axis by axis (pairs, read one after "
        "another); mode: 'CONSTANT' for constant_values; 'REFLECT', mirrored at the edge element; "
        "'SYMMETRIC', mirrored before it, so that the edge element is repeated.\n"
        "Returns: the dtype of tensor, its extents with the paddings added.\n"
        "Errors: InvalidArgumentError if paddings does not have two non-negative numbers for each axis, "
        "a mirrored border is wider than the tensor, or constant_values does not fit the dtype (for strings "
        "only 0 does, which means empty strings).",
    .takes_narrow = true,
};
Tensor pad(const Tensor& tensor, const Integers& paddings, double constant_values) {
  return run_op1(pad_op, {tensor}, {paddings, std::string("CONSTANT"), constant_values});
}

}  // namespace tapedeck::ops
