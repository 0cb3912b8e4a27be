// What a softmax's shares say of its axis, beside labels that add up along another one, and of a mask.
#include <algorithm>
#include <cmath>

#include "engine/debug/health/step_reader.h"
#include "engine/debug/why/elements.h"

namespace tapedeck::debug {
namespace {

constexpr double close_to_one = 1e-3;

/// Sums along an axis of a matrix.
std::vector<double> sums_along(const std::vector<double>& values, std::int64_t rows, std::int64_t columns,
                               int axis) {
  std::vector<double> sums(static_cast<std::size_t>(axis == 0 ? columns : rows));
  for (std::int64_t i = 0; i < rows * columns; ++i)
    sums[static_cast<std::size_t>(axis == 0 ? i % columns : i / columns)] +=
        values[static_cast<std::size_t>(i)];
  return sums;
}

bool all_one(const std::vector<double>& sums) {
  return std::ranges::all_of(sums, [](double sum) { return std::abs(sum - 1) <= close_to_one; });
}

/// Along which the softmax goes, from 0; nothing: the record does not say.
std::optional<std::int64_t> axis_of(Past& past, const StepOp& softmax, std::int64_t rank) {
  const Attribute* given =
      torch_name(softmax).empty() ? argument_of(past, softmax, "axis") : argument_of(past, softmax, "dim");
  const auto* axis = given ? std::get_if<std::int64_t>(given) : nullptr;
  if (!axis) return std::nullopt;
  return *axis < 0 ? *axis + rank : *axis;
}

/// Of a square: zeros from the diagonal on to its left in all rows but the last, and elsewhere not. The last
/// row has no later place: what a softmax makes of a row that is masked whole says nothing.
bool sees_later_places_alone(const std::vector<double>& values, std::int64_t extent) {
  const std::int64_t square = extent * extent;
  if (values.empty()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t place = static_cast<std::int64_t>(i) % square;
    const std::int64_t row = place / extent, column = place % extent;
    if (row == extent - 1) continue;
    if (column <= row ? values[i] != 0 : !(values[i] > 0)) return false;
  }
  return true;
}

/// What PyTorch's fused attention adds to its scores; 0: the op is another one, or has no mask.
std::uint64_t mask_of_attention(const StepOp& op) {
  return torch_name(op) == "_scaled_dot_product_flash_attention_for_cpu" && op.inputs.size() > 3
             ? op.inputs[3]
             : 0;
}

}  // namespace

void read_masks(Past& past, const StepGraph& graph, bool recompute, StepFacts& facts) {
  constexpr std::size_t most_read = 4;
  constexpr std::int64_t most_elements = 1 << 20, least_extent = 3;
  std::size_t read = 0;
  for (const StepOp& op : graph.ops()) {
    const std::uint64_t mask = mask_of_attention(op);
    if (op.backward || !(computes(op, "softmax") || mask) || op.outputs.empty() || !graph.leads_to_target(op))
      continue;
    const std::vector<std::int64_t> shape = graph.shape(mask ? mask : op.outputs[0]);
    if (shape.size() < 2 || shape.back() != shape[shape.size() - 2] || shape.back() < least_extent) continue;
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    if (count == 0 || count > most_elements || ++read > most_read) continue;
    const Tensor weights = step_value(past, mask ? mask : op.outputs[0], recompute, facts);
    if (!weights || !is_floating(weights.dtype())) continue;
    std::vector<double> values = weights.to_vector();
    if (mask)  // it is added to the scores
      for (double& value : values) value = std::exp(value);
    if (sees_later_places_alone(values, shape.back())) facts.masks.push_back({graph.place(op), shape});
  }
}

void read_axis(Past& past, const StepGraph& graph, const StepOp& softmax, const Tensor& labels, bool numbers,
               bool recompute, StepFacts& facts) {
  const bool logarithms = torch_name(softmax) == "_log_softmax";
  if (!(computes(softmax, "softmax") || logarithms) || softmax.outputs.empty()) return;
  const std::vector<std::int64_t> shape = graph.shape(softmax.outputs[0]);
  // Of matrices alone it is clear which axis is the examples'.
  if (shape.size() != 2 || shape[1] < 2 || shape[0] < 2) return;
  if (axis_of(past, softmax, 2) != 0) return;
  if (!numbers && labels.shape() != Shape(std::span<const std::int64_t>(shape))) return;
  const std::vector<double> given = numbers ? std::vector<double>() : labels.to_vector();
  if (!numbers && (!all_one(sums_along(given, shape[0], shape[1], 1)) ||
                   all_one(sums_along(given, shape[0], shape[1], 0))))
    return;
  const Tensor shares = step_value(past, softmax.outputs[0], recompute, facts);
  if (!shares) return;
  std::vector<double> values = shares.to_vector();
  if (logarithms)
    for (double& value : values) value = std::exp(value);
  const std::vector<double> sums = sums_along(values, shape[0], shape[1], 1);
  if (all_one(sums)) return;
  AxisFact fact;
  fact.place = graph.place(softmax);
  fact.shape = shape;
  fact.least = std::ranges::min(sums);
  fact.most = std::ranges::max(sums);
  facts.axes.push_back(std::move(fact));
}

}  // namespace tapedeck::debug
