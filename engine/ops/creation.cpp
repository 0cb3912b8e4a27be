// Tensors from nothing but attributes, and constants shaped like others.
#include <cmath>

#include "engine/cpu/copy.h"
#include "engine/ops/elementwise_rules.h"

namespace tapedeck {

using namespace rules;

namespace {
Axes list(const Shape& shape) {
  return Axes(shape.begin(), shape.end());
}

Tensor filled(const TensorSpec& spec, double number) {
  Tensor out = Tensor::allocate(spec.dtype, spec.shape);
  const Tensor value = Tensor::scalar(number, spec.dtype);
  cpu::fill(item_size(spec.dtype), value.raw(), output(out), out.count());
  return out;
}
}  // namespace

// ---- fill
TAPEDECK_OP(fill_op) = {
    .name = "fill",
    .python_names = {"fill"},
    .inputs = {{.name = "value"}},
    .attributes = {{"dims", AttributeKind::shape, Axes{}, true}},
    .shape_rule =
        [](const OpContext& c) {
          if (c.inputs[0].rank() != 0) fail<InvalidArgumentError>("fill: ", describe(c, 0), " is no scalar");
          return one(c.inputs[0].dtype(), shape_attribute(c, c.attributes[0], "dims"));
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = Tensor::allocate(c.outputs[0].dtype, c.outputs[0].shape);
          cpu::fill(item_size(out.dtype()), c.inputs[0].raw(), output(out), out.count());
          return one_tensor(std::move(out));
        },
    .vjp = [](const VjpContext& c) { return one_tensor(reduce_sum(c.cotangents[0])); },
    .vjp_formula = "dvalue = Σ dy",
    .doc = "A tensor of `dims` that holds value everywhere.\n\ndims: extents. value: a scalar of any dtype.",
    .python_order = {"dims", "value"}};
Tensor fill(const Shape& dims, const Tensor& value) {
  return run_op1(fill_op, {value}, {list(dims)});
}

// ---- zeros, ones
namespace {
template <int number>
OpDef constant_op(std::string name, std::string doc) {
  return {.name = name,
          .python_names = {name},
          .inputs = {},
          .attributes = {{"shape", AttributeKind::shape, Axes{}, true},
                         {"dtype", AttributeKind::dtype, DType::float32}},
          .shape_rule =
              [](const OpContext& c) {
                return one(c.attributes.get<DType>(1), shape_attribute(c, c.attributes[0], "shape"));
              },
          .forward = [](const OpContext& c) { return one_tensor(filled(c.outputs[0], number)); },
          .vjp = nullptr,
          .vjp_formula = "none",
          .doc = std::move(doc)};
}
template <int number>
OpDef like_op(std::string name, std::string doc) {
  return {.name = name,
          .python_names = {name},
          .inputs = {{.name = "tensor", .group = '\0'}},
          .attributes = {{"dtype", AttributeKind::dtype, std::monostate{}}},
          .shape_rule =
              [](const OpContext& c) {
                return one(c.attributes.is_none(0) ? c.inputs[0].dtype() : c.attributes.get<DType>(0),
                           c.inputs[0].shape());
              },
          .forward = [](const OpContext& c) { return one_tensor(filled(c.outputs[0], number)); },
          .vjp = nullptr,
          .vjp_formula = "none",
          .doc = std::move(doc)};
}
}  // namespace
TAPEDECK_OP(zeros_op) = constant_op<0>("zeros", "Zeros (False for bool).\n\nshape: extents. dtype: any.");
Tensor zeros(const Shape& shape, DType dtype) {
  return run_op(zeros_op, {}, {list(shape), dtype})[0];
}
TAPEDECK_OP(ones_op) = constant_op<1>("ones", "Ones (True for bool).\n\nshape: extents. dtype: any.");
Tensor ones(const Shape& shape, DType dtype) {
  return run_op(ones_op, {}, {list(shape), dtype})[0];
}
TAPEDECK_OP(zeros_like_op) =
    like_op<0>("zeros_like", "Zeros of tensor's shape.\n\ntensor: any. dtype: None for tensor's own.");
Tensor zeros_like(const Tensor& x) {
  return run_op1(zeros_like_op, {x}, {std::monostate{}});
}
TAPEDECK_OP(ones_like_op) =
    like_op<1>("ones_like", "Ones of tensor's shape.\n\ntensor: any. dtype: None for tensor's own.");
Tensor ones_like(const Tensor& x) {
  return run_op1(ones_like_op, {x}, {std::monostate{}});
}

// ---- eye
namespace {
TensorSpecs eye_rule(const OpContext& c) {
  const std::int64_t rows = c.attributes.get<std::int64_t>(0);
  const std::int64_t columns = c.attributes.is_none(1) ? rows : c.attributes.get<std::int64_t>(1);
  if (rows < 0 || columns < 0)
    fail<InvalidArgumentError>("eye: ", rows, " rows and ", columns, " columns; neither may be negative");
  return one(c.attributes.get<DType>(2), {rows, columns});
}
Tensors eye_forward(const OpContext& c) {
  Tensor out = filled(c.outputs[0], 0);
  const Tensor value = Tensor::scalar(1, out.dtype());
  const std::int64_t diagonal = std::min(out.dim(0), out.dim(1));
  cpu::copy(item_size(out.dtype()), value.raw(), Strides{0}, output(out), Strides{out.dim(1) + 1},
            Shape{diagonal});
  return one_tensor(std::move(out));
}
}  // namespace
TAPEDECK_OP(eye_op) = {.name = "eye",
                       .python_names = {"eye", "linalg.eye"},
                       .inputs = {},
                       .attributes = {{"num_rows", AttributeKind::integer, std::int64_t{0}, true},
                                      {"num_columns", AttributeKind::integer, std::monostate{}},
                                      {"dtype", AttributeKind::dtype, DType::float32}},
                       .shape_rule = eye_rule,
                       .forward = eye_forward,
                       .vjp = nullptr,
                       .vjp_formula = "none",
                       .doc =
                           "The identity matrix: ones on the diagonal, zeros elsewhere.\n\nnum_rows, "
                           "num_columns: extents; without num_columns the "
                           "matrix is square."};
Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns, DType dtype) {
  return run_op(eye_op, {}, {rows, columns ? Attribute(*columns) : Attribute(std::monostate{}), dtype})[0];
}

