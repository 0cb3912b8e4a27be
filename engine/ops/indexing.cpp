// Taking elements by position.
#include <algorithm>

#include "engine/cpu/copy.h"
#include "engine/cpu/segment.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

namespace tapedeck {

using namespace rules;

// ---- strided_slice: Python's basic indexing
namespace {

enum SliceAttribute { begin_, end_, strides_, begin_mask_, end_mask_, new_axis_mask_, shrink_axis_mask_ };

std::vector<AttributeSpec> slice_attributes() {
  return {{"begin", AttributeKind::integers, Axes{}, true},
          {"end", AttributeKind::integers, Axes{}, true},
          {"strides", AttributeKind::integers, Axes{}, true},
          {"begin_mask", AttributeKind::integer, std::int64_t{0}},
          {"end_mask", AttributeKind::integer, std::int64_t{0}},
          {"new_axis_mask", AttributeKind::integer, std::int64_t{0}},
          {"shrink_axis_mask", AttributeKind::integer, std::int64_t{0}}};
}

/// What the attributes mean for a tensor of this shape.
struct Slice {
  Shape shape;              ///< of the result
  Shape source_shape;       ///< of what is taken, in the source's axes
  std::int64_t offset = 0;  ///< of the first element taken, in elements of the given strides
  Strides strides;          ///< of the result
  Strides source_strides;   ///< of what is taken, in the source's axes
};

/// Python's rule for slice(begin, end, stride) on `extent` elements: the first index and how many.
std::pair<std::int64_t, std::int64_t> python_range(std::int64_t begin, std::int64_t end, std::int64_t stride,
                                                   std::int64_t extent, bool whole_begin, bool whole_end) {
  const std::int64_t lowest = stride > 0 ? 0 : -1, highest = stride > 0 ? extent : extent - 1;
  const auto clamp = [&](std::int64_t index) {
    return std::clamp(index < 0 ? index + extent : index, lowest, highest);
  };
  const std::int64_t first = whole_begin ? (stride > 0 ? 0 : extent - 1) : clamp(begin);
  const std::int64_t last = whole_end ? (stride > 0 ? extent : -1) : clamp(end);
  const std::int64_t distance = stride > 0 ? last - first : first - last,
                     step = stride > 0 ? stride : -stride;
  return {first, distance <= 0 ? 0 : (distance + step - 1) / step};
}

Slice slice_of(const std::string& op, const Attributes& attributes, const Shape& shape,
               const Strides& strides) {
  const auto &begin = attributes.get<Axes>(begin_), &end = attributes.get<Axes>(end_),
             &step = attributes.get<Axes>(strides_);
  if (begin.size() != end.size() || begin.size() != step.size())
    fail<InvalidArgumentError>(op, ": begin, end and strides have ", begin.size(), ", ", end.size(), " and ",
                               step.size(), " items; they must be as many");
  const auto bit = [&](SliceAttribute mask, std::size_t i) {
    return i < 63 && (attributes.get<std::int64_t>(mask) >> i & 1) != 0;
  };
  Slice slice;
  int axis = 0;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (bit(new_axis_mask_, i)) {
      slice.shape.push_back(1);
      slice.strides.push_back(0);
      continue;
    }
    if (axis >= shape.rank())
      fail<InvalidArgumentError>(op, ": more indices than the ", shape.rank(), " axes of ", to_string(shape));
    const std::int64_t extent = shape[axis];
    if (step[i] == 0)
      fail<InvalidArgumentError>(op, ": strides ", to_string(attributes[strides_]), " has a 0");
    if (bit(shrink_axis_mask_, i)) {
      const std::int64_t index = begin[i] < 0 ? begin[i] + extent : begin[i];
      if (index < 0 || index >= extent)
        fail<OutOfRangeError>(op, ": index ", begin[i], " is out of range for axis ", axis, " of ",
                              to_string(shape));
      slice.offset += index * strides[axis];
      slice.source_shape.push_back(1);
      slice.source_strides.push_back(0);
    } else {
      const auto [first, count] =
          python_range(begin[i], end[i], step[i], extent, bit(begin_mask_, i), bit(end_mask_, i));
      if (count > 0) slice.offset += first * strides[axis];
      slice.shape.push_back(count);
      slice.strides.push_back(step[i] * strides[axis]);
      slice.source_shape.push_back(count);
      slice.source_strides.push_back(step[i] * strides[axis]);
    }
    ++axis;
  }
  for (; axis < shape.rank(); ++axis) {
    slice.shape.push_back(shape[axis]);
    slice.strides.push_back(strides[axis]);
    slice.source_shape.push_back(shape[axis]);
    slice.source_strides.push_back(strides[axis]);
  }
  return slice;
}

TensorSpecs slice_rule(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  return one(x.dtype(), slice_of(c.op.name, c.attributes, x.shape(), x.strides()).shape);
}
Tensors slice_forward(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  const Slice slice = slice_of(c.op.name, c.attributes, x.shape(), x.strides());
  return one_tensor(
      Tensor::view(x.storage(), x.dtype(), slice.shape, slice.strides, x.offset() + slice.offset));
}

Attributes with_shape(const Attributes& attributes, const Shape& shape) {
  std::vector<Attribute> values;
  for (std::size_t i = 0; i < slice_attributes().size(); ++i) values.push_back(attributes[i]);
  values.emplace_back(Axes(shape.begin(), shape.end()));
  return Attributes(std::move(values));
}
Attributes without_shape(const Attributes& attributes) {
  std::vector<Attribute> values;
  for (std::size_t i = 0; i < slice_attributes().size(); ++i) values.push_back(attributes[i]);
  return Attributes(std::move(values));
}
Tensors slice_vjp(const VjpContext& c);

// The gradient: zeros of the source's shape with dy where the elements were taken.
TensorSpecs slice_grad_rule(const OpContext& c) {
  const Shape shape = shape_attribute(c, c.attributes[shrink_axis_mask_ + 1], "shape");
  const Slice slice = slice_of(c.op.name, c.attributes, shape, contiguous_strides(shape));
  if (slice.shape != c.inputs[0].shape())
    fail<InvalidArgumentError>(c.op.name, ": ", describe(c, 0), " does not fit the slice, ",
                               to_string(slice.shape));
  return one(c.inputs[0].dtype(), shape);
}
Tensors slice_grad_forward(const OpContext& c) {
  const Tensor dy = c.inputs[0].make_contiguous();
  Tensor out = Tensor::allocate(dy.dtype(), c.outputs[0].shape);
  const std::int64_t zero = 0;
  cpu::fill(item_size(dy.dtype()), &zero, output(out), out.count());
  const Slice slice = slice_of(c.op.name, c.attributes, out.shape(), out.strides());
  const auto item = item_size(dy.dtype());
  cpu::copy(item, dy.raw(), contiguous_strides(slice.source_shape),
            static_cast<std::byte*>(output(out)) + slice.offset * static_cast<std::int64_t>(item),
            slice.source_strides, slice.source_shape);
  return one_tensor(std::move(out));
}

}  // namespace

