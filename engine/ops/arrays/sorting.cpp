// Sorted values, and their positions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/ops/core/cost.h"
#include "engine/ops/core/rows.h"

namespace tapedeck::ops {
namespace {

/// n·log₂ n comparisons for each row.
OpCost sorting_cost(const CostContext& c) {
  const Shape& shape = c.inputs[0].shape;
  const std::int64_t axis = cost::integer(c, "axis", -1);
  const std::int64_t at = axis < 0 ? axis + shape.rank() : axis;
  const double count = at < 0 || at >= shape.rank() ? 1 : static_cast<double>(shape[static_cast<int>(at)]);
  return {cost::count(c.inputs[0]) * std::log2(std::max(1.0, count)), cost::traffic(c)};
}

RowOrder rows_along(const OpContext& c) {
  const Shape& shape = c.inputs[0].shape();
  std::vector<bool> flags(static_cast<std::size_t>(shape.rank()), false);
  flags[static_cast<std::size_t>(normalize_axis(c.op.name, "axis", integer_of(c, "axis"), shape))] = true;
  return {shape, flags};
}

bool is_descending(const OpContext& c) {
  const std::string& direction = c.get<std::string>("direction");
  if (direction != "ASCENDING" && direction != "DESCENDING")
    fail<InvalidArgumentError>(c.op.name, ": direction is '", direction,
                               "'; needs 'ASCENDING' or 'DESCENDING'");
  return direction == "DESCENDING";
}

/// Positions are int32.
void require_countable(const OpContext& c, std::int64_t count) {
  if (count > std::numeric_limits<std::int32_t>::max())
    fail<InvalidArgumentError>(c.op.name, ": ", count,
                               " values in a row; their positions do not fit in int32");
}

template <DType result>
TensorSpecs order_shape(const OpContext& c) {
  require_kind(c, 0, Kind::numeric);
  is_descending(c);
  require_countable(c, rows_along(c).count);
  return spec(result == DType::bool_ ? c.inputs[0].dtype() : result, c.inputs[0].shape());
}
constexpr DType dtype_of_values = DType::bool_;

/// Places in rows × count, from positions in the rows.
Tensor flat_positions(const Tensor& positions, std::int64_t count) {
  const Tensor starts = range(0.0, static_cast<double>(positions.dim(0)), 1.0, DType::int64) *
                        number(static_cast<double>(count), DType::int64);
  const Tensor places = cast(positions, DType::int64) + reshape(starts, {positions.dim(0), 1});
  return reshape(places, {places.count()});
}

/// Gradients (rows × k) put back to where `positions` took the values from: rows × count.
Tensor put_back(const Tensor& gradient, const Tensor& positions, std::int64_t count) {
  const std::int64_t rows = positions.dim(0);
  const Tensor places = flat_positions(positions, count);
  const Tensor sums = unsorted_segment_sum(reshape(gradient, {places.count()}), places, rows * count);
  return reshape(sums, {rows, count});
}

/// put_back of an op whose results have the input's shape; positions along its attribute `axis`.
Tensor put_back_along(const VjpContext& c, const Tensor& positions) {
  const Tensor& x = c.inputs[0];
  const RowOrder order = rows_along({c.op, c.inputs, c.attributes, {}});
  const auto to_rows = [&](const Tensor& tensor) {
    return reshape(transpose(tensor, order.permutation), {order.rows, order.count});
  };
  const Tensor rows = put_back(to_rows(c.cotangents[0]), to_rows(positions), order.count);
  Shape moved;
  for (const std::int64_t axis : order.permutation) moved.push_back(x.dim(static_cast<int>(axis)));
  return transpose(reshape(rows, moved), order.inverse());
}

Tensors sort_vjp(const VjpContext& c) {
  const Tensor& x = c.inputs[0];
  if (x.count() == 0) return one(zeros_like(x));
  return one(
      put_back_along(c, argsort(x, c.get<std::int64_t>("axis"), c.get<std::string>("direction"), true)));
}

}  // namespace

TAPEDECK_OP(sort_op) = {
    .name = "sort",
    .python_names = {"sort"},
    .inputs = {{.name = "values"}},
    .attributes = {{.name = "axis", .kind = AttributeKind::integer, .fallback = std::int64_t{-1}},
                   {.name = "direction", .kind = AttributeKind::text, .fallback = std::string("ASCENDING")}},
    .shape_rule = order_shape<dtype_of_values>,
    .forward =
        [](const OpContext& c) {
          const RowOrder order = rows_along(c);
          const Tensor rows = order.rows_of(c.inputs[0]);
          Tensor out = Tensor::allocate(rows.dtype(), rows.shape());
          backend().sort_rows(is_descending(c), rows.dtype(), rows.raw(), order.rows, order.count,
                              out.writable_data<std::byte>());
          return one(order.original_order(out));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp = sort_vjp,
    .vjp_formula = "dx = dz put back to where the values came from",
    .cost = sorting_cost,
    .doc =
        "The values along an axis in order.\n\n"
        "values: any numeric dtype, at least one axis; axis: along which, -1 for the last; "
        "direction: "
        "'ASCENDING' or 'DESCENDING'.\n"
        "Returns: dtype and shape of values. NaN counts as larger than every number; equal values keep their "
        "order.\n"
        "Errors: InvalidArgumentError for an axis out of range or another direction; TypeMismatchError for "
        "bool.",
    .uint64_mapping = Uint64Mapping::order,
};
Tensor sort(const Tensor& values, std::int64_t axis, const std::string& direction) {
  return run_op1(sort_op, {values}, {axis, direction});
}

TAPEDECK_OP(argsort_op) = {
    .name = "argsort",
    .python_names = {"argsort"},
    .inputs = {{.name = "values"}},
    .attributes = {{.name = "axis", .kind = AttributeKind::integer, .fallback = std::int64_t{-1}},
                   {.name = "direction", .kind = AttributeKind::text, .fallback = std::string("ASCENDING")},
                   {.name = "stable", .kind = AttributeKind::boolean, .fallback = false}},
    .shape_rule = order_shape<DType::int32>,
    .forward =
        [](const OpContext& c) {
          const RowOrder order = rows_along(c);
          const Tensor rows = order.rows_of(c.inputs[0]);
          Tensor out = Tensor::allocate(DType::int32, rows.shape());
          backend().argsort_rows(is_descending(c), rows.dtype(), rows.raw(), order.rows, order.count,
                                 out.writable_data<std::int32_t>());
          return one(order.original_order(out));
        },
    .vjp = nullptr,
    .vjp_formula = "none",
    .cost = sorting_cost,
    .doc =
        "The positions that put the values along an axis in order: gathered by them, they are sorted.\n\n"
        "values: any numeric dtype, at least one axis; axis: along which, -1 for the last; "
        "direction: "
        "'ASCENDING' or 'DESCENDING'; stable: equal values keep their order, which they do here in any "
        "case.\n"
        "Returns: int32, the shape of values. NaN counts as larger than every number.\n"
        "Errors: InvalidArgumentError for an axis out of range or another direction; TypeMismatchError for "
        "bool.",
    .uint64_mapping = Uint64Mapping::order,
};
Tensor argsort(const Tensor& values, std::int64_t axis, const std::string& direction, bool stable) {
  return run_op1(argsort_op, {values}, {axis, direction, stable});
}

// ---- cummax ----
namespace {

TensorSpecs cummax_shape(const OpContext& c) {
  require_kind(c, 0, Kind::numeric);
  require_countable(c, rows_along(c).count);
  TensorSpecs specs = like_first(c);
  specs.push_back({DType::int32, c.inputs[0].shape()});
  return specs;
}

Tensors cummax_forward(const OpContext& c) {
  const RowOrder order = rows_along(c);
  const Tensor rows = order.rows_of(c.inputs[0]);
  const Tensor values = Tensor::allocate(rows.dtype(), rows.shape());
  const Tensor positions = Tensor::allocate(DType::int32, rows.shape());
  backend().scan_max(c.get<bool>("reverse"), rows.dtype(), rows.raw(), order.rows, order.count,
                     values.writable_data<std::byte>(), positions.writable_data<std::int32_t>());
  return {order.original_order(values), order.original_order(positions)};
}

Tensors cummax_vjp(const VjpContext& c) {
  if (!c.cotangents[0]) return Tensors(1);  // no gradient flows through the positions
  return one(c.inputs[0].count() == 0 ? zeros_like(c.inputs[0]) : put_back_along(c, c.outputs[1]));
}

}  // namespace

TAPEDECK_OP(cummax_op) = {
    .name = "cummax",
    .python_names = {"math.cummax"},
    .inputs = {{.name = "x"}},
    .attributes = {{.name = "axis", .kind = AttributeKind::integer, .fallback = std::int64_t{0}},
                   {.name = "reverse", .kind = AttributeKind::boolean, .fallback = false}},
    .shape_rule = cummax_shape,
    .forward = cummax_forward,
    .vjp_reads = VjpReads::outputs,
    .vjp = cummax_vjp,
    .vjp_formula = "dx = Σ d(values) over all places that took their value from there",
    .doc =
        "The largest value so far along an axis, and its position.\n\nx: any numeric dtype, at least one "
        "axis; axis: along which; reverse: run from the last element to the first.\nReturns: (values, "
        "indices): the dtype of x and int32, the shape of x. Of equal values the latest counts; from a NaN "
        "on all is NaN.\nErrors: InvalidArgumentError for an axis out of range; TypeMismatchError for bool.",
    .uint64_mapping = Uint64Mapping::order,
    .results = {.fields = {"values", "indices"}, .tuple_name = "Cummax"},
};

// ---- top_k ----
namespace {

TensorSpecs top_k_shape(const OpContext& c) {
  require_kind(c, 0, Kind::numeric);
  const Shape& input = c.inputs[0].shape();
  const std::int64_t k = integer_of(c, "k");
  if (input.rank() == 0) fail<InvalidArgumentError>("top_k: input is a scalar; needs at least one axis");
  const int last = input.rank() - 1;
  if (k < 0 || k > input[last])
    fail<InvalidArgumentError>("top_k: k is ", k, "; the last axis of input ", to_string(input), " has ",
                               input[last], " values");
  require_countable(c, input[last]);
  const DType index_type = index_dtype_of(c, "index_type");
  Shape shape;
  for (int axis = 0; axis < last; ++axis) shape.push_back(input[axis]);
  shape.push_back(k);
  TensorSpecs specs = spec(c.inputs[0].dtype(), shape);
  specs.push_back({index_type, shape});
  return specs;
}

Tensors top_k_forward(const OpContext& c) {
  const Tensor rows = contiguous(c.inputs[0]);
  const std::int64_t count = rows.dim(rows.rank() - 1);
  Tensors outputs = one(allocate_output(c, 0));
  Tensor positions = Tensor::allocate(DType::int32, c.outputs[1].shape);
  backend().top_k_rows(rows.dtype(), rows.raw(), count == 0 ? 0 : rows.count() / count, count,
                       integer_of(c, "k"), outputs[0].writable_data<std::byte>(),
                       positions.writable_data<std::int32_t>());
  if (c.outputs[1].dtype != DType::int32) {
    const Tensor narrow = std::exchange(positions, allocate_output(c, 1));
    backend().cast(DType::int32, positions.dtype(), operand(narrow, narrow.shape()),
                   positions.writable_data<std::byte>(), narrow.shape());
  }
  outputs.push_back(std::move(positions));
  return outputs;
}

Tensors top_k_vjp(const VjpContext& c) {
  const Tensor& x = c.inputs[0];
  if (!c.cotangents[0]) return Tensors(1);  // no gradient flows through the positions
  const std::int64_t count = x.dim(x.rank() - 1);
  const std::int64_t k = integer_of({c.op, c.inputs, c.attributes, {}}, "k");
  if (x.count() == 0 || k == 0) return zero_gradient(c);
  const Shape taken{x.count() / count, k};
  return one(
      reshape(put_back(reshape(c.cotangents[0], taken), reshape(c.outputs[1], taken), count), x.shape()));
}

}  // namespace

TAPEDECK_OP(top_k_op) = {
    .name = "top_k",
    .python_names = {"nn.top_k", "math.top_k"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "k", .kind = AttributeKind::integer, .fallback = std::int64_t{1}},
                   {.name = "sorted", .kind = AttributeKind::boolean, .fallback = true},
                   {.name = "index_type", .kind = AttributeKind::dtype, .fallback = DType::int32}},
    .shape_rule = top_k_shape,
    .forward = top_k_forward,
    .vjp_reads = VjpReads::outputs,
    .vjp = top_k_vjp,
    .vjp_formula = "d(input) = d(values) put back to where the values came from, else 0",
    .cost = sorting_cost,
    .doc =
        "The k largest values along the last axis, and their positions.\n\n"
        "input: any numeric dtype, at least one axis; k: how many; sorted: largest first, as "
        "they come "
        "here in any case; index_type: int32 or int64.\n"
        "Returns: (values, indices): the dtype of input and index_type, the shape of input with k for its "
        "last "
        "extent. Of "
        "equal values the first comes first; NaN counts as larger than every number.\n"
        "Errors: InvalidArgumentError for a scalar, a k below 0 or above the last extent, or another "
        "index_type; "
        "TypeMismatchError for "
        "bool.",
    .uint64_mapping = Uint64Mapping::order,
    .results = {.fields = {"values", "indices"}, .tuple_name = "TopKV2"},
};
TAPEDECK_FACTS(top_k_op) = {.flat = facts::not_chosen};

}  // namespace tapedeck::ops
