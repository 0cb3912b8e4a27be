// Parts of tensors by position, and sums into positions.
#include <algorithm>

#include "engine/cpu/copy.h"
#include "engine/cpu/segment.h"
#include "engine/ops/checks.h"
#include "engine/ops/families.h"

namespace tapedeck::ops {

// ---- strided_slice, strided_slice_grad ----
namespace {

/// The view that a slicing reads.
struct Resolved {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;
};

Slicing slicing_of(const OpContext& c, std::size_t first) {
  Slicing s;
  s.begin = integers_of(c.attributes[first]);
  s.end = integers_of(c.attributes[first + 1]);
  s.strides = c.attributes.is_none(first + 2) ? Integers(s.begin.size(), 1) : integers_of(c.attributes[first + 2]);
  s.begin_mask = integer_of(c, first + 3);
  s.end_mask = integer_of(c, first + 4);
  s.ellipsis_mask = integer_of(c, first + 5);
  s.new_axis_mask = integer_of(c, first + 6);
  s.shrink_axis_mask = integer_of(c, first + 7);
  if (s.begin.size() != s.end.size() || s.begin.size() != s.strides.size())
    fail<InvalidArgumentError>(c.op.name, ": begin, end and strides have ", s.begin.size(), ", ", s.end.size(), " and ",
                               s.strides.size(), " entries; needs the same number");
  return s;
}

bool bit(std::int64_t mask, std::size_t i) { return i < 63 && (mask >> i & 1) != 0; }

/// One entry `begin:end:stride` of an axis, by Python's rules.
void resolve_range(const OpContext& c, const Slicing& s, std::size_t entry, std::int64_t extent, std::int64_t stride,
                   Resolved& result) {
  const std::int64_t step = s.strides[entry];
  if (step == 0) fail<InvalidArgumentError>(c.op.name, ": strides[", entry, "] is 0");
  const std::int64_t lowest = step > 0 ? 0 : -1;
  const std::int64_t highest = step > 0 ? extent : extent - 1;
  const auto limit = [&](std::int64_t value) {
    return std::clamp(value < 0 ? value + extent : value, lowest, highest);
  };
  const std::int64_t begin = bit(s.begin_mask, entry) ? (step > 0 ? lowest : highest) : limit(s.begin[entry]);
  const std::int64_t end = bit(s.end_mask, entry) ? (step > 0 ? highest : lowest) : limit(s.end[entry]);
  const std::int64_t distance = step > 0 ? end - begin : begin - end;
  const auto magnitude = static_cast<std::uint64_t>(step > 0 ? step : -(step + 1)) + (step > 0 ? 0U : 1U);
  const std::int64_t count =
      distance <= 0 ? 0 : static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / magnitude) + 1;
  result.shape.push_back(count);
  result.strides.push_back(count > 1 ? stride * step : stride);
  if (count > 0) result.offset += begin * stride;
}

Resolved resolve(const OpContext& c, const Slicing& s, const Shape& shape, const Strides& strides) {
  const std::size_t entries = s.begin.size();
  int used = 0;
  int ellipses = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    if (bit(s.ellipsis_mask, i))
      ++ellipses;
    else if (!bit(s.new_axis_mask, i))
      ++used;
  }
  if (ellipses > 1) fail<InvalidArgumentError>(c.op.name, ": ... stands ", ellipses, " times; once is allowed");
  if (used > shape.rank())
    fail<OutOfRangeError>(c.op.name, ": ", used, " indices for shape ", to_string(shape), " with ", shape.rank(), " axes");
  Resolved result;
  int axis = 0;
  const auto whole_axis = [&] {
    result.shape.push_back(shape[axis]);
    result.strides.push_back(strides[axis]);
    ++axis;
  };
  for (std::size_t i = 0; i < entries; ++i) {
    if (bit(s.ellipsis_mask, i)) {
      for (int left = shape.rank() - used; left > 0; --left) whole_axis();
    } else if (bit(s.new_axis_mask, i)) {
      result.shape.push_back(1);
      result.strides.push_back(0);
    } else if (bit(s.shrink_axis_mask, i)) {
      const std::int64_t index = s.begin[i] < 0 ? s.begin[i] + shape[axis] : s.begin[i];
      if (index < 0 || index >= shape[axis])
        fail<OutOfRangeError>(c.op.name, ": index ", s.begin[i], " is out of range for axis ", axis, " of shape ",
                              to_string(shape));
      result.offset += index * strides[axis];
      ++axis;
    } else {
      resolve_range(c, s, i, shape[axis], strides[axis], result);
      ++axis;
    }
  }
  while (axis < shape.rank()) whole_axis();
  if (std::find(result.shape.begin(), result.shape.end(), 0) != result.shape.end()) result.offset = 0;
  return result;
}

