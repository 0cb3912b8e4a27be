// Orders of axes and of elements along them.
#include <algorithm>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/elementwise/complex.h"

namespace tapedeck::ops {

// ---- transpose ----
namespace {

Integers permutation_of(const OpContext& c) {
  const Shape& shape = c.inputs[0].shape();
  const int rank = shape.rank();
  Integers perm;
  if (c.is_none("perm")) {
    for (int axis = rank - 1; axis >= 0; --axis) perm.push_back(axis);
    return perm;
  }
  perm = integers_of(c.attribute("perm"));
  std::vector<bool> seen(static_cast<std::size_t>(rank), false);
  bool valid = perm.size() == static_cast<std::size_t>(rank);
  for (std::int64_t& axis : perm) {
    if (axis < 0) axis += rank;
    valid = valid && axis >= 0 && axis < rank && !seen[static_cast<std::size_t>(axis)];
    if (valid) seen[static_cast<std::size_t>(axis)] = true;
  }
  if (!valid)
    fail<InvalidArgumentError>("transpose: perm ", to_string(c.attribute("perm")),
                               " does not name each axis of shape ", to_string(shape), " once");
  return perm;
}

template <class Context>
bool conjugates(const Context& c, const Tensor& tensor) {
  return is_complex(tensor.dtype()) && c.template get<bool>("conjugate");
}

}  // namespace

TAPEDECK_OP(transpose_op) = {
    .name = "transpose",
    .python_names = {"transpose"},
    .inputs = {{.name = "a"}},
    .attributes = {{.name = "perm", .kind = AttributeKind::integers, .fallback = std::monostate{}},
                   {.name = "conjugate", .kind = AttributeKind::boolean, .fallback = false}},
    .shape_rule =
        [](const OpContext& c) {
          Shape shape;
          for (const std::int64_t axis : permutation_of(c))
            shape.push_back(c.inputs[0].dim(static_cast<int>(axis)));
          return spec(c.inputs[0].dtype(), shape);
        },
    .forward =
        [](const OpContext& c) {
          Strides strides;
          for (const std::int64_t axis : permutation_of(c))
            strides.push_back(c.inputs[0].strides()[static_cast<int>(axis)]);
          const Tensor turned = view_of(c.inputs[0], c.outputs[0].shape, strides);
          if (!conjugates(c, turned)) return one(turned);
          const QuietScope quiet;
          return one(conj(turned));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          const Tensor g = conjugates(c, c.inputs[0]) ? conj(c.cotangents[0]) : c.cotangents[0];
          if (c.is_none("perm")) return one(transpose(g));
          const Integers perm = permutation_of({c.op, c.inputs, c.attributes, {}});
          Integers inverse(perm.size());
          for (std::size_t i = 0; i < perm.size(); ++i)
            inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
          return one(transpose(g, inverse));
        },
    .vjp_formula = "dx = transpose(dz, inverse of perm)",
    .cost = cost::view,
    .doc =
        "Puts the axes in another order, without a copy: axis i of the result is axis perm[i] of a.\n\n"
        "a: any dtype and shape; perm: every axis once, None for the reverse order (a matrix is "
        "transposed); conjugate: of complex numbers, takes the conjugates.\n"
        "Returns: the dtype of a, its extents in that order.\n"
        "Errors: InvalidArgumentError if perm does not name each axis once.",
    .takes_narrow = true,
};
Tensor transpose(const Tensor& a, const Axes& perm) {
  return run_op1(transpose_op, {a}, {attribute_of(perm), false});
}

// ---- broadcast_to ----
TAPEDECK_OP(broadcast_to_op) = {
    .name = "broadcast_to",
    .python_names = {"broadcast_to"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "shape", .kind = AttributeKind::shape, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          const Shape shape = shape_of(c, "shape");
          const Shape& from = c.inputs[0].shape();
          bool fits = from.rank() <= shape.rank();
          for (int axis = 0; fits && axis < from.rank(); ++axis)
            fits = from[axis] == 1 || from[axis] == shape[axis + shape.rank() - from.rank()];
          if (!fits)
            fail<InvalidArgumentError>("broadcast_to: input ", to_string(from),
                                       " does not broadcast to shape ", to_string(shape));
          return spec(c.inputs[0].dtype(), shape);
        },
    .forward =
        [](const OpContext& c) {
          const Shape& shape = c.outputs[0].shape;
          return one(view_of(c.inputs[0], shape, broadcast_strides(c.inputs[0], shape)));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp = [](const VjpContext& c) { return one(unbroadcast(c.cotangents[0], c.inputs[0].shape())); },
    .vjp_formula = "dx = Σ dz over the repeated axes",
    .cost = cost::view,
    .doc =
        "Repeats a tensor along new axes and axes of extent 1, without a copy.\n\n"
        "input: any dtype; shape: to which its shape broadcasts by NumPy's rule.\n"
        "Returns: the dtype of input, shape.\n"
        "Errors: InvalidArgumentError if it does not broadcast.",
    .takes_narrow = true,
};
Tensor broadcast_to(const Tensor& input, const Shape& shape) {
  return run_op1(broadcast_to_op, {input}, {attribute_of(shape)});
}

// ---- reverse ----
TAPEDECK_OP(reverse_op) = {
    .name = "reverse",
    .python_names = {"reverse", "manip.reverse"},
    .inputs = {{.name = "tensor"}},
    .attributes = {{.name = "axis", .kind = AttributeKind::integers, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          axis_flags(c, "axis", c.inputs[0].shape());
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          const Tensor& x = c.inputs[0];
          if (x.count() == 0) return one(view_of(x, x.shape(), x.strides()));
          const std::vector<bool> flags = axis_flags(c, "axis", x.shape());
          Strides strides = x.strides();
          std::int64_t offset = 0;
          for (int axis = 0; axis < x.rank(); ++axis) {
            if (!flags[static_cast<std::size_t>(axis)]) continue;
            offset += strides[axis] * (x.dim(axis) - 1);
            strides[axis] = -strides[axis];
          }
          return one(view_of(x, x.shape(), strides, offset));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) { return one(reverse(c.cotangents[0], integers_of(c.attribute("axis")))); },
    .vjp_formula = "dx = reverse(dz, axis)",
    .cost = cost::view,
    .doc =
        "Turns axes round, without a copy: the last element comes first.\n\n"
        "tensor: any dtype and shape; axis: a list of axes.\n"
        "Returns: the dtype and shape of tensor.\n"
        "Errors: InvalidArgumentError for an axis out of range or named twice.",
    .takes_narrow = true,
};
Tensor reverse(const Tensor& tensor, const Integers& axis) {
  return run_op1(reverse_op, {tensor}, {axis});
}

// ---- roll ----
namespace {

/// How far each axis rolls, in [0, extent); 0 for the others. Shifts of the same axis add up.
Integers turns_of(const OpContext& c) {
  const Shape& shape = c.inputs[0].shape();
  const Integers shifts = integers_of(c.attribute("shift"));
  const Integers axes = integers_of(c.attribute("axis"));
  if (shifts.size() != axes.size())
    fail<InvalidArgumentError>("roll: shift ", to_string(c.attribute("shift")), " and axis ",
                               to_string(c.attribute("axis")), " differ in length");
  Integers turns(static_cast<std::size_t>(shape.rank()), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = normalize_axis("roll", "axis", axes[i], shape);
    const std::int64_t extent = std::max<std::int64_t>(1, shape[axis]);
    std::int64_t& turn = turns[static_cast<std::size_t>(axis)];
    const std::int64_t shift = shifts[i] % extent;
    turn = (turn + (shift < 0 ? shift + extent : shift)) % extent;
  }
  return turns;
}

/// Copies `part` of x, a block of `axis` and later axes, to its rolled position: each rolled axis is split in
/// two.
void place_turned(const Tensor& x, const Tensor& out, const Integers& turns, int axis, Shape part,
                  std::int64_t from, std::int64_t to) {
  while (axis < x.rank() && turns[static_cast<std::size_t>(axis)] == 0) ++axis;
  if (axis == x.rank()) {
    const Tensor block = view_of(x, part, x.strides(), from);
    return place(block, out, part, x.strides(), out.strides(), to);
  }
  const std::int64_t turn = turns[static_cast<std::size_t>(axis)];
  const std::int64_t rest = part[axis] - turn;
  part[axis] = rest;
  place_turned(x, out, turns, axis + 1, part, from, to + turn * out.strides()[axis]);
  part[axis] = turn;
  place_turned(x, out, turns, axis + 1, part, from + rest * x.strides()[axis], to);
}

}  // namespace

TAPEDECK_OP(roll_op) = {
    .name = "roll",
    .python_names = {"roll", "manip.roll"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "shift", .kind = AttributeKind::integers, .fallback = {}, .required = true},
                   {.name = "axis", .kind = AttributeKind::integers, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          turns_of(c);
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          if (out.count() > 0) place_turned(c.inputs[0], out, turns_of(c), 0, out.shape(), 0, 0);
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          const Shape& shape = c.inputs[0].shape();
          Integers shifts = integers_of(c.attribute("shift"));
          const Integers axes = integers_of(c.attribute("axis"));
          for (std::size_t i = 0; i < shifts.size(); ++i)
            shifts[i] = -(shifts[i] %
                          std::max<std::int64_t>(1, shape[normalize_axis("roll", "axis", axes[i], shape)]));
          return one(run_op1(c.op, {c.cotangents[0]}, {shifts, axes}));
        },
    .vjp_formula = "dx = roll(dz, −shift, axis)",
    .cost = cost::moves,
    .doc =
        "Rolls axes: element i moves to i + shift, and elements past the end wrap around to the "
        "beginning.\n\n"
        "input: any dtype and shape; shift: how far, negative towards the beginning; axis: which, as many as "
        "shift has; shifts of an axis that is named twice add up.\n"
        "Returns: the dtype and shape of input.\n"
        "Errors: InvalidArgumentError for an axis out of range, or lists of different lengths.",
    .takes_narrow = true,
};
Tensor roll(const Tensor& input, const Integers& shift, const Integers& axis) {
  return run_op1(roll_op, {input}, {shift, axis});
}

}  // namespace tapedeck::ops
