// Joining tensors and taking them apart.
#include "engine/cpu/copy.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

namespace tapedeck {

using namespace rules;

namespace {

/// The piece of `out` that starts at `start` on `axis`, as a target for copies.
std::byte* at(const Tensor& out, int axis, std::int64_t start) {
  return static_cast<std::byte*>(output(out)) +
         start * out.strides()[axis] * static_cast<std::int64_t>(item_size(out.dtype()));
}
void copy_into(const Tensor& x, std::byte* target, const Strides& strides) {
  cpu::copy(item_size(x.dtype()), x.raw(), x.strides(), target, strides, x.shape());
}

/// Elements [begin, begin + count) of one axis; everything of the others.
Tensor part(const Tensor& x, int axis, std::int64_t begin, std::int64_t count) {
  Axes from, to, step;
  for (int i = 0; i <= axis; ++i) {
    from.push_back(i == axis ? begin : 0);
    to.push_back(i == axis ? begin + count : x.dim(i));
    step.push_back(1);
  }
  return strided_slice(x, from, to, step);
}

}  // namespace

// ---- concat
namespace {
int concat_axis(const OpContext& c) {
  return axis(c, c.attributes.get<std::int64_t>(0), c.inputs[0].rank());
}

TensorSpecs concat_rule(const OpContext& c) {
  if (c.inputs.empty())
    fail<InvalidArgumentError>("concat: values is an empty list; it takes at least one tensor");
  same_dtype(c);
  if (c.inputs[0].rank() == 0) fail<InvalidArgumentError>("concat: values are scalars; stack joins those");
  const int along = concat_axis(c);
  Shape shape = c.inputs[0].shape();
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    const Shape& other = c.inputs[i].shape();
    bool fits = other.rank() == shape.rank();
    for (int k = 0; fits && k < shape.rank(); ++k) fits = k == along || other[k] == shape[k];
    if (!fits)
      fail<InvalidArgumentError>("concat: value 0 ", to_string(c.inputs[0].shape()), " and value ", i, " ",
                                 to_string(other), " differ in another axis than ", along);
    shape[along] += other[along];
  }
  return one(c.inputs[0].dtype(), shape);
}
Tensors concat_forward(const OpContext& c) {
  const int along = concat_axis(c);
  Tensor out = Tensor::allocate(c.outputs[0].dtype, c.outputs[0].shape);
  std::int64_t start = 0;
  for (const Tensor& x : c.inputs) {
    if (x.count() > 0) copy_into(x, at(out, along, start), out.strides());
    start += x.dim(along);
  }
  return one_tensor(std::move(out));
}
Tensors concat_vjp(const VjpContext& c) {
  const int along = concat_axis({c.op, c.inputs, c.attributes, {}});
  Tensors gradients(c.inputs.size());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.wanted[i]) gradients[i] = part(c.cotangents[0], along, start, c.inputs[i].dim(along));
    start += c.inputs[i].dim(along);
  }
  return gradients;
}
}  // namespace
TAPEDECK_OP(concat_op) = {.name = "concat",
                          .python_names = {"concat"},
                          .inputs = {{.name = "values", .variadic = true}},
                          .attributes = {{"axis", AttributeKind::integer, std::int64_t{0}, true}},
                          .shape_rule = concat_rule,
                          .forward = concat_forward,
                          .vjp = concat_vjp,
                          .vjp_formula = "dxᵢ = the part of dy that came from xᵢ",
                          .doc =
                              "Tensors behind one another along an axis.\n\nvalues: a list of tensors of one "
                              "dtype, whose shapes differ in that axis "
                              "at most."};
Tensor concat(std::span<const Tensor> values, std::int64_t axis) {
  return run_op1(concat_op, values, {axis});
}

