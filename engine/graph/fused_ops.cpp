#include "engine/graph/fused_ops.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "engine/ops/core/checks.h"

namespace tapedeck::graph {
namespace {

using CallKind = cpu::FusedCall::Kind;
using kernels::Binary;
using kernels::Reduction;
using kernels::Unary;

FusedOp of(Unary function) {
  FusedOp op;
  op.call.unary = function;
  return op;
}

FusedOp of(Binary function) {
  FusedOp op;
  op.call.kind = CallKind::binary;
  op.call.binary = function;
  return op;
}

FusedOp of(CallKind kind) {
  FusedOp op;
  op.call.kind = kind;
  return op;
}

FusedOp of(FusedOp::Kind kind) {
  FusedOp op;
  op.kind = kind;
  return op;
}

FusedOp of(Reduction reduction, bool divides = false) {
  FusedOp op = of(FusedOp::Kind::reduction);
  op.reduction = reduction;
  op.divides = divides;
  return op;
}

/// By the ops' names. Each function of the lists is an op without attributes.
std::map<std::string_view, FusedOp> made_table() {
#define TAPEDECK_ROW_OF_ONE(name, ...) {#name, of(Unary::name)},
#define TAPEDECK_ROW_OF_TWO(name, ...) {#name, of(Binary::name)},
  std::map<std::string_view, FusedOp> table{TAPEDECK_UNARY_OPS(TAPEDECK_ROW_OF_ONE)
                                                TAPEDECK_BINARY_OPS(TAPEDECK_ROW_OF_TWO)};
#undef TAPEDECK_ROW_OF_ONE
#undef TAPEDECK_ROW_OF_TWO
  table.insert({{"gelu", of(Unary::gelu)},
                {"leaky_relu", of(Binary::leaky_relu)},
                {"swish", of(Binary::swish)},
                {"where", of(CallKind::select)},
                {"cast", of(CallKind::cast)},
                {"clip_by_value", of(CallKind::clip)},
                {"add_n", of(FusedOp::Kind::add_all)},
                {"identity", of(FusedOp::Kind::passed_on)},
                {"stop_gradient", of(FusedOp::Kind::passed_on)},
                {"reshape", of(FusedOp::Kind::passed_on)},
                {"reduce_sum", of(Reduction::sum)},
                {"reduce_mean", of(Reduction::sum, true)},
                {"reduce_max", of(Reduction::max)},
                {"reduce_min", of(Reduction::min)}});
  return table;
}

const FusedOp* row_of(const OpDef& op) {
  static const std::vector<std::optional<FusedOp>> by_index = [] {
    const auto table = made_table();
    std::vector<std::optional<FusedOp>> rows(Registry::instance().size());
    for (const auto& [name, row] : table)
      if (const OpDef* found = Registry::instance().find(name))
        rows[static_cast<std::size_t>(found->index)] = row;
    return rows;
  }();
  const auto index = static_cast<std::size_t>(op.index);
  return index < by_index.size() && by_index[index] ? &*by_index[index] : nullptr;
}

bool is_fused_dtype(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::bool_;
}

/// Whether each element of the input is found from its place in the result.
bool is_spread_evenly(const Shape& input, const Shape& result) {
  return element_count(input) == 1 || repetition_of(result, row_major_strides(input, result));
}

/// The last axes' elements, where these and no others are reduced; 0 otherwise.
std::int64_t reduced_row(const Node& node, const Shape& shape) {
  const Attribute& axes = node.op->value_of(node.attributes, "axis");
  std::vector<bool> flags(static_cast<std::size_t>(shape.rank()),
                          std::holds_alternative<std::monostate>(axes));
  const auto flag = [&](std::int64_t axis) {
    axis += axis < 0 ? shape.rank() : 0;
    if (axis < 0 || axis >= shape.rank()) return false;
    flags[static_cast<std::size_t>(axis)] = true;
    return true;
  };
  if (const auto* one = std::get_if<std::int64_t>(&axes)) {
    if (!flag(*one)) return 0;
  } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&axes)) {
    if (!std::ranges::all_of(*list, flag)) return 0;
  } else if (!std::holds_alternative<std::monostate>(axes)) {
    return 0;
  }
  std::int64_t row = 1;
  int axis = shape.rank() - 1;
  for (; axis >= 0 && flags[static_cast<std::size_t>(axis)]; --axis) row *= shape[axis];
  const bool has_others =
      std::find(flags.begin(), flags.begin() + (axis + 1), true) != flags.begin() + (axis + 1);
  return row == 1 || has_others ? 0 : row;
}

