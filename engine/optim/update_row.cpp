#include "engine/optim/update_row.h"

#include <algorithm>
#include <functional>

#include "engine/optim/apply.h"

namespace tapedeck::ops {
namespace {

std::size_t gradient_place(const OpDef& op) {
  const auto found = std::find_if(op.inputs.begin(), op.inputs.end(),
                                  [](const InputSpec& input) { return input.name == "gradient"; });
  return static_cast<std::size_t>(found - op.inputs.begin());
}

/// Value and slots have the same shape; the numbers from `first_number` on are scalars. Returns the
/// gradient's place.
std::size_t check_targets(const OpContext& c, std::size_t numbers_behind_gradient) {
  const std::size_t gradient = gradient_place(c.op);
  require_kind(c, 0, Kind::floating);
  for (std::size_t i = 1; i <= gradient; ++i) {
    require_same_dtype(c, 0, i);
    if (i < gradient && c.inputs[i].shape() != c.inputs[0].shape())
      fail<InvalidArgumentError>(c.op.name, ": ", input_name(c, i), " has the shape ",
                                 to_string(c.inputs[i].shape()), ", value ", to_string(c.inputs[0].shape()));
  }
  for (std::size_t i = gradient + numbers_behind_gradient; i < c.inputs.size(); ++i) {
    require_kind(c, i, Kind::floating);
    if (c.inputs[i].rank() != 0)
      fail<InvalidArgumentError>(c.op.name, ": ", input_name(c, i), " has the shape ",
                                 to_string(c.inputs[i].shape()), "; a scalar is needed");
  }
  return gradient;
}

TensorSpecs like_targets(const OpContext& c, std::size_t count) {
  TensorSpecs specs;
  for (std::size_t i = 0; i < count; ++i) specs.push_back({c.inputs[0].dtype(), c.inputs[0].shape()});
  return specs;
}

TensorSpecs dense_shapes(const OpContext& c) {
  const std::size_t gradient = check_targets(c, 1);
  if (c.inputs[gradient].shape() != c.inputs[0].shape())
    fail<InvalidArgumentError>(c.op.name, ": gradient has the shape ", to_string(c.inputs[gradient].shape()),
                               ", value ", to_string(c.inputs[0].shape()));
  return like_targets(c, gradient);
}

TensorSpecs sparse_shapes(const OpContext& c) {
  const std::size_t gradient = check_targets(c, 2);
  require_kind(c, gradient + 1, Kind::integer);
  const Shape& shape = c.inputs[0].shape();
  if (shape.rank() == 0) fail<InvalidArgumentError>(c.op.name, ": value is a scalar, which has no rows");
  Shape wanted = c.inputs[gradient + 1].shape();
  for (int axis = 1; axis < shape.rank(); ++axis) wanted.push_back(shape[axis]);
  if (c.inputs[gradient].shape() != wanted)
    fail<InvalidArgumentError>(c.op.name, ": gradient has the shape ", to_string(c.inputs[gradient].shape()),
                               "; for indices ", to_string(c.inputs[gradient + 1].shape()), " and value ",
                               to_string(shape), " it is ", to_string(wanted));
  return like_targets(c, gradient);
}

/// They are usually in host memory; for one on a GPU this waits.
std::vector<double> numbers_of(const OpContext& c, std::size_t first) {
  std::vector<double> numbers;
  for (std::size_t i = first; i < c.inputs.size(); ++i) numbers.push_back(c.inputs[i].item());
  return numbers;
}

/// The outputs' memory: the inputs' own if these may be overwritten.
struct Targets {
  Tensors results;
  Tensors kept;  ///< row-major forms of the inputs, as long as the kernel runs
  kernels::UpdateArrays arrays;
};

Targets targets_of(const OpContext& c, std::size_t count) {
  Targets targets;
  targets.arrays.targets = count;
  targets.arrays.in_place = true;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& input = c.inputs[i];
    const bool over = !is_immediate(input) && tapedeck::detail::may_overwrite(input);
    targets.results.push_back(over ? view_of(input, input.shape(), input.strides()) : allocate_output(c, i));
    targets.kept.push_back(over ? Tensor() : on_op_device(contiguous(input)));
    targets.arrays.from[i] = over ? input.raw() : targets.kept[i].raw();
    targets.arrays.to[i] = targets.results[i].writable_data<std::byte>();
    targets.arrays.in_place = targets.arrays.in_place && over;
  }
  return targets;
}

/// Copies the inputs to the outputs, for updates that change only a part.
void copy_to_results(Targets& targets) {
  for (std::size_t i = 0; i < targets.arrays.targets; ++i) {
    const auto* from = static_cast<const std::byte*>(targets.arrays.from[i]);
    auto* to = static_cast<std::byte*>(targets.arrays.to[i]);
    targets.arrays.from[i] = to;
    if (from == to) continue;
    const Tensor& result = targets.results[i];
    backend().copy(item_size(result.dtype()), from, {1}, to, {1}, {result.count()});
  }
  targets.arrays.in_place = true;
}

/// Gradients of rows, each row once.
struct RowGradients {
  Tensor rows, gradient;
  std::int64_t count;
};

bool rises(const Tensor& numbers) {
  const auto* first = numbers.data<std::int64_t>();
  const auto* end = first + numbers.count();
  return std::adjacent_find(first, end, std::greater_equal<>()) == end;
}

RowGradients row_gradients(const Tensor& indices, const Tensor& gradient, std::int64_t width) {
  if (indices.on_cpu() && rises(indices)) return {indices, gradient, indices.count()};
  const Tensor rows = Tensor::allocate(DType::int64, {indices.count()});
  const Tensor sums = Tensor::allocate(gradient.dtype(), {indices.count(), width});
  const std::int64_t count =
      backend().sum_rows(gradient.dtype(), gradient.raw(), indices.data<std::int64_t>(), indices.count(),
                         width, rows.writable_data<std::int64_t>(), sums.writable_data<std::byte>());
  return {rows, sums, count};
}

OpDef update_op(const UpdateRow& row, bool sparse) {
  OpDef op;
  op.updates = true;
  op.immediates = true;
  op.name = (sparse ? "sparse_" : "") + row.name;
  op.inputs.push_back({.name = "value"});
  op.results.fields.push_back("value");
  for (const std::string& slot : row.slots) {
    op.inputs.push_back({.name = slot});
    op.results.fields.push_back(slot);
  }
  op.inputs.push_back({.name = "gradient"});
  if (sparse) op.inputs.push_back({.name = "indices", .group = '\0'});
  for (const std::string& number : row.numbers)
    op.inputs.push_back({.name = number, .group = '\0', .preferred = DType::float64});
  if (row.nesterov)
    op.attributes.push_back({.name = "use_nesterov", .kind = AttributeKind::boolean, .fallback = false});
  op.vjp_formula = "none";
  std::string slots;
  for (const std::string& slot : row.slots) slots += ", " + slot;
  std::string numbers;
  for (const std::string& number : row.numbers) numbers += (numbers.empty() ? "" : ", ") + number;
  op.doc =
      row.what + (sparse ? ", of some rows: the others stay what they are" : "") + ".\n\n" + row.formula +
      "\nSource: " + row.source + "\n\nvalue" + slots +
      ": any floating dtype, one for all, and one shape. gradient: that dtype, " +
      (sparse ? "shape indices.shape + value.shape[1:]; indices: integers, of rows; gradients of one row "
                "are added up first. "
              : "that shape. ") +
      numbers + ": scalars, any floating dtype." + (row.nesterov ? " use_nesterov: the second form." : "") +
      "\nReturns: the new value" + (row.slots.empty() ? "" : " and slots") +
      ".\nErrors: InvalidArgumentError for other shapes; TypeMismatchError for other or different dtypes" +
      (sparse ? "; OutOfRangeError for an index outside of value." : ".");
  return op;
}

}  // namespace