// ---- stack
namespace {
int stack_axis(const OpContext& c) {
  return axis(c, c.attributes.get<std::int64_t>(0), c.inputs[0].rank() + 1);
}

TensorSpecs stack_rule(const OpContext& c) {
  if (c.inputs.empty())
    fail<InvalidArgumentError>("stack: values is an empty list; it takes at least one tensor");
  same_dtype(c);
  for (std::size_t i = 1; i < c.inputs.size(); ++i)
    if (c.inputs[i].shape() != c.inputs[0].shape())
      fail<InvalidArgumentError>("stack: value 0 ", to_string(c.inputs[0].shape()), " and value ", i, " ",
                                 to_string(c.inputs[i].shape()), " differ in shape");
  const int along = stack_axis(c);
  Shape shape;
  for (int k = 0; k <= c.inputs[0].rank(); ++k) {
    if (k == along) shape.push_back(static_cast<std::int64_t>(c.inputs.size()));
    if (k < c.inputs[0].rank()) shape.push_back(c.inputs[0].dim(k));
  }
  return one(c.inputs[0].dtype(), shape);
}
Tensors stack_forward(const OpContext& c) {
  const int along = stack_axis(c);
  Tensor out = Tensor::allocate(c.outputs[0].dtype, c.outputs[0].shape);
  Strides strides;
  for (int k = 0; k < out.rank(); ++k)
    if (k != along) strides.push_back(out.strides()[k]);
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    if (c.inputs[i].count() > 0)
      copy_into(c.inputs[i], at(out, along, static_cast<std::int64_t>(i)), strides);
  return one_tensor(std::move(out));
}
}  // namespace
TAPEDECK_OP(stack_op) = {
    .name = "stack",
    .python_names = {"stack"},
    .inputs = {{.name = "values", .variadic = true}},
    .attributes = {{"axis", AttributeKind::integer, std::int64_t{0}}},
    .shape_rule = stack_rule,
    .forward = stack_forward,
    .vjp =
        [](const VjpContext& c) {
          return unstack(c.cotangents[0], stack_axis({c.op, c.inputs, c.attributes, {}}));
        },
    .vjp_formula = "dxᵢ = dy[i] along the axis",
    .doc =
        "Tensors beside one another along a new axis.\n\nvalues: a list of tensors of one dtype and shape."};
Tensor stack(std::span<const Tensor> values, std::int64_t axis) {
  return run_op1(stack_op, values, {axis});
}

// ---- unstack
namespace {
int unstack_axis(const OpContext& c) {
  if (c.inputs[0].rank() == 0)
    fail<InvalidArgumentError>("unstack: value is a scalar; it takes at least one axis");
  return axis(c, c.attributes.get<std::int64_t>(1), c.inputs[0].rank());
}
TensorSpecs unstack_rule(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  const int along = unstack_axis(c);
  if (!c.attributes.is_none(0) && c.attributes.get<std::int64_t>(0) != x.dim(along))
    fail<InvalidArgumentError>("unstack: num is ", c.attributes.get<std::int64_t>(0), ", axis ", along,
                               " of ", describe(c, 0), " has ", x.dim(along));
  Shape shape;
  for (int k = 0; k < x.rank(); ++k)
    if (k != along) shape.push_back(x.dim(k));
  return TensorSpecs(static_cast<std::size_t>(x.dim(along)), TensorSpec{x.dtype(), shape});
}
Tensors unstack_forward(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  const int along = unstack_axis(c);
  Strides strides;
  for (int k = 0; k < x.rank(); ++k)
    if (k != along) strides.push_back(x.strides()[k]);
  Tensors parts;
  for (std::int64_t i = 0; i < x.dim(along); ++i)
    parts.push_back(Tensor::view(x.storage(), x.dtype(), c.outputs[static_cast<std::size_t>(i)].shape,
                                 strides, x.offset() + (x.count() > 0 ? i * x.strides()[along] : 0)));
  return parts;
}
/// The parts' gradients; zeros for those that none reached.
Tensors filled(const VjpContext& c) {
  Tensors all;
  for (std::size_t i = 0; i < c.outputs.size(); ++i)
    all.push_back(c.cotangents[i] ? c.cotangents[i] : zeros_like(c.outputs[i]));
  return all;
}
}  // namespace
TAPEDECK_OP(unstack_op) = {
    .name = "unstack",
    .python_names = {"unstack"},
    .inputs = {{.name = "value"}},
    .attributes = {{"num", AttributeKind::integer, std::monostate{}},
                   {"axis", AttributeKind::integer, std::int64_t{0}}},
    .shape_rule = unstack_rule,
    .forward = unstack_forward,
    .vjp =
        [](const VjpContext& c) {
          return one_tensor(stack(filled(c), unstack_axis({c.op, c.inputs, c.attributes, {}})));
        },
    .vjp_formula = "dx = stack(dy₀, dy₁, …)",
    .doc =
        "The slices of value along an axis, as a list.\n\nvalue: any, at least one axis. num: how many there "
        "must be; None: any number. "
        "Share value's memory.",
    .returns_list = true};
Tensors unstack(const Tensor& x, std::int64_t axis) {
  const Tensor input[] = {x};
  return run_op(unstack_op, input, {std::monostate{}, axis});
}

