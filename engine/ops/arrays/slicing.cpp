// Blocks and strided parts of tensors.
#include <algorithm>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"

namespace tapedeck::ops {

// ---- strided_slice, strided_slice_grad ----
extern const OpDef& strided_slice_grad_op;

namespace {

/// Python's `input[begin:end:strides, …]`; bit i of a mask applies to entry i, as in TensorFlow.
struct Slicing {
  Integers begin, end, strides;
  std::int64_t begin_mask = 0;        ///< begin is omitted
  std::int64_t end_mask = 0;          ///< end is omitted
  std::int64_t ellipsis_mask = 0;     ///< `...`
  std::int64_t new_axis_mask = 0;     ///< `None`
  std::int64_t shrink_axis_mask = 0;  ///< an integer: removes the axis
};

/// The view selected by a slicing.
struct Resolved {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;
};

Slicing slicing_of(const OpContext& c) {
  Slicing s;
  s.begin = integers_of(c.attribute("begin"));
  s.end = integers_of(c.attribute("end"));
  s.strides = c.is_none("strides") ? Integers(s.begin.size(), 1) : integers_of(c.attribute("strides"));
  s.begin_mask = integer_of(c, "begin_mask");
  s.end_mask = integer_of(c, "end_mask");
  s.ellipsis_mask = integer_of(c, "ellipsis_mask");
  s.new_axis_mask = integer_of(c, "new_axis_mask");
  s.shrink_axis_mask = integer_of(c, "shrink_axis_mask");
  if (s.begin.size() != s.end.size() || s.begin.size() != s.strides.size())
    fail<InvalidArgumentError>(c.op.name, ": begin, end and strides have ", s.begin.size(), ", ",
                               s.end.size(), " and ", s.strides.size(), " entries; needs the same number");
  return s;
}

bool bit(std::int64_t mask, std::size_t i) {
  return i < 63 && (mask >> i & 1) != 0;
}

/// One entry `begin:end:stride` of an axis, by Python's rules.
void resolve_range(const OpContext& c, const Slicing& s, std::size_t entry, std::int64_t extent,
                   std::int64_t stride, Resolved& result) {
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
      distance <= 0 ? 0
                    : static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / magnitude) + 1;
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
  if (ellipses > 1)
    fail<InvalidArgumentError>(c.op.name, ": ... occurs ", ellipses, " times; once is allowed");
  if (used > shape.rank())
    fail<OutOfRangeError>(c.op.name, ": ", used, " indices for shape ", to_string(shape), " with ",
                          shape.rank(), " axes");
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
        fail<OutOfRangeError>(c.op.name, ": index ", s.begin[i], " is out of range for axis ", axis,
                              " of shape ", to_string(shape));
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

}  // namespace

TAPEDECK_OP(strided_slice_op) = {
    .name = "strided_slice",
    .python_names = {"strided_slice"},
    .inputs = {{.name = "input_"}},
    .attributes = slicing_attributes(),
    .shape_rule =
        [](const OpContext& c) {
          const Tensor& x = c.inputs[0];
          return spec(x.dtype(), resolve(c, slicing_of(c), x.shape(), x.strides()).shape);
        },
    .forward =
        [](const OpContext& c) {
          const Tensor& x = c.inputs[0];
          const Resolved view = resolve(c, slicing_of(c), x.shape(), x.strides());
          return one(view_of(x, view.shape, view.strides, view.offset));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          std::vector<Attribute> values = {attribute_of(c.inputs[0].shape())};
          for (std::size_t i = 0; i < c.attributes.size(); ++i) values.push_back(c.attributes[i]);
          return one(run_op1(strided_slice_grad_op, {c.cotangents[0]}, Attributes(std::move(values))));
        },
    .vjp_formula = "dx = dz where the slice reads, else 0",
    .cost = cost::view,
    .doc =
        "Python's input_[begin:end:strides, …], without a copy.\n\n"
        "input_: any dtype and shape. Entry i of begin, end and strides speaks of the next axis; bit i of a "
        "mask "
        "changes entry i: begin_mask, end_mask: the bound is left out; ellipsis_mask: `...`, as many axes as "
        "are left; "
        "new_axis_mask: an axis of extent 1; shrink_axis_mask: the index begin[i], whose axis is removed. "
        "strides "
        "None: 1.\n"
        "Returns: the dtype of input_, the shape that Python's rules give; bounds are limited to the axis.\n"
        "Errors: OutOfRangeError for an index outside its axis or more indices than axes; "
        "InvalidArgumentError for a "
        "stride of 0, two ellipses, or lists of different lengths.",
    .takes_narrow = true,
};
TAPEDECK_FACTS(strided_slice_op) = {.flat = facts::not_picked};

TAPEDECK_OP(strided_slice_grad_op) = {
    .name = "strided_slice_grad",
    .python_names = {},
    .inputs = {{.name = "g"}},
    .attributes =
        [] {
          std::vector<AttributeSpec> specs = slicing_attributes();
          specs.insert(specs.begin(),
                       {.name = "shape", .kind = AttributeKind::shape, .fallback = {}, .required = true});
          return specs;
        }(),
    .shape_rule =
        [](const OpContext& c) {
          const Shape shape = shape_of(c, "shape");
          Strides none;  // only the shape counts: those of a shape that no memory holds would overflow
          none.resize(shape.rank());
          const Shape read = resolve(c, slicing_of(c), shape, none).shape;
          if (read != c.inputs[0].shape())
            fail<InvalidArgumentError>("strided_slice_grad: g ", to_string(c.inputs[0].shape()),
                                       " where the slice of ", to_string(shape), " has shape ",
                                       to_string(read));
          return spec(c.inputs[0].dtype(), shape);
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor zero = Tensor::scalar(0.0, out.dtype());
          const std::size_t size = item_size(out.dtype());
          backend().fill(size, zero.raw(), out.writable_data<std::byte>(), out.count());
          const Resolved view = resolve(c, slicing_of(c), out.shape(), out.strides());
          const Tensor& g = c.inputs[0];
          backend().copy(size, g.raw(), g.strides(),
                         out.writable_data<std::byte>() + view.offset * static_cast<std::int64_t>(size),
                         view.strides, view.shape);
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          std::vector<Attribute> values;  // all but the shape
          for (std::size_t i = 1; i < c.attributes.size(); ++i) values.push_back(c.attributes[i]);
          return one(run_op1(strided_slice_op, {c.cotangents[0]}, Attributes(std::move(values))));
        },
    .vjp_formula = "dg = the same slice of dz",
    .cost = cost::moves,
    .doc =
        "The VJP of strided_slice: zeros of a shape, with g where the slice reads.\n\n"
        "g: any dtype, the shape of the slice; shape: of the result; the rest as in strided_slice.\n"
        "Returns: the dtype of g, shape.\n"
        "Errors: as in strided_slice; InvalidArgumentError where g has another shape than the slice.",
    .takes_narrow = true,
};

TAPEDECK_OP(tensor_strided_slice_update_op) = {
    .name = "tensor_strided_slice_update",
    .python_names = {},
    .inputs = {{.name = "tensor"}, {.name = "value"}},
    .attributes = slicing_attributes(),
    .shape_rule =
        [](const OpContext& c) {
          require_same_dtype(c, 0, 1);
          const Tensor& x = c.inputs[0];
          const Shape read = resolve(c, slicing_of(c), x.shape(), x.strides()).shape;
          if (read != c.inputs[1].shape())
            fail<InvalidArgumentError>("tensor_strided_slice_update: value ", to_string(c.inputs[1].shape()),
                                       " where the slice of ", to_string(x.shape()), " has shape ",
                                       to_string(read));
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor& x = c.inputs[0];
          const Tensor& value = c.inputs[1];
          place(x, out, x.shape(), x.strides(), out.strides(), 0);
          const Resolved view = resolve(c, slicing_of(c), out.shape(), out.strides());
          place(value, out, view.shape, value.strides(), view.strides, view.offset);
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(2);
          if (c.wanted[0])
            gradients[0] = run_op1(c.op, {c.cotangents[0], zeros_shaped_like(c.inputs[1])}, c.attributes);
          if (c.wanted[1]) gradients[1] = run_op1(strided_slice_op, {c.cotangents[0]}, c.attributes);
          return gradients;
        },
    .vjp_formula = "d(tensor) = dz, but 0 where the slice is, d(value) = the same slice of dz",
    .cost = cost::moves,
    .doc =
        "A tensor with a strided slice replaced: what assigning to a slice of a variable does.\n\n"
        "tensor: any dtype; value: its dtype, the shape of the slice; the rest as in strided_slice.\n"
        "Returns: dtype and shape of tensor.\n"
        "Errors: as in strided_slice; InvalidArgumentError where value has another shape than the slice; "
        "TypeMismatchError for different dtypes.",
    .takes_narrow = true,
};

// ---- slice ----
namespace {

TensorSpecs slice_shape(const OpContext& c) {
  const Shape& shape = c.inputs[0].shape();
  const Integers begin = integers_of(c.attribute("begin"));
  const Integers size = integers_of(c.attribute("size"));
  Shape result;
  bool fits = begin.size() == static_cast<std::size_t>(shape.rank()) && size.size() == begin.size();
  for (std::size_t i = 0; fits && i < begin.size(); ++i) {
    const std::int64_t extent = shape[static_cast<int>(i)];
    fits = begin[i] >= 0 && begin[i] <= extent;
    if (!fits) break;  // the difference might overflow
    const std::int64_t count = size[i] == -1 ? extent - begin[i] : size[i];
    fits = count >= 0 && count <= extent - begin[i];
    result.push_back(count);
  }
  if (!fits)
    fail<InvalidArgumentError>("slice: begin ", to_string(c.attribute("begin")), " and size ",
                               to_string(c.attribute("size")), " leave shape ", to_string(shape));
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
          const Integers begin = integers_of(c.attribute("begin"));
          std::int64_t offset = 0;
          if (element_count(c.outputs[0].shape) > 0)
            for (int axis = 0; axis < x.rank(); ++axis)
              offset += begin[static_cast<std::size_t>(axis)] * x.strides()[axis];
          return one(view_of(x, c.outputs[0].shape, x.strides(), offset));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          const Integers begin = integers_of(c.attribute("begin"));
          Integers paddings;
          for (std::size_t i = 0; i < begin.size(); ++i) {
            const int axis = static_cast<int>(i);
            paddings.push_back(begin[i]);
            paddings.push_back(c.inputs[0].dim(axis) - begin[i] - c.outputs[0].dim(axis));
          }
          return one(pad(c.cotangents[0], paddings));
        },
    .vjp_formula = "dx = dz where the slice reads, else 0",
    .cost = cost::view,
    .doc =
        "A block of a tensor, without a copy: size[i] elements from begin[i] on along axis i.\n\n"
        "input_: any dtype and shape; begin, size: one number for each axis; size −1: to the end.\n"
        "Returns: the dtype of input_, shape size.\n"
        "Errors: InvalidArgumentError where the block leaves the tensor.",
    .takes_narrow = true,
};
TAPEDECK_FACTS(slice_op) = {.flat = facts::not_picked};
Tensor slice(const Tensor& input, const Integers& begin, const Integers& size) {
  return run_op1(slice_op, {input}, {begin, size});
}

}  // namespace tapedeck::ops
