// Blocks of pixels into the batch and back.
#include <algorithm>
#include <array>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"

namespace tapedeck::ops {

static Tensor batch_to_space_nd(const Tensor& input, const Integers& block_shape, const Integers& crops);

static Tensor space_to_batch_nd(const Tensor& input, const Integers& block_shape, const Integers& paddings);
namespace {

/// Both ops copy between `space`, (batch, axes…, rest…), and `batches`, (batch·Π block, axes…, rest…):
/// element (b, o·block + k − before) of one is element (number of k · batch + b, o) of the other.
struct Blocks {
  Integers block;    ///< one extent for each of the first axes behind the batch
  Integers borders;  ///< before and after, axis by axis
  std::int64_t count = 1;

  /// `border`: the op's attribute with the borders.
  Blocks(const OpContext& c, AttributeName border)
      : block(integers_of(c.attribute("block_shape"))), borders(integers_of(c.attribute(border))) {
    const Shape& shape = c.inputs[0].shape();
    const bool fits =
        block.size() < static_cast<std::size_t>(shape.rank()) && borders.size() == 2 * block.size();
    if (!fits)
      fail<InvalidArgumentError>(c.op.name, ": block_shape ", to_string(c.attribute("block_shape")), " and ",
                                 border.text(), " ", to_string(c.attribute(border)), " for input ",
                                 to_string(shape),
                                 "; needs one extent and a pair for each of some axes behind the first");
    for (const std::int64_t extent : block)
      if (extent < 1 || __builtin_mul_overflow(count, extent, &count))
        fail<InvalidArgumentError>(c.op.name, ": block_shape is ", to_string(c.attribute("block_shape")),
                                   "; needs extents of at least 1, whose product fits int64");
    for (const std::int64_t extent : borders)
      if (extent < 0)
        fail<InvalidArgumentError>(c.op.name, ": ", border.text(), " is ", to_string(c.attribute(border)),
                                   "; none may be negative");
  }
  int axes() const { return static_cast<int>(block.size()); }
  std::int64_t before(int axis) const { return borders[2 * static_cast<std::size_t>(axis)]; }
  std::int64_t after(int axis) const { return borders[2 * static_cast<std::size_t>(axis) + 1]; }
};

TensorSpecs to_batch_shape(const OpContext& c) {
  const Blocks blocks(c, "paddings");
  Shape shape = c.inputs[0].shape();
  bool fits = !__builtin_mul_overflow(shape[0], blocks.count, &shape[0]);
  for (int i = 0; fits && i < blocks.axes(); ++i) {
    std::int64_t& extent = shape[i + 1];
    const std::int64_t block = blocks.block[static_cast<std::size_t>(i)];
    fits = !__builtin_add_overflow(extent, blocks.before(i), &extent) &&
           !__builtin_add_overflow(extent, blocks.after(i), &extent) && extent % block == 0;
    extent /= block;
  }
  if (!fits)
    fail<InvalidArgumentError>(c.op.name, ": input ", to_string(c.inputs[0].shape()), " with paddings ",
                               to_string(c.attribute("paddings")), " is not a multiple of block_shape ",
                               to_string(c.attribute("block_shape")));
  return spec(c.inputs[0].dtype(), shape);
}

TensorSpecs to_space_shape(const OpContext& c) {
  const Blocks blocks(c, "crops");
  Shape shape = c.inputs[0].shape();
  bool fits = shape[0] % blocks.count == 0;
  shape[0] /= blocks.count;
  for (int i = 0; fits && i < blocks.axes(); ++i) {
    std::int64_t& extent = shape[i + 1];
    fits = !__builtin_mul_overflow(extent, blocks.block[static_cast<std::size_t>(i)], &extent) &&
           blocks.before(i) <= extent && blocks.after(i) <= extent - blocks.before(i);
    if (fits) extent -= blocks.before(i) + blocks.after(i);
  }
  if (!fits)
    fail<InvalidArgumentError>(
        c.op.name, ": input ", to_string(c.inputs[0].shape()), " with block_shape ",
        to_string(c.attribute("block_shape")), " and crops ", to_string(c.attribute("crops")),
        ": the batch is not a multiple of the block, or the crops take more than there is");
  return spec(c.inputs[0].dtype(), shape);
}

/// The part of one axis selected by position k within its block.
struct Run {
  std::int64_t space, batches, count;
};
Run run_of(const Blocks& blocks, int axis, std::int64_t k, std::int64_t space_extent,
           std::int64_t batch_extent) {
  const std::int64_t block = blocks.block[static_cast<std::size_t>(axis)];
  const std::int64_t offset = k - blocks.before(axis);
  const std::int64_t first = offset >= 0 ? 0 : (block - 1 - offset) / block;
  const std::int64_t end = offset >= space_extent ? 0 : (space_extent - offset + block - 1) / block;
  return {first * block + offset, first, std::max<std::int64_t>(0, std::min(end, batch_extent) - first)};
}

/// Copies one to the other; `to_batch` gives the direction.
void move_blocks(const Blocks& blocks, const Tensor& space, const Tensor& batches, bool to_batch) {
  const std::int64_t images = space.dim(0);
  for (std::int64_t number = 0; number < blocks.count; ++number) {
    Shape shape = space.shape();
    Strides space_strides = space.strides();
    std::int64_t space_at = 0;
    std::int64_t batches_at = number * images * batches.strides()[0];
    std::int64_t rest = number;
    for (int axis = blocks.axes() - 1; axis >= 0; --axis) {
      const std::int64_t block = blocks.block[static_cast<std::size_t>(axis)];
      const Run run = run_of(blocks, axis, rest % block, space.dim(axis + 1), batches.dim(axis + 1));
      rest /= block;
      shape[axis + 1] = run.count;
      if (run.count == 0) break;
      space_at += run.space * space.strides()[axis + 1];
      batches_at += run.batches * batches.strides()[axis + 1];
      space_strides[axis + 1] *= block;
    }
    if (element_count(shape) == 0) continue;
    if (to_batch)
      place(view_of(space, shape, space_strides, space_at), batches, shape, space_strides, batches.strides(),
            batches_at);
    else
      place(view_of(batches, shape, batches.strides(), batches_at), space, shape, batches.strides(),
            space_strides, space_at);
  }
}

Tensors to_batch_forward(const OpContext& c) {
  Tensor out = allocate_output(c);
  if (out.count() == 0) return one(std::move(out));
  const std::array<std::byte, 16> zero{};  // the bits of 0 of any dtype
  backend().fill(item_size(out.dtype()), zero.data(), out.writable_data<std::byte>(), out.count());
  if (c.inputs[0].count() > 0) move_blocks(Blocks(c, "paddings"), contiguous(c.inputs[0]), out, true);
  return one(std::move(out));
}

Tensors to_space_forward(const OpContext& c) {
  Tensor out = allocate_output(c);
  if (out.count() > 0) move_blocks(Blocks(c, "crops"), out, contiguous(c.inputs[0]), false);
  return one(std::move(out));
}

OpDef space_batch_row(const std::string& name, const std::string& borders, ShapeRule shape_rule,
                      Forward forward, Vjp vjp, const std::string& formula, const std::string& doc) {
  return {
      .name = name,
      .python_names = {name, "manip." + name},
      .inputs = {{.name = "input"}},
      .attributes =
          {{.name = "block_shape", .kind = AttributeKind::integers, .fallback = {}, .required = true},
           {.name = borders, .kind = AttributeKind::integers, .fallback = {}, .required = true}},
      .shape_rule = shape_rule,
      .forward = forward,
      .vjp = vjp,
      .vjp_formula = formula,
      .cost = cost::moves,
      .doc = doc,
      .takes_narrow = true,
  };
}

}  // namespace

TAPEDECK_OP(space_to_batch_nd_op, VjpReads::shapes) = space_batch_row(
    "space_to_batch_nd", "paddings", to_batch_shape, to_batch_forward,
    [](const VjpContext& c) {
      return one(batch_to_space_nd(c.cotangents[0], integers_of(c.attribute("block_shape")),
                                   integers_of(c.attribute("paddings"))));
    },
    "dx = batch_to_space_nd(dz, crops=paddings)",
    "Cuts images into blocks and makes a separate image of each position within a block, after a border of "
    "zeros.\n\n"
    "input: any dtype, (batch, axes of the image…, rest…); block_shape: the extents of a block, one for each "
    "axis of the image; paddings: a pair of numbers (before, after) for each.\n"
    "Returns: the dtype of input, (batch·Π block_shape, padded extents / block_shape…, rest…): place k of "
    "every "
    "block of image b is image number(k)·batch + b.\n"
    "Errors: InvalidArgumentError for blocks and paddings that do not fit input, or padded extents that are "
    "no "
    "multiples.");
Tensor space_to_batch_nd(const Tensor& input, const Integers& block_shape, const Integers& paddings) {
  return run_op1(space_to_batch_nd_op, {input}, {block_shape, paddings});
}

TAPEDECK_OP(batch_to_space_nd_op, VjpReads::shapes) = space_batch_row(
    "batch_to_space_nd", "crops", to_space_shape, to_space_forward,
    [](const VjpContext& c) {
      return one(space_to_batch_nd(c.cotangents[0], integers_of(c.attribute("block_shape")),
                                   integers_of(c.attribute("crops"))));
    },
    "dx = space_to_batch_nd(dz, paddings=crops)",
    "Puts images together that space_to_batch_nd took apart, and cuts off a border.\n\n"
    "input: any dtype, (batch·Π block_shape, axes of the image…, rest…); block_shape: the extents of a "
    "block, "
    "one for each axis of the image; crops: a pair of numbers (before, after) for each.\n"
    "Returns: the dtype of input, (batch, extents·block_shape − crops…, rest…).\n"
    "Errors: InvalidArgumentError for blocks and crops that do not fit input.");
Tensor batch_to_space_nd(const Tensor& input, const Integers& block_shape, const Integers& crops) {
  return run_op1(batch_to_space_nd_op, {input}, {block_shape, crops});
}

}  // namespace tapedeck::ops
