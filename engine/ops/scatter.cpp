// Slices by coordinates: the last axis of `indices` names a place in the first axes of a tensor.
#include <algorithm>

#include "engine/cpu/copy.h"
#include "engine/cpu/segment.h"
#include "engine/ops/checks.h"
#include "engine/ops/families.h"

namespace tapedeck::ops {
namespace {

/// How many coordinates each row of indices holds.
int depth_of(const OpContext& c, std::size_t input, const Shape& shape, int batch_axes = 0) {
  require_kind(c, input, Kind::integer);
  const Shape& indices = c.inputs[input].shape();
  if (indices.rank() == 0)
    fail<InvalidArgumentError>(c.op.name, ": indices is a scalar; needs at least one axis");
  const std::int64_t depth = indices[indices.rank() - 1];
  if (depth > shape.rank() - batch_axes)
    fail<InvalidArgumentError>(c.op.name, ": indices ", to_string(indices), " hold ", depth,
                               " coordinates each, but shape ", to_string(shape), " has ",
                               shape.rank() - batch_axes, " axes for them");
  return static_cast<int>(depth);
}

/// Numbers of the slices that the rows of indices name, in row-major order of the first axes of `shape`.
/// Throws OutOfRangeError, such as "gather_nd: indices[1] is (0, 7), outside of shape (2, 3)".
std::vector<std::int64_t> slice_numbers(const OpContext& c, std::size_t input, const Shape& shape, int depth,
                                        int batch_axes = 0) {
  const Tensor indices = contiguous(c.inputs[input]);
  std::int64_t rows = 1, batches = 1, per_batch = 1;
  for (int i = 0; i + 1 < indices.rank(); ++i) rows *= indices.dim(i);
  for (int i = 0; i < batch_axes; ++i) batches *= shape[i];
  for (int i = 0; i < depth; ++i) per_batch *= shape[batch_axes + i];
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows));
  const auto read = [&](std::int64_t at) {
    return indices.dtype() == DType::int32 ? std::int64_t{indices.data<std::int32_t>()[at]}
                                           : indices.data<std::int64_t>()[at];
  };
  const std::int64_t rows_per_batch = batches == 0 ? 1 : std::max<std::int64_t>(1, rows / batches);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t number = 0;
    for (int i = 0; i < depth; ++i) {
      const std::int64_t at = read(row * depth + i);
      if (at < 0 || at >= shape[batch_axes + i]) {
        Shape named;
        for (int k = 0; k < depth; ++k) named.push_back(read(row * depth + k));
        fail<OutOfRangeError>(c.op.name, ": indices[", row, "] is ", to_string(named), ", outside of shape ",
                              to_string(shape));
      }
      number = number * shape[batch_axes + i] + at;
    }
    numbers[static_cast<std::size_t>(row)] = row / rows_per_batch * per_batch + number;
  }
  return numbers;
}

std::int64_t product_from(const Shape& shape, int axis) {
  std::int64_t product = 1;
  for (; axis < shape.rank(); ++axis) product *= shape[axis];
  return product;
}

/// indices.shape[:-1] + shape[axis:]
Shape slices_shape(const Shape& indices, const Shape& shape, int axis) {
  Shape result;
  for (int i = 0; i + 1 < indices.rank(); ++i) result.push_back(indices[i]);
  for (; axis < shape.rank(); ++axis) result.push_back(shape[axis]);
  return result;
}

}  // namespace

