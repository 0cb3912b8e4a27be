#include "engine/ops/core/cost.h"

#include <algorithm>
#include <cmath>

namespace tapedeck {

OpCost cost_of(const CostContext& call) {
  OpCost cost;
  if (call.op.cost) {
    cost = call.op.cost(call);
  } else {
    cost.bytes = cost::traffic(call);
    for (const auto& operands : {call.inputs, call.outputs})
      for (const TensorSpec& spec : operands) cost.flops = std::max(cost.flops, cost::count(spec));
  }
  // An undefined or empty result costs nothing.
  const auto sane = [](double value) { return std::isfinite(value) ? std::max(0.0, value) : 0.0; };
  return {sane(cost.flops), sane(cost.bytes)};
}

namespace cost {

double count(const TensorSpec& spec) {
  double product = 1;
  for (const std::int64_t extent : spec.shape) product *= static_cast<double>(extent);
  return product;
}

double bytes(const TensorSpec& spec) {
  return count(spec) * static_cast<double>(item_size(spec.dtype));
}

double traffic(const CostContext& call) {
  double sum = 0;
  for (const TensorSpec& spec : call.inputs) sum += bytes(spec);
  for (const TensorSpec& spec : call.outputs) sum += bytes(spec);
  return sum;
}

double real_products(const TensorSpec& spec) {
  return is_complex(spec.dtype) ? 4 : 1;
}

const Attribute* attribute(const CostContext& call, AttributeName name) {
  const auto place = call.op.find_place(name);
  return place && *place < call.attributes.size() ? &call.attributes[*place] : nullptr;
}

bool flag(const CostContext& call, AttributeName name) {
  const Attribute* found = attribute(call, name);
  const bool* value = found ? std::get_if<bool>(found) : nullptr;
  return value && *value;
}

std::int64_t integer(const CostContext& call, AttributeName name, std::int64_t fallback) {
  const Attribute* found = attribute(call, name);
  const auto* value = found ? std::get_if<std::int64_t>(found) : nullptr;
  return value ? *value : fallback;
}

Stack stack(const TensorSpec& spec) {
  const int rank = spec.shape.rank();
  if (rank < 2) return {};
  Stack found{static_cast<double>(spec.shape[rank - 2]), static_cast<double>(spec.shape[rank - 1]), 1};
  for (int axis = 0; axis < rank - 2; ++axis) found.matrices *= static_cast<double>(spec.shape[axis]);
  return found;
}

OpCost moves(const CostContext& call) {
  return {0, traffic(call)};
}

OpCost picks(const CostContext& call) {
  double sum = 0;
  for (const TensorSpec& spec : call.inputs.subspan(std::min<std::size_t>(1, call.inputs.size())))
    sum += bytes(spec);
  for (const TensorSpec& spec : call.outputs) sum += 2 * bytes(spec);
  return {0, sum};
}

OpCost view(const CostContext&) {
  return {0, 0};
}

OpCost sums_all(const CostContext& call) {
  return {call.inputs.empty() || call.outputs.empty()
              ? 0
              : static_cast<double>(call.inputs.size() - 1) * count(call.outputs[0]),
          traffic(call)};
}

OpCost per_all_inputs(const CostContext& call) {
  double sum = 0;
  for (const TensorSpec& spec : call.inputs) sum += count(spec);
  return {sum, traffic(call)};
}

}  // namespace cost
}  // namespace tapedeck
