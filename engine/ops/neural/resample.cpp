// Weighted sums of elements along an axis: resizing an image is one for its columns and one for its rows.
#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"

namespace tapedeck::ops {
namespace {

Tensor run_resample(const Tensor& x, const Tensor& indices, const Tensor& weights, std::int64_t axis);
Tensor run_resample_grad(const Tensor& dy, const Tensor& indices, const Tensor& weights, std::int64_t axis,
                         std::int64_t extent);

int axis_of(const OpContext& c) {
  return normalize_axis(c.op.name, "axis", integer_of(c, "axis"), c.inputs[0].shape());
}

void check_weights(const OpContext& c) {
  require_kind(c, 0, Kind::floating);
  require_kind(c, 1, Kind::index);
  require_same_dtype(c, 0, 2);
  const Shape& indices = c.inputs[1].shape();
  if (indices.rank() != 2 || indices[1] < 1 || indices != c.inputs[2].shape())
    fail<InvalidArgumentError>(c.op.name, ": indices ", to_string(indices), " and weights ",
                               to_string(c.inputs[2].shape()), "; both need (places, at least 1)");
}

Shape with_extent(Shape shape, int axis, std::int64_t extent) {
  shape[axis] = extent;
  return shape;
}

/// `of`: the shape whose positions the indices select; `count`: the positions of the other shape.
kernels::ResampleSize resample_size(const Shape& of, int axis, const Shape& indices) {
  kernels::ResampleSize size{1, of[axis], 1, indices[0], indices[1]};
  for (int i = 0; i < axis; ++i) size.outer *= of[i];
  for (int i = axis + 1; i < of.rank(); ++i) size.inner *= of[i];
  return size;
}

template <auto kernel>
Tensors forward(const OpContext& c, std::int64_t extent) {
  const int axis = axis_of(c);
  const Tensor indices = checked_indices(c, 1, extent);
  const Tensor x = contiguous(c.inputs[0]), weights = contiguous(c.inputs[2]);
  Tensor out = allocate_output(c);
  if (out.count() == 0) return one(std::move(out));
  (backend().*kernel)(x.dtype(), resample_size(with_extent(x.shape(), axis, extent), axis, indices.shape()),
                      x.raw(), indices.data<std::int64_t>(), weights.raw(), out.writable_data<std::byte>());
  return one(std::move(out));
}

OpCost resample_cost(const CostContext& c) {
  const double taps = static_cast<double>(c.inputs[1].shape[1]);
  const bool grad = c.op.has("extent");
  return {2 * taps * (grad ? cost::count(c.inputs[0]) : cost::count(c.outputs[0])), cost::traffic(c)};
}

constexpr const char* weights_doc =
    "indices: integers (places, taps); weights: the dtype of the values, (places, taps), constants to "
    "gradients; axis: along which.\n";

}  // namespace

// ---- resample ----
TAPEDECK_OP(resample_op) = {
    .name = "resample",
    .python_names = {},  // tf.image.resize
    .inputs = {{.name = "x"},
               {.name = "indices", .group = '\0', .preferred = DType::int64},
               {.name = "weights"}},
    .attributes = {{.name = "axis", .kind = AttributeKind::integer, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          check_weights(c);
          return spec(c.inputs[0].dtype(),
                      with_extent(c.inputs[0].shape(), axis_of(c), c.inputs[1].shape()[0]));
        },
    .forward = [](const OpContext& c) { return forward<&Backend::resample>(c, c.inputs[0].dim(axis_of(c))); },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(3);
          const auto axis = c.get<std::int64_t>("axis");
          const Tensor& x = c.inputs[0];
          if (c.wanted[0])
            gradients[0] = run_resample_grad(c.cotangents[0], c.inputs[1], c.inputs[2], axis,
                                             x.dim(static_cast<int>(axis < 0 ? axis + x.rank() : axis)));
          return gradients;
        },
    .vjp_formula = "dx[e] = Σ weights[j, k]·dz[j] over all j, k with indices[j, k] = e, none for weights",
    .cost = resample_cost,
    .doc = std::string(
               "Weighted sums of places along an axis: out[j] = Σₖ weights[j, k]·x[indices[j, k]].\n\n"
               "x: any floating dtype, at least one axis; ") +
           weights_doc +
           "Returns: dtype and shape of x, with as many places along the axis as there are rows of weights.\n"
           "Errors: OutOfRangeError for an index outside of x; InvalidArgumentError for other shapes and an "
           "axis out of range; TypeMismatchError for other or different dtypes.",
};

// ---- resample_grad ----
TAPEDECK_OP(resample_grad_op) = {
    .name = "resample_grad",
    .python_names = {},
    .inputs = {{.name = "g"},
               {.name = "indices", .group = '\0', .preferred = DType::int64},
               {.name = "weights"}},
    .attributes = {{.name = "axis", .kind = AttributeKind::integer, .fallback = {}, .required = true},
                   {.name = "extent", .kind = AttributeKind::integer, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          check_weights(c);
          const int axis = axis_of(c);
          const std::int64_t extent = integer_of(c, "extent");
          if (extent < 0 || c.inputs[0].dim(axis) != c.inputs[1].dim(0))
            fail<InvalidArgumentError>("resample_grad: g ", to_string(c.inputs[0].shape()), ", indices ",
                                       to_string(c.inputs[1].shape()), " and extent ", extent,
                                       " do not fit one another");
          return spec(c.inputs[0].dtype(), with_extent(c.inputs[0].shape(), axis, extent));
        },
    .forward =
        [](const OpContext& c) { return forward<&Backend::resample_gradient>(c, integer_of(c, "extent")); },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(3);
          if (c.wanted[0])
            gradients[0] =
                run_resample(c.cotangents[0], c.inputs[1], c.inputs[2], c.get<std::int64_t>("axis"));
          return gradients;
        },
    .vjp_formula = "dg[j] = Σₖ weights[j, k]·dz[indices[j, k]], none for weights",
    .cost = resample_cost,
    .doc = std::string("The VJP of resample: sums of weighted places.\n\ng: any floating dtype; ") +
           weights_doc +
           "extent: how many places there are along the axis of the result.\n"
           "Returns: dtype and shape of g, with that extent.\n"
           "Errors: OutOfRangeError for an index outside of the extent; InvalidArgumentError for shapes that "
           "do not fit; TypeMismatchError for other or different dtypes.",
};

namespace {

Tensor run_resample(const Tensor& x, const Tensor& indices, const Tensor& weights, std::int64_t axis) {
  return run_op1(resample_op, {x, indices, weights}, {axis});
}
Tensor run_resample_grad(const Tensor& dy, const Tensor& indices, const Tensor& weights, std::int64_t axis,
                         std::int64_t extent) {
  return run_op1(resample_grad_op, {dy, indices, weights}, {axis, extent});
}

}  // namespace
}  // namespace tapedeck::ops