// ---- gather_nd ----
namespace {

int batch_axes_of(const OpContext& c) {
  const Shape& params = c.inputs[0].shape();
  const Shape& indices = c.inputs[1].shape();
  const std::int64_t given = integer_of(c, 0);
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
  require_kind(c, 1, Kind::integer);
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
  const std::vector<std::int64_t> numbers = slice_numbers(c, 1, shape, depth, batch_axes);
  Tensor out = allocate_output(c);
  if (out.count() == 0) return one(std::move(out));
  const Tensor params = contiguous(c.inputs[0]);
  const std::int64_t width = product_from(shape, batch_axes + depth);
  cpu::gather_rows(
      params.raw(), 1, params.count() / width, numbers.data(), static_cast<std::int64_t>(numbers.size()),
      item_size(params.dtype()) * static_cast<std::size_t>(width), out.writable_data<std::byte>());
  return one(std::move(out));
}

/// The batch's own coordinates put before each row, so that no batch axes are left.
Tensor with_batch_coordinates(const Tensor& indices, int batch_axes) {
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
    .python_names = {"gather_nd"},
    .inputs = {{.name = "params"}, {.name = "indices", .group = '\0', .preferred = DType::int32}},
    .attributes = {{.name = "batch_dims", .kind = AttributeKind::integer, .fallback = std::int64_t{0}}},
    .shape_rule = gather_nd_shape,
    .forward = gather_nd_forward,
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
    .vjp_formula = "d(params) = scatter_nd(indices, dy, shape of params)",
    .doc =
        "Takes slices by coordinates: y[i, …] = params[indices[i], …].\n\n"
        "params: any dtype; indices: int32 or int64, its last axis holds the coordinates of the first axes "
        "of params; batch_dims: how many first axes both share, so that each batch takes from its own.\n"
        "Returns: the dtype of params, indices.shape[:-1] + params.shape[batch_dims + indices.shape[-1]:].\n"
        "Errors: OutOfRangeError for coordinates outside of params; InvalidArgumentError for more "
        "coordinates than axes, or batch axes that differ; TypeMismatchError for indices that are no whole "
        "numbers.",
};
Tensor gather_nd(const Tensor& params, const Tensor& indices, std::int64_t batch_dims) {
  return run_op1(gather_nd_op, {params, indices}, {batch_dims});
}

// ---- scatter_nd ----
namespace {

/// Throws InvalidArgumentError where updates are not what indices and shape ask for.
void require_updates(const OpContext& c, std::size_t indices, std::size_t updates, const Shape& shape,
                     int depth) {
  const Shape needed = slices_shape(c.inputs[indices].shape(), shape, depth);
  if (c.inputs[updates].shape() != needed)
    fail<InvalidArgumentError>(c.op.name, ": updates ", to_string(c.inputs[updates].shape()), " for indices ",
                               to_string(c.inputs[indices].shape()), " and shape ", to_string(shape),
                               "; needs ", to_string(needed));
}

/// target's slices += updates, in order.
void add_slices(const OpContext& c, std::size_t input, const Tensor& updates, const Tensor& target) {
  const Shape& shape = target.shape();
  const int depth = depth_of(c, input, shape);
  const std::vector<std::int64_t> numbers = slice_numbers(c, input, shape, depth);
  if (updates.count() == 0) return;
  cpu::segment_rows(cpu::Segment::sum, target.dtype(), updates.raw(), numbers.data(),
                    static_cast<std::int64_t>(numbers.size()), product_from(shape, depth),
                    target.writable_data<std::byte>());
}

}  // namespace

TAPEDECK_OP(scatter_nd_op) = {
    .name = "scatter_nd",
    .python_names = {"scatter_nd", "manip.scatter_nd"},
    .inputs = {{.name = "indices", .group = '\0', .preferred = DType::int32}, {.name = "updates"}},
    .attributes = {{.name = "shape", .kind = AttributeKind::shape, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          require_kind(c, 1, Kind::numeric);
          const Shape shape = shape_of(c, 0);
          require_updates(c, 0, 1, shape, depth_of(c, 0, shape));
          return spec(c.inputs[1].dtype(), shape);
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor zero = Tensor::scalar(0.0, out.dtype());
          cpu::fill(item_size(out.dtype()), zero.raw(), out.writable_data<std::byte>(), out.count());
          add_slices(c, 0, contiguous(c.inputs[1]), out);
          return one(std::move(out));
        },
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(2);
          if (c.wanted[1]) gradients[1] = gather_nd(c.cotangents[0], c.inputs[0]);
          return gradients;
        },
    .vjp_formula = "d(updates) = gather_nd(dy, indices)",
    .doc =
        "Zeros of a shape, to which slices are added by coordinates; those of one place add up in order.\n\n"
        "indices: int32 or int64, its last axis holds coordinates of the first axes of shape; updates: "
        "int32, int64, float32 or float64, indices.shape[:-1] + shape[indices.shape[-1]:]; shape: of the "
        "result.\n"
        "Returns: the dtype of updates, shape.\n"
        "Errors: OutOfRangeError for coordinates outside of shape; InvalidArgumentError for updates of "
        "another shape; TypeMismatchError for other dtypes.",
};
Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Shape& shape) {
  return run_op1(scatter_nd_op, {indices, updates}, {attribute_of(shape)});
}