// ---- range, linspace
namespace {
std::int64_t range_count(const OpContext& c) {
  const double start = c.inputs[0].item(), limit = c.inputs[1].item(), delta = c.inputs[2].item();
  if (delta == 0) fail<InvalidArgumentError>("range: delta is 0");
  const double count = std::ceil((limit - start) / delta);
  if (!std::isfinite(count) || count > 9e18)
    fail<InvalidArgumentError>("range: from ", start, " to ", limit, " by ", delta,
                               " has no countable number of elements");
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}
TensorSpecs range_rule(const OpContext& c) {
  same_dtype(c);
  require(c, 0, c.inputs[0].dtype() != DType::bool_, "numbers");
  for (std::size_t i = 0; i < 3; ++i)
    if (c.inputs[i].rank() != 0) fail<InvalidArgumentError>("range: ", describe(c, i), " is no scalar");
  return one(c.inputs[0].dtype(), {range_count(c)});
}
Tensors range_forward(const OpContext& c) {
  Tensor out = Tensor::allocate(c.outputs[0].dtype, c.outputs[0].shape);
  visit_dtype(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      const T start = *c.inputs[0].data<T>(), delta = *c.inputs[2].data<T>();
      T* values = out.writable_data<T>();
      for (std::int64_t i = 0; i < out.count(); ++i)
        values[i] = static_cast<T>(start + static_cast<T>(i) * delta);
    }
  });
  return one_tensor(std::move(out));
}
TensorSpecs linspace_rule(const OpContext& c) {
  same_dtype(c);
  require(c, 0, is_floating(c.inputs[0].dtype()), "float32 or float64");
  for (std::size_t i = 0; i < 2; ++i)
    if (c.inputs[i].rank() != 0) fail<InvalidArgumentError>("linspace: ", describe(c, i), " is no scalar");
  const std::int64_t count = c.attributes.get<std::int64_t>(0);
  if (count < 1) fail<InvalidArgumentError>("linspace: num is ", count, "; it is at least 1");
  return one(c.inputs[0].dtype(), {count});
}
Tensors linspace_forward(const OpContext& c) {
  Tensor out = Tensor::allocate(c.outputs[0].dtype, c.outputs[0].shape);
  visit_dtype(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T>) {
      const T start = *c.inputs[0].data<T>(), stop = *c.inputs[1].data<T>();
      T* values = out.writable_data<T>();
      const std::int64_t last = out.count() - 1;
      for (std::int64_t i = 0; i <= last; ++i)
        values[i] = i == last && last > 0 ? stop
                                          : start + (stop - start) * static_cast<T>(i) /
                                                        static_cast<T>(std::max<std::int64_t>(last, 1));
    }
  });
  return one_tensor(std::move(out));
}
}  // namespace
TAPEDECK_OP(range_op) = {.name = "range",
                         .python_names = {},
                         .inputs = {{.name = "start"}, {.name = "limit"}, {.name = "delta"}},
                         .attributes = {},
                         .shape_rule = range_rule,
                         .forward = range_forward,
                         .vjp = nullptr,
                         .vjp_formula = "none",
                         .doc =
                             "start, start + delta, … up to but without limit.\n\nstart, limit, delta: "
                             "scalars of one numeric dtype. Errors: a delta of 0."};
