// Parts of tensors by number.
#include "engine/cpu/copy.h"
#include "engine/ops/checks.h"
#include "engine/ops/families.h"

namespace tapedeck::ops {

// ---- gather ----
namespace {

int gather_axis(const OpContext& c) {
  return normalize_axis("gather", "axis", integer_of(c, 0), c.inputs[0].shape());
}

TensorSpecs gather_shape(const OpContext& c) {
  require_kind(c, 1, Kind::integer);
  const Shape& params = c.inputs[0].shape();
  const int axis = gather_axis(c);
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(params[i]);
  for (const std::int64_t extent : c.inputs[1].shape()) shape.push_back(extent);
  for (int i = axis + 1; i < params.rank(); ++i) shape.push_back(params[i]);
  return spec(c.inputs[0].dtype(), shape);
}

Tensors gather_forward(const OpContext& c) {
  const Tensor params = contiguous(c.inputs[0]);
  const int axis = gather_axis(c);
  const std::vector<std::int64_t> indices = checked_indices(c, 1, params.dim(axis));
  std::int64_t outer = 1;
  std::size_t row = item_size(params.dtype());
  for (int i = 0; i < axis; ++i) outer *= params.dim(i);
  for (int i = axis + 1; i < params.rank(); ++i) row *= static_cast<std::size_t>(params.dim(i));
  Tensor out = allocate_output(c);
  cpu::gather_rows(params.raw(), outer, params.dim(axis), indices.data(),
                   static_cast<std::int64_t>(indices.size()), row, out.writable_data<std::byte>());
  return one(std::move(out));
}

/// The indices' axes come first, then the sums are put back where the gathered axis was.
Tensors gather_vjp(const VjpContext& c) {
  if (!c.wanted[0]) return Tensors(2);
  const int axis = gather_axis({c.op, c.inputs, c.attributes, {}});
  const int index_rank = c.inputs[1].rank();
  const int rank = c.inputs[0].rank();
  Tensor gradient = c.cotangents[0];
  Integers perm;
  for (int i = 0; i < index_rank; ++i) perm.push_back(axis + i);
  for (int i = 0; i < gradient.rank(); ++i)
    if (i < axis || i >= axis + index_rank) perm.push_back(i);
  if (axis > 0) gradient = transpose(gradient, perm);
  Tensor sums = unsorted_segment_sum(gradient, c.inputs[1], c.inputs[0].dim(axis));
  if (axis > 0) {
    Integers back;
    for (int i = 0; i < rank; ++i) back.push_back(i < axis ? i + 1 : i == axis ? 0 : i);
    sums = transpose(sums, back);
  }
  Tensors gradients(2);
  gradients[0] = sums;
  return gradients;
}

}  // namespace

TAPEDECK_OP(gather_op) = {
    .name = "gather",
    .python_names = {"gather"},
    .inputs = {{.name = "params"}, {.name = "indices", .group = '\0', .preferred = DType::int32}},
    .attributes = {{.name = "axis", .kind = AttributeKind::integer, .fallback = std::int64_t{0}}},
    .shape_rule = gather_shape,
    .forward = gather_forward,
    .vjp = gather_vjp,
    .vjp_formula = "d(params) = sums of dy by index",
    .doc =
        "Takes slices of an axis by number.\n\n"
        "params: any dtype, at least one axis; indices: int32 or int64, any shape, values in [0, extent of "
        "the axis); "
        "axis: which.\n"
        "Returns: the dtype of params, shape params.shape[:axis] + indices.shape + params.shape[axis+1:].\n"
        "Errors: OutOfRangeError for an index outside the axis; InvalidArgumentError for an axis out of "
        "range; "
        "TypeMismatchError for indices that are no whole numbers.",
};
Tensor gather(const Tensor& params, const Tensor& indices, std::int64_t axis) {
  return run_op1(gather_op, {params, indices}, {axis});
}

void link_indexing() {}

}  // namespace tapedeck::ops