TAPEDECK_OP(strided_slice_op) = {.name = "strided_slice",
                                 .python_names = {"strided_slice"},
                                 .inputs = {{.name = "input_", .group = '\0'}},
                                 .attributes = slice_attributes(),
                                 .shape_rule = slice_rule,
                                 .forward = slice_forward,
                                 .vjp = slice_vjp,
                                 .vjp_formula = "dx = 0, with dy where the elements were taken",
                                 .doc =
                                     "What Python's input_[begin:end:strides, …] takes.\n\ninput_: any. "
                                     "begin, end, strides: one integer per index; bit i of a mask says "
                                     "of index i: begin_mask, end_mask: it has no begin (end); "
                                     "new_axis_mask: it is None, a new axis; shrink_axis_mask: it is one "
                                     "integer, and the axis goes. Shares input_'s memory. Errors: an integer "
                                     "index out of range; a stride of 0."};

TAPEDECK_OP(strided_slice_grad_op) = [] {
  OpDef op{.name = "strided_slice_grad",
           .python_names = {},
           .inputs = {{.name = "dy", .group = '\0'}},
           .attributes = slice_attributes(),
           .shape_rule = slice_grad_rule,
           .forward = slice_grad_forward,
           .vjp =
               [](const VjpContext& c) {
                 return one_tensor(run_op1(strided_slice_op, {c.cotangents[0]}, without_shape(c.attributes)));
               },
           .vjp_formula = "d(dy) = the same slice of dx",
           .doc = "The gradient of strided_slice: zeros of `shape` with dy where the elements were taken."};
  op.attributes.push_back({"shape", AttributeKind::shape, Axes{}, true});
  return op;
}();

namespace {
Tensors slice_vjp(const VjpContext& c) {
  return one_tensor(
      run_op1(strided_slice_grad_op, {c.cotangents[0]}, with_shape(c.attributes, c.inputs[0].shape())));
}
}  // namespace