// ---- split
namespace {
int split_axis(const OpContext& c) {
  if (c.inputs[0].rank() == 0)
    fail<InvalidArgumentError>("split: value is a scalar; it takes at least one axis");
  return axis(c, c.attributes.get<std::int64_t>(1), c.inputs[0].rank());
}
/// The attribute is a list: one number means that many equal parts, more are the parts' extents.
Axes split_sizes(const OpContext& c) {
  const std::int64_t extent = c.inputs[0].dim(split_axis(c));
  const Axes& given = c.attributes.get<Axes>(0);
  if (given.size() == 1) {
    const std::int64_t parts = given[0];
    if (parts < 1 || extent % parts != 0)
      fail<InvalidArgumentError>("split: ", extent, " elements of axis ", split_axis(c),
                                 " do not split into ", parts, " equal parts");
    return Axes(static_cast<std::size_t>(parts), extent / parts);
  }
  std::int64_t sum = 0;
  for (const std::int64_t size : given) {
    if (size < 0)
      fail<InvalidArgumentError>("split: num_or_size_splits ", to_string(c.attributes[0]),
                                 " has a negative size");
    sum += size;
  }
  if (sum != extent)
    fail<InvalidArgumentError>("split: sizes ", to_string(c.attributes[0]), " add up to ", sum, ", axis ",
                               split_axis(c), " has ", extent);
  return given;
}
TensorSpecs split_rule(const OpContext& c) {
  TensorSpecs specs;
  for (const std::int64_t size : split_sizes(c)) {
    Shape shape = c.inputs[0].shape();
    shape[split_axis(c)] = size;
    specs.push_back({c.inputs[0].dtype(), shape});
  }
  return specs;
}
Tensors split_forward(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  const int along = split_axis(c);
  Tensors parts;
  std::int64_t start = 0;
  for (const TensorSpec& spec : c.outputs) {
    parts.push_back(
        Tensor::view(x.storage(), x.dtype(), spec.shape, x.strides(),
                     x.offset() + (element_count(spec.shape) > 0 ? start * x.strides()[along] : 0)));
    start += spec.shape[along];
  }
  return parts;
}
}  // namespace
TAPEDECK_OP(split_op) = {
    .name = "split",
    .python_names = {"split"},
    .inputs = {{.name = "value"}},
    .attributes = {{"num_or_size_splits", AttributeKind::integers, Axes{}, true},
                   {"axis", AttributeKind::integer, std::int64_t{0}}},
    .shape_rule = split_rule,
    .forward = split_forward,
    .vjp =
        [](const VjpContext& c) {
          return one_tensor(concat(filled(c), split_axis({c.op, c.inputs, c.attributes, {}})));
        },
    .vjp_formula = "dx = concat(dy₀, dy₁, …)",
    .doc =
        "value in parts along an axis, as a list.\n\nvalue: any, at least one axis. num_or_size_splits: one "
        "number: so many equal parts; a list: "
        "the parts' extents. Share value's memory. Errors: sizes that do not add up.",
    .returns_list = true};
Tensors split(const Tensor& x, std::int64_t pieces, std::int64_t axis) {
  const Tensor input[] = {x};
  return run_op(split_op, input, {Axes{pieces}, axis});
}

