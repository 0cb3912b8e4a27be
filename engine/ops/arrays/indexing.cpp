// Parts of tensors by index.
#include <algorithm>

#include "engine/ops/core/cost.h"
#include "engine/ops/elementwise/binary_row.h"

namespace tapedeck::ops {

// ---- gather ----
namespace {

/// gather's tensors as params (batches, outer, count, inner), indices (batches, picked).
struct Gathering {
  int batch_axes = 0;
  int axis = 0;
  std::int64_t batches = 1, outer = 1, inner = 1, picked = 1;
};

Gathering gathering_of(const OpContext& c) {
  const Shape& params = c.inputs[0].shape();
  const Shape& indices = c.inputs[1].shape();
  const std::int64_t given = integer_of(c, "batch_dims");
  const std::int64_t batch_axes = given < 0 ? given + indices.rank() : given;
  bool fits =
      batch_axes >= 0 && batch_axes <= indices.rank() && (batch_axes == 0 || batch_axes < params.rank());
  for (int i = 0; fits && i < batch_axes; ++i) fits = params[i] == indices[i];
  if (!fits)
    fail<InvalidArgumentError>("gather: batch_dims ", given, ": params ", to_string(params), " and indices ",
                               to_string(indices), " do not begin with as many equal extents");
  Gathering g;
  g.batch_axes = static_cast<int>(batch_axes);
  g.axis = normalize_axis("gather", "axis", c.is_none("axis") ? batch_axes : integer_of(c, "axis"), params);
  if (g.axis < g.batch_axes)
    fail<InvalidArgumentError>("gather: axis ", g.axis, " is one of the ", g.batch_axes, " batch axes");
  for (int i = 0; i < g.batch_axes; ++i) g.batches *= params[i];
  for (int i = g.batch_axes; i < g.axis; ++i) g.outer *= params[i];
  for (int i = g.axis + 1; i < params.rank(); ++i) g.inner *= params[i];
  for (int i = g.batch_axes; i < indices.rank(); ++i) g.picked *= indices[i];
  return g;
}

TensorSpecs gather_shape(const OpContext& c) {
  require_kind(c, 1, Kind::index);
  const Shape& params = c.inputs[0].shape();
  const Shape& indices = c.inputs[1].shape();
  const Gathering g = gathering_of(c);
  Shape shape;
  for (int i = 0; i < g.axis; ++i) shape.push_back(params[i]);
  for (int i = g.batch_axes; i < indices.rank(); ++i) shape.push_back(indices[i]);
  for (int i = g.axis + 1; i < params.rank(); ++i) shape.push_back(params[i]);
  return spec(c.inputs[0].dtype(), shape);
}

/// The rows of all batches as those of one, because a GPU would need a kernel launch for each.
void join_batches(Gathering& g, Tensor& indices, std::int64_t& count) {
  Integers first;
  for (std::int64_t batch = 0; batch < g.batches; ++batch) first.push_back(batch * count);
  const Shape shape{g.batches, g.picked};
  indices = run_binary(kernels::Binary::add, view_of(indices, shape, contiguous_strides(shape)),
                       from_integers(first, {DType::int64, {g.batches, 1}}), {DType::int64, shape});
  count *= g.batches;
  g.picked *= g.batches;
  g.batches = 1;
}

Tensors gather_forward(const OpContext& c) {
  Gathering g = gathering_of(c);
  std::int64_t count = c.inputs[0].dim(g.axis);
  Tensor indices = checked_indices(c, 1, count);
  Tensor out = allocate_output(c);
  if (out.count() == 0 || c.inputs[0].count() == 0) return one(std::move(out));
  const Tensor params = contiguous(c.inputs[0]);
  if (g.batches > 1 && g.outer == 1 && !indices.on_cpu()) join_batches(g, indices, count);
  const std::size_t row = item_size(params.dtype()) * static_cast<std::size_t>(g.inner);
  const auto step = static_cast<std::int64_t>(row) * g.outer;
  for (std::int64_t batch = 0; batch < g.batches; ++batch)
    backend().gather_rows(params.raw() + batch * count * step, g.outer, count,
                          indices.data<std::int64_t>() + batch * g.picked, g.picked, row,
                          out.writable_data<std::byte>() + batch * g.picked * step);
  return one(std::move(out));
}

/// Every batch has separate numbers: those of batch b begin at b·count.
Tensor numbers_of_all_batches(const Tensor& indices, const Gathering& g, std::int64_t count) {
  const Tensor wide = indices.dtype() == DType::int64 ? indices : cast(indices, DType::int64);
  const Tensor first = range(0.0, static_cast<double>(g.batches * count),
                             static_cast<double>(std::max<std::int64_t>(1, count)), DType::int64);
  const std::int64_t batches = count == 0 ? 0 : g.batches;
  return reshape(reshape(wide, {g.batches, g.picked}) + reshape(first, {batches, 1}), {g.batches * g.picked});
}

/// The indices' axes come first, then the sums are put back where the gathered axis was.
Tensors gather_vjp(const VjpContext& c) {
  Tensors gradients(2);
  if (!c.wanted[0]) return gradients;
  const Gathering g = gathering_of({c.op, c.inputs, c.attributes, {}});
  const Shape& params = c.inputs[0].shape();
  const int index_rank = c.inputs[1].rank() - g.batch_axes;
  const std::int64_t count = params[g.axis];
  if (c.inputs[1].count() == 0 || c.inputs[0].count() == 0) {
    gradients[0] = zeros_like(c.inputs[0]);
    return gradients;
  }
  Tensor gradient = c.cotangents[0];
  Integers perm;
  for (int i = 0; i < g.batch_axes; ++i) perm.push_back(i);
  for (int i = 0; i < index_rank; ++i) perm.push_back(g.axis + i);
  for (int i = g.batch_axes; i < gradient.rank(); ++i)
    if (i < g.axis || i >= g.axis + index_rank) perm.push_back(i);
  if (g.axis > g.batch_axes) gradient = transpose(gradient, perm);
  Shape rest;  // of the sums: batch axes, gathered axis, the others
  for (int i = 0; i < g.batch_axes; ++i) rest.push_back(params[i]);
  rest.push_back(count);
  for (int i = g.batch_axes; i < params.rank(); ++i)
    if (i != g.axis) rest.push_back(params[i]);
  Tensor sums;
  if (g.batch_axes == 0) {
    sums = unsorted_segment_sum(gradient, c.inputs[1], count);
  } else {
    const Tensor rows = reshape(gradient, {g.batches * g.picked, g.outer * g.inner});
    sums = reshape(
        unsorted_segment_sum(rows, numbers_of_all_batches(c.inputs[1], g, count), g.batches * count), rest);
  }
  if (g.axis > g.batch_axes) {
    Integers back;
    for (int i = 0; i < params.rank(); ++i)
      back.push_back(i < g.batch_axes || i > g.axis ? i : i == g.axis ? g.batch_axes : i + 1);
    sums = transpose(sums, back);
  }
  gradients[0] = sums;
  return gradients;
}

}  // namespace

TAPEDECK_OP(gather_op) = {
    .name = "gather",
    .python_names = {"gather"},
    .inputs = {{.name = "params"}, {.name = "indices", .group = '\0', .preferred = DType::int32}},
    .attributes = {{.name = "validate_indices", .kind = AttributeKind::boolean, .fallback = std::monostate{}},
                   {.name = "axis", .kind = AttributeKind::integer, .fallback = std::monostate{}},
                   {.name = "batch_dims", .kind = AttributeKind::integer, .fallback = std::int64_t{0}}},
    .shape_rule = gather_shape,
    .forward = gather_forward,
    .form = Form::gather,
    .vjp_reads = VjpReads::inputs,
    .vjp = gather_vjp,
    .vjp_formula = "d(params) = sums of dz by index",
    .cost = cost::picks,
    .doc =
        "Takes slices of an axis by number.\n\n"
        "params: any dtype, at least one axis; indices: any integer dtype, any shape, values in [0, "
        "extent of "
        "the axis); axis: which, None for the first one behind the batch axes; batch_dims: how many first "
        "axes params and indices share, so that each batch takes from its own; validate_indices: changes "
        "nothing, indices are always checked.\n"
        "Returns: the dtype of params, shape params.shape[:axis] + indices.shape[batch_dims:] + "
        "params.shape[axis+1:].\n"
        "Errors: OutOfRangeError for an index outside the axis; InvalidArgumentError for an axis out of "
        "range, or batch axes that differ; TypeMismatchError for indices that are not integers.",
    .python_order = {"params", "indices", "validate_indices", "axis", "batch_dims"},
    .takes_narrow = true,
};
TAPEDECK_FACTS(gather_op) = {.flat = facts::not_picked};
Tensor gather(const Tensor& params, const Tensor& indices, std::int64_t axis, std::int64_t batch_dims) {
  return run_op1(gather_op, {params, indices}, {std::monostate{}, axis, batch_dims});
}

}  // namespace tapedeck::ops