Tensor strided_slice(const Tensor& x, const Axes& begin, const Axes& end, const Axes& strides) {
  return run_op1(strided_slice_op, {x},
                 {begin, end, strides, std::int64_t{0}, std::int64_t{0}, std::int64_t{0}, std::int64_t{0}});
}

// ---- gather
namespace {

/// Indices as int64, checked against the extent.
std::vector<std::int64_t> checked_indices(const OpContext& c, const Tensor& indices, std::int64_t extent) {
  const Tensor dense = indices.make_contiguous();
  std::vector<std::int64_t> result(static_cast<std::size_t>(dense.count()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = dense.dtype() == DType::int64 ? dense.data<std::int64_t>()[i] : dense.data<std::int32_t>()[i];
    if (result[i] < 0 || result[i] >= extent)
      fail<OutOfRangeError>(c.op.name, ": index ", result[i], " is out of range for an axis of ", extent);
  }
  return result;
}
TensorSpecs gather_rule(const OpContext& c) {
  const Tensor &x = c.inputs[0], &indices = c.inputs[1];
  require(c, 1, is_integer(indices.dtype()), "int32 or int64");
  if (x.rank() == 0) fail<InvalidArgumentError>("gather: params is a scalar; it takes at least one axis");
  const int along = axis(c, c.attributes.get<std::int64_t>(0), x.rank());
  Shape shape;
  for (int i = 0; i < along; ++i) shape.push_back(x.dim(i));
  for (const std::int64_t extent : indices.shape()) shape.push_back(extent);
  for (int i = along + 1; i < x.rank(); ++i) shape.push_back(x.dim(i));
  return one(x.dtype(), shape);
}
Tensors gather_forward(const OpContext& c) {
  const Tensor x = c.inputs[0].make_contiguous();
  const int along = axis(c, c.attributes.get<std::int64_t>(0), x.rank());
  const std::vector<std::int64_t> indices = checked_indices(c, c.inputs[1], x.dim(along));
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < along; ++i) outer *= x.dim(i);
  for (int i = along + 1; i < x.rank(); ++i) inner *= x.dim(i);
  Tensor out = Tensor::allocate(x.dtype(), c.outputs[0].shape);
  cpu::gather_rows(x.raw(), outer, x.dim(along), indices.data(), static_cast<std::int64_t>(indices.size()),
                   static_cast<std::size_t>(inner) * item_size(x.dtype()), output(out));
  return one_tensor(std::move(out));
}
Tensors gather_vjp(const VjpContext& c) {
  const Tensor &x = c.inputs[0], &indices = c.inputs[1], &dy = c.cotangents[0];
  const int along = axis({c.op, c.inputs, c.attributes, {}}, c.attributes.get<std::int64_t>(0), x.rank());
  // The gathered axes to the front, one row per index; their sums by index; and the axis back to its place.
  Axes to_front, back;
  for (int i = 0; i < indices.rank(); ++i) to_front.push_back(along + i);
  for (int i = 0; i < dy.rank(); ++i)
    if (i < along || i >= along + indices.rank()) to_front.push_back(i);
  Shape rows{indices.count()};
  for (int i = 0; i < x.rank(); ++i)
    if (i != along) rows.push_back(x.dim(i));
  const Tensor moved = along == 0 ? dy : transpose(dy, to_front);
  const Tensor sums =
      unsorted_segment_sum(reshape(moved, rows), reshape(indices, {indices.count()}), x.dim(along));
  Tensors gradients(2);
  if (along == 0) {
    gradients[0] = sums;
  } else {
    for (int i = 0; i < x.rank(); ++i) back.push_back(i < along ? i + 1 : i == along ? 0 : i);
    gradients[0] = transpose(sums, back);
  }
  return gradients;
}

}  // namespace
TAPEDECK_OP(gather_op) = {
    .name = "gather",
    .python_names = {"gather"},
    .inputs = {{.name = "params"}, {.name = "indices", .group = 'I', .preferred = DType::int32}},
    .attributes = {{"axis", AttributeKind::integer, std::int64_t{0}}},
    .shape_rule = gather_rule,
    .forward = gather_forward,
    .vjp = gather_vjp,
    .vjp_formula = "dparams = Σ dy by index",
    .doc =
        "Slices of params along an axis, in the order of indices.\n\nparams: any, at least one axis. "
        "indices: int32 or int64, "
        "0 … extent − 1. Errors: an index out of range."};