Tensor range(double start, double limit, double delta, DType dtype) {
  return run_op1(range_op,
                 {Tensor::scalar(start, dtype), Tensor::scalar(limit, dtype), Tensor::scalar(delta, dtype)});
}
TAPEDECK_OP(linspace_op) = {
    .name = "linspace",
    .python_names = {"linspace", "lin_space"},
    .inputs = {{.name = "start", .preferred = DType::float32}, {.name = "stop", .preferred = DType::float32}},
    .attributes = {{"num", AttributeKind::integer, std::int64_t{0}, true}},
    .shape_rule = linspace_rule,
    .forward = linspace_forward,
    .vjp = nullptr,
    .vjp_formula = "none",
    .doc =
        "num evenly spaced values from start to stop, both included.\n\nstart, stop: float scalars. num: at "
        "least 1."};

// ---- one_hot
namespace {
TensorSpecs one_hot_rule(const OpContext& c) {
  require(c, 0, is_integer(c.inputs[0].dtype()), "int32 or int64");
  const std::int64_t depth = c.attributes.get<std::int64_t>(0);
  if (depth < 0) fail<InvalidArgumentError>("one_hot: depth ", depth, " is negative");
  Shape shape = c.inputs[0].shape();
  shape.push_back(depth);
  return one(c.attributes.get<DType>(1), shape);
}
Tensors one_hot_forward(const OpContext& c) {
  Tensor out = filled(c.outputs[0], 0);
  const std::vector<double> indices = c.inputs[0].to_vector();
  const Tensor value = Tensor::scalar(1, out.dtype());
  const std::int64_t depth = c.attributes.get<std::int64_t>(0);
  const auto item = static_cast<std::int64_t>(item_size(out.dtype()));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto index = static_cast<std::int64_t>(indices[i]);
    if (index < 0 || index >= depth) continue;
    cpu::fill(static_cast<std::size_t>(item), value.raw(),
              static_cast<std::byte*>(output(out)) + (static_cast<std::int64_t>(i) * depth + index) * item,
              1);
  }
  return one_tensor(std::move(out));
}
}  // namespace
TAPEDECK_OP(one_hot_op) = {.name = "one_hot",
                           .python_names = {"one_hot"},
                           .inputs = {{.name = "indices"}},
                           .attributes = {{"depth", AttributeKind::integer, std::int64_t{0}, true},
                                          {"dtype", AttributeKind::dtype, DType::float32}},
                           .shape_rule = one_hot_rule,
                           .forward = one_hot_forward,
                           .vjp = nullptr,
                           .vjp_formula = "none",
                           .doc =
                               "A new last axis of `depth` with 1 at the index and 0 elsewhere.\n\nindices: "
                               "int32 or int64, any shape; one outside 0 … "
                               "depth − 1 gives zeros only."};
Tensor one_hot(const Tensor& indices, std::int64_t depth, DType dtype) {
  return run_op1(one_hot_op, {indices}, {depth, dtype});
}

namespace detail {
void link_creation() {}
}  // namespace detail

}  // namespace tapedeck
