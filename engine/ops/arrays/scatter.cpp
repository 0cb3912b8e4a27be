// Slices gathered and added by coordinates.
#include "engine/ops/arrays/coordinates.h"
#include "engine/ops/core/cost.h"

namespace tapedeck::ops {

// ---- gather_nd ----
namespace {

int batch_axes_of(const OpContext& c) {
  const Shape& params = c.inputs[0].shape();
  const Shape& indices = c.inputs[1].shape();
  const std::int64_t given = integer_of(c, "batch_dims");
  bool fits = given >= 0 && given < indices.rank() && given <= params.rank();
  for (int i = 0; fits && i < given; ++i) fits = params[i] == indices[i];
  if (!fits)
    fail<InvalidArgumentError>("gather_nd: batch_dims ", given, ": params ", to_string(params),
                               " and indices ", to_string(indices),
                               " do not begin with as many equal extents");
  return static_cast<int>(given);
}

TensorSpecs gather_nd_shape(const OpContext& c) {
  const Shape& params = c.inputs[0].shape();
  require_kind(c, 1, Kind::index);
  if (c.inputs[1].rank() == 0)
    fail<InvalidArgumentError>("gather_nd: indices is a scalar; needs at least one axis");
  const int batch_axes = batch_axes_of(c);
  const int depth = depth_of(c, 1, params, batch_axes);
  return spec(c.inputs[0].dtype(), slices_shape(c.inputs[1].shape(), params, batch_axes + depth));
}

Tensors gather_nd_forward(const OpContext& c) {
  const Shape& shape = c.inputs[0].shape();
  const int batch_axes = batch_axes_of(c);
  const int depth = depth_of(c, 1, shape, batch_axes);
  const Tensor numbers = slice_numbers(c, 1, shape, depth, batch_axes);
  Tensor out = allocate_output(c);
  if (out.count() == 0 || c.inputs[0].count() == 0) return one(std::move(out));
  const Tensor params = contiguous(c.inputs[0]);
  const std::int64_t width = product_from(shape, batch_axes + depth);
  backend().gather_rows(params.raw(), 1, params.count() / width, numbers.data<std::int64_t>(),
                        numbers.count(), item_size(params.dtype()) * static_cast<std::size_t>(width),
                        out.writable_data<std::byte>());
  return one(std::move(out));
}

/// Prepends the batch's coordinates to each row, so that no batch axes are left.
Tensor with_batch_coordinates(const Tensor& given, int batch_axes) {
  // A narrow dtype may not count all batches.
  const Tensor indices = item_size(given.dtype()) < 4 ? cast(given, DType::int64) : given;
  Tensors columns;
  Shape wide = indices.shape();
  wide[wide.rank() - 1] = 1;
  for (int axis = 0; axis < batch_axes; ++axis) {
    Shape along;
    for (int i = 0; i < wide.rank(); ++i) along.push_back(i == axis ? wide[i] : 1);
    const Tensor coordinate = range(0.0, static_cast<double>(wide[axis]), 1.0, indices.dtype());
    columns.push_back(broadcast_to(reshape(coordinate, along), wide));
  }
  columns.push_back(indices);
  return concat({columns.data(), columns.size()}, -1);
}

}  // namespace

TAPEDECK_OP(gather_nd_op) = {
    .name = "gather_nd",
    .python_names = {"gather_nd", "manip.gather_nd"},
    .inputs = {{.name = "params"}, {.name = "indices", .group = '\0', .preferred = DType::int32}},
    .attributes = {{.name = "batch_dims", .kind = AttributeKind::integer, .fallback = std::int64_t{0}}},
    .shape_rule = gather_nd_shape,
    .forward = gather_nd_forward,
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(2);
          if (!c.wanted[0]) return gradients;
          const int batch_axes = batch_axes_of({c.op, c.inputs, c.attributes, {}});
          const Tensor places =
              batch_axes == 0 ? c.inputs[1] : with_batch_coordinates(c.inputs[1], batch_axes);
          gradients[0] = scatter_nd(places, c.cotangents[0], c.inputs[0].shape());
          return gradients;
        },
    .vjp_formula = "d(params) = scatter_nd(indices, dz, shape of params)",
    .cost = cost::picks,
    .doc =
        "Takes slices by coordinates: z[i, …] = params[indices[i], …].\n\n"
        "params: any dtype; indices: any integer dtype, its last axis holds the coordinates of the "
        "first axes "
        "of params; batch_dims: how many first axes both share, so that each batch takes from its own.\n"
        "Returns: the dtype of params, indices.shape[:-1] + params.shape[batch_dims + indices.shape[-1]:].\n"
        "Errors: OutOfRangeError for coordinates outside of params; InvalidArgumentError for more "
        "coordinates than axes, or batch axes that differ; TypeMismatchError for indices that are not "
        "integers.",
    .takes_narrow = true,
};
TAPEDECK_FACTS(gather_nd_op) = {.flat = facts::not_picked};
Tensor gather_nd(const Tensor& params, const Tensor& indices, std::int64_t batch_dims) {
  return run_op1(gather_nd_op, {params, indices}, {batch_dims});
}

// ---- scatter_nd ----
TAPEDECK_OP(scatter_nd_op) = {
    .name = "scatter_nd",
    .python_names = {"scatter_nd", "manip.scatter_nd"},
    .inputs = {{.name = "indices", .group = '\0', .preferred = DType::int32}, {.name = "updates"}},
    .attributes = {{.name = "shape", .kind = AttributeKind::shape, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          const Shape shape = shape_of(c, "shape");
          if (c.inputs[1].dtype() == DType::string)
            fail<TypeMismatchError>("scatter_nd: updates is string; strings do not add up");
          require_updates(c, 0, 1, shape, depth_of(c, 0, shape));
          return spec(c.inputs[1].dtype(), shape);
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          constexpr std::byte zero{};  // the bytes of a 0 of every dtype
          backend().fill(1, &zero, out.writable_data<std::byte>(), static_cast<std::int64_t>(out.bytes()));
          join_slices(kernels::Segment::sum, c, 0, contiguous(c.inputs[1]), out);
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(2);
          if (c.wanted[1]) gradients[1] = gather_nd(c.cotangents[0], c.inputs[0]);
          return gradients;
        },
    .vjp_formula = "d(updates) = gather_nd(dz, indices)",
    .doc =
        "Zeros of a shape, to which slices are added by coordinates; those of one place add up in order, of "
        "bool by 'or'.\n\n"
        "indices: any integer dtype, its last axis holds coordinates of the first axes of shape; "
        "updates: "
        "any dtype, indices.shape[:-1] + shape[indices.shape[-1]:]; shape: of the "
        "result.\n"
        "Returns: the dtype of updates, shape.\n"
        "Errors: OutOfRangeError for coordinates outside of shape; InvalidArgumentError for updates of "
        "another shape; TypeMismatchError for indices that are not integers.",
    .takes_others = true,
    .uint64_mapping = Uint64Mapping::bits,
};
Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Shape& shape) {
  return run_op1(scatter_nd_op, {indices, updates}, {attribute_of(shape)});
}

}  // namespace tapedeck::ops