std::vector<AttributeSpec> slicing_attributes() {
  std::vector<AttributeSpec> specs = {
      {.name = "begin", .kind = AttributeKind::integers, .fallback = {}, .required = true},
      {.name = "end", .kind = AttributeKind::integers, .fallback = {}, .required = true},
      {.name = "strides", .kind = AttributeKind::integers, .fallback = std::monostate{}}};
  for (const char* mask : {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"})
    specs.push_back({.name = mask, .kind = AttributeKind::integer, .fallback = std::int64_t{0}});
  return specs;
}

void append_slicing(std::vector<Attribute>& values, const Slicing& s) {
  values.insert(values.end(), {s.begin, s.end, s.strides.empty() && !s.begin.empty() ? Attribute() : Attribute(s.strides),
                               s.begin_mask, s.end_mask, s.ellipsis_mask, s.new_axis_mask, s.shrink_axis_mask});
}

}  // namespace

TAPEDECK_OP(strided_slice_op) = {
    .name = "strided_slice",
    .python_names = {"strided_slice"},
    .inputs = {{.name = "input_"}},
    .attributes = slicing_attributes(),
    .shape_rule =
        [](const OpContext& c) {
          const Tensor& x = c.inputs[0];
          return spec(x.dtype(), resolve(c, slicing_of(c, 0), x.shape(), x.strides()).shape);
        },
    .forward =
        [](const OpContext& c) {
          const Tensor& x = c.inputs[0];
          const Resolved view = resolve(c, slicing_of(c, 0), x.shape(), x.strides());
          return one(view_of(x, view.shape, view.strides, view.offset));
        },
    .vjp =
        [](const VjpContext& c) {
          return one(strided_slice_grad(c.cotangents[0], c.inputs[0].shape(),
                                        slicing_of({c.op, c.inputs, c.attributes, {}}, 0)));
        },
    .vjp_formula = "dx = dy where the slice reads, else 0",
    .doc = "Python's input_[begin:end:strides, …], without a copy.\n\n"
           "input_: any dtype and shape. Entry i of begin, end and strides speaks of the next axis; bit i of a mask "
           "changes entry i: begin_mask, end_mask: the bound is left out; ellipsis_mask: `...`, as many axes as are left; "
           "new_axis_mask: an axis of extent 1; shrink_axis_mask: the index begin[i], whose axis goes. strides None: 1.\n"
           "Returns: the dtype of input_, the shape that Python's rules give; bounds are limited to the axis.\n"
           "Errors: OutOfRangeError for an index outside its axis or more indices than axes; InvalidArgumentError for a "
           "stride of 0, two ellipses, or lists of different lengths.",
};
Tensor strided_slice(const Tensor& input, const Slicing& slicing) {
  std::vector<Attribute> values;
  append_slicing(values, slicing);
  return run_op1(strided_slice_op, {input}, Attributes(std::move(values)));
}

TAPEDECK_OP(strided_slice_grad_op) = {
    .name = "strided_slice_grad",
    .python_names = {},
    .inputs = {{.name = "dy"}},
    .attributes =
        [] {
          std::vector<AttributeSpec> specs = slicing_attributes();
          specs.insert(specs.begin(), {.name = "shape", .kind = AttributeKind::shape, .fallback = {}, .required = true});
          return specs;
        }(),
    .shape_rule =
        [](const OpContext& c) {
          const Shape shape = shape_of(c, 0);
          const Shape read = resolve(c, slicing_of(c, 1), shape, contiguous_strides(shape)).shape;
          if (read != c.inputs[0].shape())
            fail<InvalidArgumentError>("strided_slice_grad: dy ", to_string(c.inputs[0].shape()), " where the slice of ",
                                       to_string(shape), " has shape ", to_string(read));
          return spec(c.inputs[0].dtype(), shape);
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor zero = Tensor::scalar(0.0, out.dtype());
          const std::size_t size = item_size(out.dtype());
          cpu::fill(size, zero.raw(), out.writable_data<std::byte>(), out.count());
          const Resolved view = resolve(c, slicing_of(c, 1), out.shape(), out.strides());
          const Tensor& dy = c.inputs[0];
          cpu::copy(size, dy.raw(), dy.strides(),
                    out.writable_data<std::byte>() + view.offset * static_cast<std::int64_t>(size), view.strides,
                    view.shape);
          return one(std::move(out));
        },
    .vjp =
        [](const VjpContext& c) {
          return one(strided_slice(c.cotangents[0], slicing_of({c.op, c.inputs, c.attributes, {}}, 1)));
        },
    .vjp_formula = "d(dy) = the same slice of dz",
    .doc = "The VJP of strided_slice: zeros of a shape, with dy where the slice reads.\n\n"
           "dy: any dtype, the shape of the slice; shape: of the result; the rest as in strided_slice.\n"
           "Returns: the dtype of dy, shape.\n"
           "Errors: as in strided_slice; InvalidArgumentError where dy has another shape than the slice.",
};
Tensor strided_slice_grad(const Tensor& dy, const Shape& shape, const Slicing& slicing) {
  std::vector<Attribute> values = {attribute_of(shape)};
  append_slicing(values, slicing);
  return run_op1(strided_slice_grad_op, {dy}, Attributes(std::move(values)));
}

// ---- slice ----
namespace {

TensorSpecs slice_shape(const OpContext& c) {
  const Shape& shape = c.inputs[0].shape();
  const Integers begin = integers_of(c.attributes[0]);
  const Integers size = integers_of(c.attributes[1]);
  Shape result;
  bool fits = begin.size() == static_cast<std::size_t>(shape.rank()) && size.size() == begin.size();
  for (std::size_t i = 0; fits && i < begin.size(); ++i) {
    const std::int64_t extent = shape[static_cast<int>(i)];
    const std::int64_t count = size[i] == -1 ? extent - begin[i] : size[i];
    fits = begin[i] >= 0 && begin[i] <= extent && count >= 0 && count <= extent - begin[i];
    result.push_back(count);
  }
  if (!fits)
    fail<InvalidArgumentError>("slice: begin ", to_string(c.attributes[0]), " and size ", to_string(c.attributes[1]),
                               " leave shape ", to_string(shape));
  return spec(c.inputs[0].dtype(), result);
}

}  // namespace

TAPEDECK_OP(slice_op) = {
    .name = "slice",
    .python_names = {"slice"},
    .inputs = {{.name = "input_"}},
    .attributes = {{.name = "begin", .kind = AttributeKind::integers, .fallback = {}, .required = true},
                   {.name = "size", .kind = AttributeKind::integers, .fallback = {}, .required = true}},
    .shape_rule = slice_shape,
    .forward =
        [](const OpContext& c) {
          const Tensor& x = c.inputs[0];
          const Integers begin = integers_of(c.attributes[0]);
          std::int64_t offset = 0;
          if (element_count(c.outputs[0].shape) > 0)
            for (int axis = 0; axis < x.rank(); ++axis)
              offset += begin[static_cast<std::size_t>(axis)] * x.strides()[axis];
          return one(view_of(x, c.outputs[0].shape, x.strides(), offset));
        },
    .vjp =
        [](const VjpContext& c) {
          const Integers begin = integers_of(c.attributes[0]);
          Integers paddings;
          for (std::size_t i = 0; i < begin.size(); ++i) {
            const int axis = static_cast<int>(i);
            paddings.push_back(begin[i]);
            paddings.push_back(c.inputs[0].dim(axis) - begin[i] - c.outputs[0].dim(axis));
          }
          return one(pad(c.cotangents[0], paddings));
        },
    .vjp_formula = "dx = dy where the slice reads, else 0",
    .doc = "A block of a tensor, without a copy: size[i] elements from begin[i] on along axis i.\n\n"
           "input_: any dtype and shape; begin, size: one number for each axis; size −1: to the end.\n"
           "Returns: the dtype of input_, shape size.\n"
           "Errors: InvalidArgumentError where the block leaves the tensor.",
};
Tensor slice(const Tensor& input, const Integers& begin, const Integers& size) {
  return run_op1(slice_op, {input}, {begin, size});
}

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
  cpu::gather_rows(params.raw(), outer, params.dim(axis), indices.data(), static_cast<std::int64_t>(indices.size()), row,
                   out.writable_data<std::byte>());
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
    .doc = "Takes slices of an axis by number.\n\n"
           "params: any dtype, at least one axis; indices: int32 or int64, any shape, values in [0, extent of the axis); "
           "axis: which.\n"
           "Returns: the dtype of params, shape params.shape[:axis] + indices.shape + params.shape[axis+1:].\n"
           "Errors: OutOfRangeError for an index outside the axis; InvalidArgumentError for an axis out of range; "
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
    fail<InvalidArgumentError>("unsorted_segment_sum: segment_ids ", to_string(ids), " is no beginning of data ",
                               to_string(data));
  Shape shape{segments};
  for (int i = ids.rank(); i < data.rank(); ++i) shape.push_back(data[i]);
  return spec(c.inputs[0].dtype(), shape);
}

}  // namespace

TAPEDECK_OP(unsorted_segment_sum_op) = {
    .name = "unsorted_segment_sum",
    .python_names = {"unsorted_segment_sum", "math.unsorted_segment_sum"},
    .inputs = {{.name = "data"}, {.name = "segment_ids", .group = '\0', .preferred = DType::int32}},
    .attributes = {{.name = "num_segments", .kind = AttributeKind::integer, .fallback = {}, .required = true}},
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
    .doc = "Sums slices that have the same number: y[s] = Σ data[i] over the i with segment_ids[i] = s, in order of i.\n\n"
           "data: int32, int64, float32 or float64; segment_ids: int32 or int64, values in [0, num_segments), its shape a "
           "beginning of that of data.\n"
           "Returns: the dtype of data, (num_segments,) + the rest of its shape.\n"
           "Errors: OutOfRangeError for a number outside the range; InvalidArgumentError for shapes that do not fit; "
           "TypeMismatchError for other dtypes.",
};
Tensor unsorted_segment_sum(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments) {
  return run_op1(unsorted_segment_sum_op, {data, segment_ids}, {num_segments});
}

void link_indexing() {}

}  // namespace tapedeck::ops