// ---- tile
namespace {
TensorSpecs tile_rule(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  const Axes& multiples = c.attributes.get<Axes>(0);
  if (static_cast<int>(multiples.size()) != x.rank())
    fail<InvalidArgumentError>("tile: multiples ", to_string(c.attributes[0]),
                               " need one number for each axis of ", describe(c, 0));
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    const std::int64_t times = multiples[static_cast<std::size_t>(i)];
    if (times < 0)
      fail<InvalidArgumentError>("tile: multiples ", to_string(c.attributes[0]), " has a negative number");
    std::int64_t extent;
    if (__builtin_mul_overflow(x.dim(i), times, &extent))
      fail<ResourceExhaustedError>("tile: ", x.dim(i), " × ", times, " elements of axis ", i,
                                   " are more than any machine has");
    shape.push_back(extent);
  }
  return one(x.dtype(), shape);
}
/// x as (1, d₀, 1, d₁, …) broadcast to (m₀, d₀, m₁, d₁, …): the same elements in the result's order.
Tensors tile_forward(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  Tensor out = Tensor::allocate(x.dtype(), c.outputs[0].shape);
  if (out.count() == 0) return one_tensor(std::move(out));
  Tensor source = x;
  // One axis at a time, from the last: each step repeats blocks that are contiguous already.
  for (int i = x.rank() - 1; i >= 0; --i) {
    const std::int64_t times = c.attributes.get<Axes>(0)[static_cast<std::size_t>(i)];
    if (times == 1) continue;
    Shape shape = source.shape();
    shape[i] *= times;
    Tensor wider = Tensor::allocate(x.dtype(), shape);
    for (std::int64_t k = 0; k < times; ++k)
      copy_into(source, at(wider, i, k * source.dim(i)), wider.strides());
    source = std::move(wider);
  }
  if (source.same_body(x)) source = Tensor::view(x.storage(), x.dtype(), x.shape(), x.strides(), x.offset());
  return one_tensor(std::move(source));
}
Tensors tile_vjp(const VjpContext& c) {
  const Tensor& x = c.inputs[0];
  Tensor dy = c.cotangents[0];
  for (int i = 0; i < x.rank(); ++i) {  // (…, m·d, …) as (…, m, d, …), summed over m
    const std::int64_t times = c.attributes.get<Axes>(0)[static_cast<std::size_t>(i)];
    if (times == 1) continue;
    Shape shape;
    for (int k = 0; k < dy.rank(); ++k) {
      if (k == i) shape.push_back(times);
      shape.push_back(k == i ? x.dim(i) : dy.dim(k));
    }
    dy = reduce_sum(reshape(dy, shape), Axes{i});
  }
  return one_tensor(dy);
}
}  // namespace
TAPEDECK_OP(tile_op) = {
    .name = "tile",
    .python_names = {"tile"},
    .inputs = {{.name = "input"}},
    .attributes = {{"multiples", AttributeKind::integers, Axes{}, true}},
    .shape_rule = tile_rule,
    .forward = tile_forward,
    .vjp = tile_vjp,
    .vjp_formula = "dx = Σ dy over the copies",
    .doc = "input repeated along each axis.\n\ninput: any. multiples: how often, one number per axis."};
Tensor tile(const Tensor& x, const Axes& multiples) {
  return run_op1(tile_op, {x}, {multiples});
}

// ---- pad
namespace {
TensorSpecs pad_rule(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  const Axes& paddings = c.attributes.get<Axes>(0);
  if (static_cast<int>(paddings.size()) != 2 * x.rank())
    fail<InvalidArgumentError>("pad: paddings ", to_string(c.attributes[0]),
                               " need two numbers for each axis of ", describe(c, 0));
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    const std::int64_t before = paddings[static_cast<std::size_t>(2 * i)],
                       after = paddings[static_cast<std::size_t>(2 * i + 1)];
    if (before < 0 || after < 0)
      fail<InvalidArgumentError>("pad: paddings ", to_string(c.attributes[0]), " has a negative number");
    shape.push_back(x.dim(i) + before + after);
  }
  return one(x.dtype(), shape);
}
Tensors pad_forward(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  Tensor out = Tensor::allocate(x.dtype(), c.outputs[0].shape);
  const Tensor value = Tensor::scalar(c.attributes.get<double>(1), x.dtype());
  cpu::fill(item_size(x.dtype()), value.raw(), output(out), out.count());
  std::byte* target = static_cast<std::byte*>(output(out));
  for (int i = 0; i < x.rank(); ++i)
    target += c.attributes.get<Axes>(0)[static_cast<std::size_t>(2 * i)] * out.strides()[i] *
              static_cast<std::int64_t>(item_size(x.dtype()));
  if (x.count() > 0) copy_into(x, target, out.strides());
  return one_tensor(std::move(out));
}
Tensors pad_vjp(const VjpContext& c) {
  const Tensor& x = c.inputs[0];
  Axes begin, end, step;
  for (int i = 0; i < x.rank(); ++i) {
    begin.push_back(c.attributes.get<Axes>(0)[static_cast<std::size_t>(2 * i)]);
    end.push_back(begin.back() + x.dim(i));
    step.push_back(1);
  }
  return one_tensor(strided_slice(c.cotangents[0], begin, end, step));
}
}  // namespace
TAPEDECK_OP(pad_op) = {.name = "pad",
                       .python_names = {},
                       .inputs = {{.name = "tensor"}},
                       .attributes = {{"paddings", AttributeKind::integers, Axes{}, true},
                                      {"constant_values", AttributeKind::real, 0.0}},
                       .shape_rule = pad_rule,
                       .forward = pad_forward,
                       .vjp = pad_vjp,
                       .vjp_formula = "dx = dy without the margins",
                       .doc =
                           "tensor with margins of constant_values.\n\ntensor: any. paddings: for each axis "
                           "how many elements before and after, in one list."};
Tensor pad(const Tensor& x, const Axes& paddings, double constant) {
  return run_op1(pad_op, {x}, {paddings, constant});
}

namespace detail {
void link_concat() {}
}  // namespace detail

}  // namespace tapedeck
