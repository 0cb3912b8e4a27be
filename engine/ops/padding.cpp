// Repetitions and borders.
#include "engine/cpu/copy.h"
#include "engine/ops/checks.h"
#include "engine/ops/families.h"

namespace tapedeck::ops {

// ---- tile ----
TAPEDECK_OP(tile_op) = {
    .name = "tile",
    .python_names = {"tile"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "multiples", .kind = AttributeKind::integers, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          Shape shape = c.inputs[0].shape();
          const Integers multiples = integers_of(c.attributes[0]);
          bool fits = multiples.size() == static_cast<std::size_t>(shape.rank());
          for (std::size_t i = 0; fits && i < multiples.size(); ++i)
            fits = multiples[i] >= 0 && !__builtin_mul_overflow(shape[static_cast<int>(i)], multiples[i],
                                                                &shape[static_cast<int>(i)]);
          if (!fits)
            fail<InvalidArgumentError>("tile: multiples ", to_string(c.attributes[0]), " for shape ",
                                       to_string(c.inputs[0].shape()),
                                       "; needs one number for each axis, none negative");
          return spec(c.inputs[0].dtype(), shape);
        },
    .forward =
        [](const OpContext& c) {
          Tensor values = contiguous(c.inputs[0]);
          const Integers multiples = integers_of(c.attributes[0]);
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
    .vjp =
        [](const VjpContext& c) {
          Tensor gradient = c.cotangents[0];
          const Shape& shape = c.inputs[0].shape();
          const Integers multiples = integers_of(c.attributes[0]);
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
    .vjp_formula = "dx = Σ dy over the repetitions",
    .doc =
        "Repeats a tensor along its axes.\n\n"
        "input: any dtype; multiples: how often along each axis.\n"
        "Returns: the dtype of input, its extents times multiples.\n"
        "Errors: InvalidArgumentError where multiples does not have one number, not negative, for each axis.",
};
Tensor tile(const Tensor& input, const Integers& multiples) {
  return run_op1(tile_op, {input}, {multiples});
}

// ---- pad ----
TAPEDECK_OP(pad_op) = {
    .name = "pad",
    .python_names = {"pad"},
    .inputs = {{.name = "tensor"}},
    .attributes = {{.name = "paddings", .kind = AttributeKind::integers, .fallback = {}, .required = true},
                   {.name = "constant_values", .kind = AttributeKind::real, .fallback = 0.0}},
    .shape_rule =
        [](const OpContext& c) {
          Shape shape = c.inputs[0].shape();
          const Integers paddings = integers_of(c.attributes[0]);
          bool fits = paddings.size() == 2 * static_cast<std::size_t>(shape.rank());
          for (std::size_t i = 0; fits && i < paddings.size(); ++i)
            fits = paddings[i] >= 0 && !__builtin_add_overflow(shape[static_cast<int>(i / 2)], paddings[i],
                                                               &shape[static_cast<int>(i / 2)]);
          if (!fits)
            fail<InvalidArgumentError>("pad: paddings ", to_string(c.attributes[0]), " for tensor ",
                                       to_string(c.inputs[0].shape()),
                                       "; needs two numbers for each axis, none negative");
          return spec(c.inputs[0].dtype(), shape);
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor value = Tensor::scalar(real_of(c.attributes[1]), out.dtype());
          cpu::fill(item_size(out.dtype()), value.raw(), out.writable_data<std::byte>(), out.count());
          const Integers paddings = integers_of(c.attributes[0]);
          std::int64_t offset = 0;
          for (int axis = 0; axis < out.rank(); ++axis)
            offset += paddings[2 * static_cast<std::size_t>(axis)] * out.strides()[axis];
          const Tensor& x = c.inputs[0];
          if (x.count() > 0) place(x, out, x.shape(), x.strides(), out.strides(), offset);
          return one(std::move(out));
        },
    .vjp =
        [](const VjpContext& c) {
          const Integers paddings = integers_of(c.attributes[0]);
          const Shape& shape = c.inputs[0].shape();
          Integers begin;
          for (std::size_t i = 0; i < paddings.size(); i += 2) begin.push_back(paddings[i]);
          return one(slice(c.cotangents[0], begin, Integers(shape.begin(), shape.end())));
        },
    .vjp_formula = "dx = dy without the border",
    .doc =
        "Puts a border of one value around a tensor.\n\n"
        "tensor: any dtype; paddings: how many before and after, axis by axis (a list of pairs, read one "
        "after "
        "another); constant_values: the value.\n"
        "Returns: the dtype of tensor, its extents with the paddings added.\n"
        "Errors: InvalidArgumentError where paddings does not have two numbers, not negative, for each axis.",
};
Tensor pad(const Tensor& tensor, const Integers& paddings, double constant_values) {
  return run_op1(pad_op, {tensor}, {paddings, constant_values});
}

void link_padding() {}

}  // namespace tapedeck::ops