bool fits_reduction(const Graph& graph, const Node& node, FusedOp& op) {
  const TensorSpec& input = graph.spec(node.inputs[0]);
  if (input.dtype == DType::bool_ || node.results[0].dtype != input.dtype) return false;
  op.row = reduced_row(node, input.shape);
  return op.row > 0 && cpu::fused_unit(element_count(input.shape), {op.row}) > 0;
}

/// What ops with attributes make of them.
bool take_attributes(const Node& node, FusedOp& op) {
  const std::string& name = node.op->name;
  const auto real = [&](AttributeName attribute) -> std::optional<double> {
    const Attribute& value = node.op->value_of(node.attributes, attribute);
    if (const auto* number = std::get_if<double>(&value)) return *number;
    if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*number);
    return std::nullopt;
  };
  if (name == "gelu") {
    const auto* approximate = std::get_if<bool>(&node.op->value_of(node.attributes, "approximate"));
    if (!approximate) return false;
    op.call.unary = *approximate ? Unary::gelu_tanh : Unary::gelu;
  } else if (name == "leaky_relu" || name == "swish") {
    op.parameter = name == "swish" ? real("beta") : real("alpha");
    return op.parameter.has_value();
  }
  return true;
}

/// Loops of powers differ with how the exponents repeat.
bool fits_power(const Graph& graph, const Node& node) {
  const Shape& exponent = graph.spec(node.inputs[1]).shape;
  return element_count(exponent) == 1 || exponent == node.results[0].shape;
}

bool fits_call(const Graph& graph, const Node& node, const FusedOp& op) {
  const DType result = node.results[0].dtype;
  const DType operand = graph.spec(node.inputs[op.call.kind == CallKind::select ? 1 : 0]).dtype;
  if (op.kind == FusedOp::Kind::passed_on)
    return element_count(graph.spec(node.inputs[0]).shape) == element_count(node.results[0].shape);
  if (op.kind == FusedOp::Kind::add_all)
    return operand != DType::bool_ && node.inputs.size() > 1 &&
           std::ranges::all_of(node.inputs,
                               [&](Value input) { return graph.spec(input).shape == node.results[0].shape; });
  if (op.call.kind == CallKind::clip)
    for (const std::size_t bound : {1, 2})
      if (element_count(graph.spec(node.inputs[bound]).shape) != 1) return false;
  if (op.call.kind == CallKind::binary && op.call.binary == Binary::pow && !fits_power(graph, node))
    return false;
  return cpu::has_loop(op.call, operand, result);
}

}  // namespace

Strides row_major_strides(const Shape& operand, const Shape& shape) {
  Strides strides;
  strides.resize(shape.rank());
  std::int64_t step = 1;
  const int added = shape.rank() - operand.rank();
  for (int axis = operand.rank() - 1; axis >= 0; --axis) {
    if (operand[axis] != 1) strides[axis + added] = step;
    step *= operand[axis];
  }
  return strides;
}

std::optional<Repetition> repetition_of(const Shape& shape, const Strides& strides) {
  Repetition found;
  int axis = shape.rank() - 1;
  const auto is_skipped = [&](int each) { return shape[each] == 1; };
  for (; axis >= 0 && (is_skipped(axis) || strides[axis] == 0); --axis)
    if (!is_skipped(axis)) found.inner *= shape[axis];
  for (; axis >= 0 && (is_skipped(axis) || strides[axis] == found.extent); --axis)
    if (!is_skipped(axis)) found.extent *= shape[axis];
  for (; axis >= 0; --axis)
    if (!is_skipped(axis) && strides[axis] != 0) return std::nullopt;
  return found;
}

std::optional<FusedOp> fused_op(const Graph& graph, const Node& node) {
  const bool is_plain = node.kind == NodeKind::op && !node.draws && node.draw_of == -1 && node.late.empty() &&
                        !node.device && !node.op->updates && node.results.size() == 1 &&
                        !node.inputs.empty() && !is_open(graph, node);
  const FusedOp* row = is_plain ? row_of(*node.op) : nullptr;
  if (!row || !is_fused_dtype(node.results[0].dtype)) return std::nullopt;
  for (const Value input : node.inputs)
    if (!is_fused_dtype(graph.spec(input).dtype)) return std::nullopt;
  FusedOp op = *row;
  if (op.kind == FusedOp::Kind::reduction)
    return fits_reduction(graph, node, op) ? std::optional(op) : std::nullopt;
  if (!take_attributes(node, op) || !fits_call(graph, node, op)) return std::nullopt;
  if (op.kind == FusedOp::Kind::call)
    for (const Value input : node.inputs)
      if (!is_spread_evenly(graph.spec(input).shape, node.results[0].shape)) return std::nullopt;
  return op;
}

}  // namespace tapedeck::graph
