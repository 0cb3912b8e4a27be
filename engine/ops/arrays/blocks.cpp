// Blocks of pixels into channels and back.
#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"

namespace tapedeck::ops {
namespace {

/// Both ops: view the tensor with six axes, permute them, view the copy with four axes.
struct BlockMove {
  Shape seen;
  Integers order;
  Shape result;
};

BlockMove block_move(const OpContext& c, bool to_depth) {
  const Shape& x = c.inputs[0].shape();
  const std::int64_t block = integer_of(c, "block_size");
  const std::string& format = c.get<std::string>("data_format");
  const bool first = format == "NCHW";
  if (!first && format != "NHWC")
    fail<InvalidArgumentError>(c.op.name, ": data_format is '", format, "'; it is 'NHWC' or 'NCHW'");
  if (x.rank() != 4)
    fail<InvalidArgumentError>(c.op.name, ": input has shape ", to_string(x), "; needs 4 axes");
  if (block < 2) fail<InvalidArgumentError>(c.op.name, ": block_size is ", block, "; needs at least 2");
  const std::int64_t channels = x[first ? 1 : 3];
  const std::int64_t height = x[first ? 2 : 1];
  const std::int64_t width = x[first ? 3 : 2];
  // The square is formed only where it cannot overflow.
  const bool fits = to_depth ? height % block == 0 && width % block == 0
                             : channels == 0 || (block <= channels && block <= channels / block &&
                                                 channels % (block * block) == 0);
  if (!fits)
    fail<InvalidArgumentError>(c.op.name, ": input ", to_string(x), " with block_size ", block, ": ",
                               to_depth ? "height and width are not multiples of it"
                                        : "the channels are not a multiple of its square");
  if (block > INT32_MAX)
    fail<InvalidArgumentError>(c.op.name, ": block_size is ", block, "; at most ", INT32_MAX);
  const std::int64_t square = block * block;
  if (to_depth) {
    const std::int64_t h = height / block, w = width / block;
    std::int64_t deep = 0;
    if (__builtin_mul_overflow(channels, square, &deep))
      fail<InvalidArgumentError>(c.op.name, ": ", channels, " channels times ", square, " overflow int64");
    if (first) return {{x[0], channels, h, block, w, block}, {0, 3, 5, 1, 2, 4}, {x[0], deep, h, w}};
    return {{x[0], h, block, w, block, channels}, {0, 1, 3, 2, 4, 5}, {x[0], h, w, deep}};
  }
  const std::int64_t flat = channels / square;
  std::int64_t high = 0, wide = 0;
  if (__builtin_mul_overflow(height, block, &high) || __builtin_mul_overflow(width, block, &wide))
    fail<InvalidArgumentError>(c.op.name, ": input ", to_string(x), " with block_size ", block,
                               ": the extents overflow int64");
  if (first) return {{x[0], block, block, flat, height, width}, {0, 3, 4, 1, 5, 2}, {x[0], flat, high, wide}};
  return {{x[0], height, width, block, block, flat}, {0, 1, 3, 2, 4, 5}, {x[0], high, wide, flat}};
}

template <bool to_depth>
TensorSpecs block_shape(const OpContext& c) {
  return spec(c.inputs[0].dtype(), block_move(c, to_depth).result);
}

template <bool to_depth>
Tensors block_forward(const OpContext& c) {
  const BlockMove move = block_move(c, to_depth);
  const Tensor x = contiguous(c.inputs[0]);
  const Strides dense = contiguous_strides(move.seen);
  Shape shape;
  Strides strides;
  for (const std::int64_t axis : move.order) {
    shape.push_back(move.seen[static_cast<int>(axis)]);
    strides.push_back(dense[static_cast<int>(axis)]);
  }
  const Tensor moved = contiguous(view_of(x, shape, strides));
  return one(view_of(moved, move.result, contiguous_strides(move.result)));
}

OpDef block_row(const std::string& name, ShapeRule shape_rule, Forward forward, Vjp vjp,
                const std::string& formula, const std::string& what) {
  return {
      .name = name,
      .python_names = {name, "nn." + name},
      .inputs = {{.name = "input"}},
      .attributes = {{.name = "block_size", .kind = AttributeKind::integer, .fallback = {}, .required = true},
                     {.name = "data_format", .kind = AttributeKind::text, .fallback = std::string("NHWC")}},
      .shape_rule = shape_rule,
      .forward = forward,
      .vjp = vjp,
      .vjp_formula = formula,
      .cost = cost::moves,
      .doc = what +
             "\nErrors: InvalidArgumentError for another number of axes, a block_size below 2, extents that "
             "are no "
             "multiples, or another data_format.",
  };
}

}  // namespace

// ---- space_to_depth, depth_to_space ----
extern const OpDef& depth_to_space_op;

TAPEDECK_OP(space_to_depth_op, VjpReads::shapes) = block_row(
    "space_to_depth", block_shape<true>, block_forward<true>,
    [](const VjpContext& c) { return one(run_op1(depth_to_space_op, {c.cotangents[0]}, c.attributes)); },
    "dx = depth_to_space(dz)",
    "Turns each block of pixels into one pixel with all their channels.\n\n"
    "input: any dtype, (batch, height, width, channels), for data_format 'NCHW' (batch, channels, height, "
    "width); block_size: edge of a block.\n"
    "Returns: the dtype of input, height and width divided by block_size, channels times its square: those "
    "of the block's first pixel come first.");

TAPEDECK_OP(depth_to_space_op, VjpReads::shapes) = block_row(
    "depth_to_space", block_shape<false>, block_forward<false>,
    [](const VjpContext& c) { return one(run_op1(space_to_depth_op, {c.cotangents[0]}, c.attributes)); },
    "dx = space_to_depth(dz)",
    "Spreads the channels of each pixel over a block of pixels.\n\n"
    "input: any dtype, (batch, height, width, channels), for data_format 'NCHW' (batch, channels, height, "
    "width); block_size: edge of a block.\n"
    "Returns: the dtype of input, height and width times block_size, channels divided by its square.");

}  // namespace tapedeck::ops
