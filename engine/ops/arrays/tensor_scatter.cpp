// Tensors with slices changed by coordinates.
#include "engine/ops/arrays/coordinates.h"

namespace tapedeck::ops {

static Tensor tensor_scatter_nd_update(const Tensor& tensor, const Tensor& indices, const Tensor& updates);
namespace {

template <Kind kind>
TensorSpecs tensor_scatter_shape(const OpContext& c) {
  require_kind(c, 0, kind);
  require_same_dtype(c, 0, 2);
  const Shape& shape = c.inputs[0].shape();
  require_updates(c, 1, 2, shape, depth_of(c, 1, shape));
  return like_first(c);
}

Tensor copy_of_first(const OpContext& c) {
  Tensor out = allocate_output(c);
  const Tensor& x = c.inputs[0];
  place(x, out, x.shape(), x.strides(), out.strides(), 0);
  return out;
}

Tensors update_forward(const OpContext& c) {
  Tensor out = copy_of_first(c);
  const int depth = depth_of(c, 1, out.shape());
  const Tensor numbers = slice_numbers(c, 1, out.shape(), depth);
  const Tensor updates = contiguous(c.inputs[2]);
  const auto row = product_from(out.shape(), depth) * static_cast<std::int64_t>(item_size(out.dtype()));
  if (updates.count() > 0 && out.count() > 0)
    backend().scatter_rows(updates.raw(), numbers.data<std::int64_t>(), numbers.count(),
                           static_cast<std::size_t>(row), out.writable_data<std::byte>());
  return one(std::move(out));
}

template <bool subtract>
Tensors add_forward(const OpContext& c) {
  Tensor out = copy_of_first(c);
  Tensor updates = contiguous(c.inputs[2]);
  if (subtract && updates.count() > 0) {
    const Tensor negated = Tensor::allocate(updates.dtype(), updates.shape());
    backend().unary(kernels::Unary::negative, updates.dtype(), updates.raw(),
                    negated.writable_data<std::byte>(), updates.count());
    updates = negated;
  }
  join_slices(kernels::Segment::sum, c, 1, updates, out);
  return one(std::move(out));
}

template <bool subtract>
Tensors add_vjp(const VjpContext& c) {
  Tensors gradients(3);
  gradients[0] = c.cotangents[0];
  if (c.wanted[2]) {
    const Tensor gathered = gather_nd(c.cotangents[0], c.inputs[1]);
    gradients[2] = subtract ? -gathered : gathered;
  }
  return gradients;
}

template <kernels::Segment op>
Tensors extreme_forward(const OpContext& c) {
  Tensor out = copy_of_first(c);
  join_slices(op, c, 1, contiguous(c.inputs[2]), out);
  return one(std::move(out));
}

/// The gradient goes to the extreme value, in equal parts if there are several.
Tensors extreme_vjp(const VjpContext& c) {
  const Tensor& indices = c.inputs[1];
  const DType dtype = c.outputs[0].dtype();
  const Tensor own = cast(equal(c.inputs[0], c.outputs[0]), dtype);
  const Tensor given = cast(equal(c.inputs[2], gather_nd(c.outputs[0], indices)), dtype);
  const Tensor ties = own + scatter_nd(indices, given, c.inputs[0].shape());
  const Tensor part = divide_no_nan(c.cotangents[0], ties);
  Tensors gradients(3);
  if (c.wanted[0]) gradients[0] = part * own;
  if (c.wanted[2]) gradients[2] = gather_nd(part, indices) * given;
  return gradients;
}

/// For each row of indices, whether it is the last for its slice: the shape of `updates`' first axes, and
/// ones for the others.
Tensor last_of_their_place(const Tensor& indices, const Shape& shape, int rank) {
  const auto axes = static_cast<std::size_t>(indices.rank() - 1);
  const Shape rows(indices.shape().span().first(axes));
  const Shape places(shape.span().first(static_cast<std::size_t>(indices.dim(indices.rank() - 1))));
  const auto count = static_cast<double>(element_count(rows));
  const Tensor numbers = reshape(range(0, count, 1, DType::int64), rows);
  const Tensor last = tensor_scatter_nd_update(zeros(places, DType::int64), indices, numbers);
  Shape padded = rows;
  while (padded.rank() < rank) padded.push_back(1);
  return reshape(equal(gather_nd(last, indices), numbers), padded);
}

OpDef tensor_scatter_row(const std::string& verb, Kind kind, const std::string& what,
                         const std::string& formula, ShapeRule shape_rule, Forward forward, Vjp vjp) {
  const std::string dtypes = kind == Kind::any ? "any dtype" : "any numeric dtype";
  std::vector<std::string> python_names = {"tensor_scatter_nd_" + verb};
  if (verb != "max" && verb != "min") python_names.push_back("tensor_scatter_" + verb);  // TensorFlow 1's
  return {
      .name = "tensor_scatter_nd_" + verb,
      .python_names = python_names,
      .inputs = {{.name = "tensor"},
                 {.name = "indices", .group = '\0', .preferred = DType::int32},
                 {.name = "updates"}},
      .attributes = {},
      .shape_rule = shape_rule,
      .forward = forward,
      .vjp = vjp,
      .vjp_formula = formula,
      .doc = what + "\n\ntensor, updates: " + dtypes +
             ", one for both; indices: any integer dtype, its last axis holds coordinates of the first "
             "axes of "
             "tensor; the shape of updates is indices.shape[:-1] + tensor.shape[indices.shape[-1]:].\n"
             "Returns: the dtype and shape of tensor.\n"
             "Errors: OutOfRangeError for coordinates outside of tensor; InvalidArgumentError for updates of "
             "another shape; TypeMismatchError for other or different dtypes.",
      .takes_narrow = kind == Kind::any,
  };
}

template <kernels::Segment op>
OpDef extreme_row(const std::string& verb, const std::string& comparative) {
  return tensor_scatter_row(
      verb, Kind::numeric,
      "A tensor whose slices become the " + comparative +
          " of what they are and of the updates of their coordinates; NaN where one is "
          "among them.",
      "d(tensor) = dz where tensor = z, else 0, d(updates) = gather_nd(dz, indices) where updates = "
      "gather_nd(z, indices), else 0; both divided by the number of such",
      tensor_scatter_shape<Kind::numeric>, extreme_forward<op>, extreme_vjp);
}

}  // namespace

TAPEDECK_OP(tensor_scatter_nd_update_op, VjpReads::inputs) = tensor_scatter_row(
    "update", Kind::any,
    "A tensor with slices replaced, by coordinates. Of several updates of one place the last one stays, and "
    "has the gradient.",
    "d(tensor) = dz, but 0 at indices, d(updates) = gather_nd(dz, indices), 0 for what an update "
    "replaced",
    tensor_scatter_shape<Kind::any>, update_forward, [](const VjpContext& c) {
      Tensors gradients(3);
      if (c.wanted[0])
        gradients[0] = tensor_scatter_nd_update(c.cotangents[0], c.inputs[1], zeros_like(c.inputs[2]));
      if (c.wanted[2]) {
        const Tensor gathered = gather_nd(c.cotangents[0], c.inputs[1]);
        const Tensor stayed = last_of_their_place(c.inputs[1], c.inputs[0].shape(), gathered.rank());
        gradients[2] = where(stayed, gathered, zeros_like(gathered));
      }
      return gradients;
    });
Tensor tensor_scatter_nd_update(const Tensor& tensor, const Tensor& indices, const Tensor& updates) {
  return run_op1(tensor_scatter_nd_update_op, {tensor, indices, updates});
}

TAPEDECK_OP(tensor_scatter_nd_add_op, VjpReads::inputs) = tensor_scatter_row(
    "add", Kind::numeric, "A tensor to which slices are added by coordinates; those of one place add up.",
    "d(tensor) = dz, d(updates) = gather_nd(dz, indices)", tensor_scatter_shape<Kind::numeric>,
    add_forward<false>, add_vjp<false>);

TAPEDECK_OP(tensor_scatter_nd_sub_op, VjpReads::inputs) =
    tensor_scatter_row("sub", Kind::numeric, "A tensor from which slices are subtracted by coordinates.",
                       "d(tensor) = dz, d(updates) = −gather_nd(dz, indices)",
                       tensor_scatter_shape<Kind::numeric>, add_forward<true>, add_vjp<true>);

TAPEDECK_OP(tensor_scatter_nd_max_op) = extreme_row<kernels::Segment::max>("max", "larger");

TAPEDECK_OP(tensor_scatter_nd_min_op) = extreme_row<kernels::Segment::min>("min", "smaller");

}  // namespace tapedeck::ops