// ---- tensor_scatter_nd_update, tensor_scatter_nd_add, tensor_scatter_nd_sub ----
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
  const std::vector<std::int64_t> numbers = slice_numbers(c, 1, out.shape(), depth);
  const Tensor updates = contiguous(c.inputs[2]);
  const auto row = product_from(out.shape(), depth) * static_cast<std::int64_t>(item_size(out.dtype()));
  if (updates.count() > 0)
    cpu::scatter_rows(updates.raw(), numbers.data(), static_cast<std::int64_t>(numbers.size()),
                      static_cast<std::size_t>(row), out.writable_data<std::byte>());
  return one(std::move(out));
}

template <bool subtract>
Tensors add_forward(const OpContext& c) {
  Tensor out = copy_of_first(c);
  Tensor updates = contiguous(c.inputs[2]);
  if (subtract && updates.count() > 0) {
    const Tensor negated = Tensor::allocate(updates.dtype(), updates.shape());
    cpu::unary(cpu::Unary::negative, updates.dtype(), updates.raw(), negated.writable_data<std::byte>(),
               updates.count());
    updates = negated;
  }
  add_slices(c, 1, updates, out);
  return one(std::move(out));
}

/// Of each row of indices, whether it is the last that names its place: the shape of `updates`' first axes,
/// and ones for the others.
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
  const std::string dtypes = kind == Kind::any ? "any dtype" : "int32, int64, float32 or float64";
  return {
      .name = "tensor_scatter_nd_" + verb,
      .python_names = {"tensor_scatter_nd_" + verb, "tensor_scatter_" + verb},
      .inputs = {{.name = "tensor"},
                 {.name = "indices", .group = '\0', .preferred = DType::int32},
                 {.name = "updates"}},
      .attributes = {},
      .shape_rule = shape_rule,
      .forward = forward,
      .vjp = vjp,
      .vjp_formula = formula,
      .doc = what + "\n\ntensor, updates: " + dtypes +
             ", one for both; indices: int32 or int64, its last axis holds coordinates of the first axes of "
             "tensor; the shape of updates is indices.shape[:-1] + tensor.shape[indices.shape[-1]:].\n"
             "Returns: the dtype and shape of tensor.\n"
             "Errors: OutOfRangeError for coordinates outside of tensor; InvalidArgumentError for updates of "
             "another shape; TypeMismatchError for other or different dtypes.",
  };
}

}  // namespace

TAPEDECK_OP(tensor_scatter_nd_update_op) = tensor_scatter_row(
    "update", Kind::any,
    "A tensor with slices replaced, by coordinates. Of several updates of one place the last one stays, and "
    "has "
    "the gradient.",
    "d(tensor) = dy with zeros at indices, d(updates) = gather_nd(dy, indices), 0 for what an update "
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

TAPEDECK_OP(tensor_scatter_nd_add_op) = tensor_scatter_row(
    "add", Kind::numeric, "A tensor to which slices are added by coordinates; those of one place add up.",
    "d(tensor) = dy, d(updates) = gather_nd(dy, indices)", tensor_scatter_shape<Kind::numeric>,
    add_forward<false>, [](const VjpContext& c) {
      Tensors gradients(3);
      gradients[0] = c.cotangents[0];
      if (c.wanted[2]) gradients[2] = gather_nd(c.cotangents[0], c.inputs[1]);
      return gradients;
    });
Tensor tensor_scatter_nd_add(const Tensor& tensor, const Tensor& indices, const Tensor& updates) {
  return run_op1(tensor_scatter_nd_add_op, {tensor, indices, updates});
}

TAPEDECK_OP(tensor_scatter_nd_sub_op) =
    tensor_scatter_row("sub", Kind::numeric, "A tensor from which slices are subtracted by coordinates.",
                       "d(tensor) = dy, d(updates) = −gather_nd(dy, indices)",
                       tensor_scatter_shape<Kind::numeric>, add_forward<true>, [](const VjpContext& c) {
                         Tensors gradients(3);
                         gradients[0] = c.cotangents[0];
                         if (c.wanted[2]) gradients[2] = -gather_nd(c.cotangents[0], c.inputs[1]);
                         return gradients;
                       });
Tensor tensor_scatter_nd_sub(const Tensor& tensor, const Tensor& indices, const Tensor& updates) {
  return run_op1(tensor_scatter_nd_sub_op, {tensor, indices, updates});
}

void link_scatter() {}

}  // namespace tapedeck::ops
