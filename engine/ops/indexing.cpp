// Parts of tensors by number, and sums by number.
#include "engine/cpu/copy.h"
#include "engine/cpu/segment.h"
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

// ---- unsorted_segment_sum ----
namespace {

TensorSpecs segment_shape(const OpContext& c) {
  require_kind(c, 0, Kind::numeric);
  require_kind(c, 1, Kind::integer);
  const Shape& data = c.inputs[0].shape();
  const Shape& ids = c.inputs[1].shape();
  const std::int64_t segments = integer_of(c, 0);
  if (segments < 0) fail<InvalidArgumentError>("unsorted_segment_sum: num_segments is ", segments);
  bool fits = ids.rank() <= data.rank();
  for (int i = 0; fits && i < ids.rank(); ++i) fits = ids[i] == data[i];
  if (!fits)
    fail<InvalidArgumentError>("unsorted_segment_sum: segment_ids ", to_string(ids),
                               " is no beginning of data ", to_string(data));
  Shape shape{segments};
  for (int i = ids.rank(); i < data.rank(); ++i) shape.push_back(data[i]);
  return spec(c.inputs[0].dtype(), shape);
}

}  // namespace

TAPEDECK_OP(unsorted_segment_sum_op) = {
    .name = "unsorted_segment_sum",
    .python_names = {"unsorted_segment_sum", "math.unsorted_segment_sum"},
    .inputs = {{.name = "data"}, {.name = "segment_ids", .group = '\0', .preferred = DType::int32}},
    .attributes =
        {{.name = "num_segments", .kind = AttributeKind::integer, .fallback = {}, .required = true}},
    .shape_rule = segment_shape,
    .forward =
        [](const OpContext& c) {
          const std::vector<std::int64_t> segments = checked_indices(c, 1, integer_of(c, 0));
          Tensor out = allocate_output(c);
          const Tensor zero = Tensor::scalar(0.0, out.dtype());
          cpu::fill(item_size(out.dtype()), zero.raw(), out.writable_data<std::byte>(), out.count());
          const Tensor data = contiguous(c.inputs[0]);
          const auto rows = static_cast<std::int64_t>(segments.size());
          if (data.count() > 0)
            cpu::segment_sum(data.dtype(), data.raw(), segments.data(), rows, data.count() / rows,
                             out.writable_data<std::byte>());
          return one(std::move(out));
        },
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(2);
          if (c.wanted[0]) gradients[0] = gather(c.cotangents[0], c.inputs[1]);
          return gradients;
        },
    .vjp_formula = "d(data) = gather(dy, segment_ids)",
    .doc =
        "Sums slices that have the same number: y[s] = Σ data[i] over the i with segment_ids[i] = s, in "
        "order of i.\n\n"
        "data: int32, int64, float32 or float64; segment_ids: int32 or int64, values in [0, num_segments), "
        "its shape a "
        "beginning of that of data.\n"
        "Returns: the dtype of data, (num_segments,) + the rest of its shape.\n"
        "Errors: OutOfRangeError for a number outside the range; InvalidArgumentError for shapes that do not "
        "fit; "
        "TypeMismatchError for other dtypes.",
};
Tensor unsorted_segment_sum(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments) {
  return run_op1(unsorted_segment_sum_op, {data, segment_ids}, {num_segments});
}

void link_indexing() {}

}  // namespace tapedeck::ops