Tensor gather(const Tensor& x, const Tensor& indices, std::int64_t axis) {
  return run_op1(gather_op, {x, indices}, {axis});
}

// ---- unsorted_segment_sum
namespace {
TensorSpecs segment_rule(const OpContext& c) {
  const Tensor &x = c.inputs[0], &segments = c.inputs[1];
  require(c, 0, x.dtype() != DType::bool_, "numbers");
  require(c, 1, is_integer(segments.dtype()), "int32 or int64");
  if (segments.rank() != 1 || x.rank() == 0 || x.dim(0) != segments.dim(0))
    fail<InvalidArgumentError>("unsorted_segment_sum: ", describe(c, 1),
                               " is no vector with one number per row of ", describe(c, 0));
  const std::int64_t count = c.attributes.get<std::int64_t>(0);
  if (count < 0) fail<InvalidArgumentError>("unsorted_segment_sum: num_segments ", count, " is negative");
  Shape shape = x.shape();
  shape[0] = count;
  return one(x.dtype(), shape);
}
Tensors segment_forward(const OpContext& c) {
  const Tensor x = c.inputs[0].make_contiguous();
  Tensor out = Tensor::allocate(x.dtype(), c.outputs[0].shape);
  const std::vector<std::int64_t> segments = checked_indices(c, c.inputs[1], out.dim(0));
  const std::int64_t zero = 0;
  cpu::fill(item_size(x.dtype()), &zero, output(out), out.count());
  std::int64_t width = 1;
  for (int i = 1; i < x.rank(); ++i) width *= x.dim(i);
  cpu::segment_sum(x.dtype(), x.raw(), segments.data(), static_cast<std::int64_t>(segments.size()), width,
                   output(out));
  return one_tensor(std::move(out));
}
}  // namespace
TAPEDECK_OP(unsorted_segment_sum_op) = {
    .name = "unsorted_segment_sum",
    .python_names = {"unsorted_segment_sum", "math.unsorted_segment_sum"},
    .inputs = {{.name = "data"}, {.name = "segment_ids", .group = 'I', .preferred = DType::int32}},
    .attributes = {{"num_segments", AttributeKind::integer, std::int64_t{0}, true}},
    .shape_rule = segment_rule,
    .forward = segment_forward,
    .vjp = [](const VjpContext& c) { return tensors(gather(c.cotangents[0], c.inputs[1], 0), Tensor()); },
    .vjp_formula = "ddata = dy, gathered by segment",
    .doc =
        "Row s of the result is the sum of data's rows i with segment_ids[i] = s.\n\ndata: numbers, (n, …). "
        "segment_ids: int32 or int64, "
        "(n,), 0 … num_segments − 1. Errors: an id out of range."};
Tensor unsorted_segment_sum(const Tensor& data, const Tensor& segments, std::int64_t count) {
  return run_op1(unsorted_segment_sum_op, {data, segments}, {count});
}

// ---- reverse
namespace {
TensorSpecs reverse_rule(const OpContext& c) {
  axes(c, c.attributes[0], c.inputs[0].rank());
  return one(c.inputs[0].dtype(), c.inputs[0].shape());
}
Tensors reverse_forward(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  Strides strides = x.strides();
  std::int64_t offset = x.offset();
  for (const int i : axes(c, c.attributes[0], x.rank())) {
    if (x.dim(i) > 0) offset += (x.dim(i) - 1) * strides[i];
    strides[i] = -strides[i];
  }
  return one_tensor(
      Tensor::view(x.storage(), x.dtype(), x.shape(), strides, x.count() > 0 ? offset : x.offset()));
}
}  // namespace
TAPEDECK_OP(reverse_op) = {
    .name = "reverse",
    .python_names = {"reverse"},
    .inputs = {{.name = "tensor"}},
    .attributes = {{"axis", AttributeKind::integers, Axes{}, true}},
    .shape_rule = reverse_rule,
    .forward = reverse_forward,
    .vjp =
        [](const VjpContext& c) { return one_tensor(reverse(c.cotangents[0], c.attributes.get<Axes>(0))); },
    .vjp_formula = "dx = dy, reversed",
    .doc =
        "tensor with the order of elements turned round along axes.\n\ntensor: any. axis: an int or a list. "
        "Shares tensor's memory."};
Tensor reverse(const Tensor& x, const Axes& axis) {
  return run_op1(reverse_op, {x}, {axis});
}

namespace detail {
void link_indexing() {}
}  // namespace detail

}  // namespace tapedeck