OpDef dense_update(const UpdateRow& row, Forward forward, CostRule cost) {
  OpDef op = update_op(row, false);
  op.cost = cost;
  op.shape_rule = dense_shapes;
  op.forward = forward;
  return op;
}

OpDef sparse_update(const UpdateRow& row, Forward forward, CostRule cost) {
  OpDef op = update_op(row, true);
  op.cost = cost;
  op.shape_rule = sparse_shapes;
  op.forward = forward;
  return op;
}

OpCost dense_cost(const CostContext& c, double operations) {
  return {operations * cost::count(c.inputs[gradient_place(c.op)]), cost::traffic(c)};
}

/// Of value and slots only the gradient's rows.
OpCost sparse_cost(const CostContext& c, double operations) {
  const std::size_t place = gradient_place(c.op);
  const TensorSpec& gradient = c.inputs[place];
  double bytes = cost::bytes(gradient) * (1 + 2 * static_cast<double>(place));
  for (const TensorSpec& other : c.inputs.subspan(place + 1)) bytes += cost::bytes(other);
  return {operations * cost::count(gradient), bytes};
}

Tensors run_dense_update(kernels::Update rule, const OpContext& c) {
  const std::size_t place = gradient_place(c.op);
  const Tensor gradient = on_op_device(contiguous(c.inputs[place]));
  const std::vector<double> numbers = numbers_of(c, place + 1);
  Targets targets = targets_of(c, place);
  targets.arrays.gradient = gradient.raw();
  backend().update(rule, gradient.dtype(), targets.arrays, numbers.data(), gradient.count());
  return std::move(targets.results);
}

Tensors run_sparse_update(kernels::Update rule, const OpContext& c) {
  const std::size_t place = gradient_place(c.op);
  const std::int64_t width = c.inputs[0].dim(0) == 0 ? 0 : c.inputs[0].count() / c.inputs[0].dim(0);
  const std::vector<double> numbers = numbers_of(c, place + 2);
  const RowGradients gradients = row_gradients(checked_indices(c, place + 1, c.inputs[0].dim(0)),
                                               on_op_device(contiguous(c.inputs[place])), width);
  Targets targets = targets_of(c, place);
  copy_to_results(targets);
  targets.arrays.gradient = gradients.gradient.raw();
  backend().update_rows(rule, c.inputs[0].dtype(), targets.arrays, numbers.data(),
                        gradients.rows.data<std::int64_t>(), gradients.count, width);
  return std::move(targets.results);
}

}  // namespace tapedeck::ops
