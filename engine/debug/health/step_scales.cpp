// Whether the first layer's inputs were normalised over the wrong axis: features of very different scales
// that one number for each example, or one for all, has divided.
//
// What a layer normalises inside the model is none of this: only inputs are looked at that are made of data
// alone. Features that are mostly one value (pixels at the border, counts of words, flags) say nothing of
// scales and are left out.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "engine/debug/health/step_reader.h"
#include "engine/debug/why/elements.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

/// This program's own: two orders of magnitude.
constexpr double least_ratio = 100;
constexpr std::int64_t most_scale_elements = 32768, least_rows = 16, most_raw_elements = 1 << 26;
constexpr std::size_t most_hops = 48, most_ancestors = 256;

constexpr std::array<std::string_view, 7> row_choosing_ops = {
    "identity", "cast", "stop_gradient", "ensure_shape", "strided_slice", "slice", "gather"};
constexpr std::array<std::string_view, 7> statistic_ops = {
    "reduce_std", "reduce_variance", "moments", "reduce_mean", "reduce_max", "reduce_min", "reduce_sum"};

/// That op, or one of PyTorch's that computes the same.
bool has_name(const RecordView& record, std::string_view name) {
  const ForeignOp* foreign = record.head.op ? foreign_of(*record.head.op) : nullptr;
  return record.head.op &&
         (record.head.op->name == name ||
          (foreign && !foreign->writes && foreign->counterpart && foreign->counterpart->name == name));
}

template <std::size_t n>
bool has_name(const RecordView& record, const std::array<std::string_view, n>& names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return has_name(record, name); });
}

struct ColumnScale {
  std::int64_t column = 0;
  double deviation = 0;  ///< standard deviation
};

/// Rows of a matrix, spread over it, as many as are looked at.
struct SampledRows {
  std::int64_t width = 0;
  std::vector<double> values;
  std::int64_t rows() const { return width > 0 ? std::ssize(values) / width : 0; }
};

SampledRows sampled_rows(const Tensor& value) {
  SampledRows sampled;
  if (value.shape().rank() != 2 || value.count() == 0 || !is_floating(value.dtype())) return sampled;
  const std::int64_t rows = value.shape()[0], width = value.shape()[1];
  const std::int64_t read = std::min(rows, most_scale_elements / std::max<std::int64_t>(width, 1));
  if (width < 2 || read < least_rows) return sampled;
  sampled.width = width;
  visit_elements(value, [&](const auto* at, std::int64_t) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(*at)>>)
      for (std::int64_t row = 0; row < read; ++row)
        for (std::int64_t column = 0; column < width; ++column)
          sampled.values.push_back(static_cast<double>(at[row * rows / read * width + column]));
  });
  return sampled;
}

double deviation_of(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// Standard deviations of the columns of which no value takes more than half of the rows; rising.
std::vector<ColumnScale> column_scales(const SampledRows& sampled) {
  std::vector<ColumnScale> scales;
  std::vector<double> values(static_cast<std::size_t>(sampled.rows()));
  for (std::int64_t column = 0; column < sampled.width && !values.empty(); ++column) {
    for (std::size_t row = 0; row < values.size(); ++row)
      values[row] =
          sampled.values[row * static_cast<std::size_t>(sampled.width) + static_cast<std::size_t>(column)];
    if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) continue;
    const double deviation = deviation_of(values);
    std::ranges::sort(values);
    // What more than half of the rows have is the median.
    const double median = values[values.size() / 2];
    if (2 * std::ranges::count(values, median) > std::ssize(values) || !(deviation > 0)) continue;
    scales.push_back({column, deviation});
  }
  std::ranges::sort(scales, {}, &ColumnScale::deviation);
  return scales;
}

bool differ_by_orders(const std::vector<ColumnScale>& scales) {
  return scales.size() >= 2 && scales.back().deviation >= least_ratio * scales.front().deviation;
}

double deviation_at(const std::vector<ColumnScale>& scales, std::int64_t column) {
  const auto found = std::ranges::find(scales, column, &ColumnScale::column);
  return found == scales.end() ? 0 : found->deviation;
}

FactPlace scale_place(const RecordView& record) {
  return {record.number, record.head.location, location_of(record.head.location).line, record.name()};
}

Shape shape_of_tensor(Past& past, std::uint64_t tensor) {
  const TensorOrigin origin = past.recorder().trace().tensors().get(tensor);
  return origin.known() ? spec_of(origin.spec()).shape : Shape();
}

/// The statistic that a small operand is made of, over elementwise ops; nullptr: it is none.
const RecordView* statistic_behind(Past& past, std::uint64_t tensor) {
  for (std::size_t hop = 0; hop < most_hops; ++hop) {
    const RecordView* maker = maker_behind_assignment(past, tensor);
    if (!maker || maker->head.kind != EventKind::op || maker->inputs.empty()) return nullptr;
    if (has_name(*maker, statistic_ops)) return maker;
    // Of "std + 1e-7" and "1 / std" the operand that an op made is the statistic.
    std::uint64_t next = 0;
    for (const std::uint64_t input : maker->inputs)
      if (input && past.maker(input) && !next) next = input;
    if (!next) return nullptr;
    tensor = next;
  }
  return nullptr;
}

/// One op on the way from the data to the layer that takes a statistic to its operand.
struct StatisticUse {
  const RecordView *op = nullptr, *statistic = nullptr;
  Shape shape;  ///< the operand's
  bool subtracts = false;
  bool of_features() const { return shape.rank() > 0 && shape[shape.rank() - 1] > 1; }
  bool of_examples() const { return !of_features() && element_count(shape) > 1; }
};

/// From the layer's input back to the data that it was made of.
struct Normalisation {
  std::vector<StatisticUse> uses;  ///< the nearest to the layer first
  std::uint64_t data = 0;
};

Normalisation normalisation_behind(Past& past, std::uint64_t input) {
  Normalisation found;
  found.data = input;
  const Shape whole = shape_of_tensor(past, input);
  const auto is_matrix = [&](std::uint64_t tensor) {
    const Shape shape = shape_of_tensor(past, tensor);
    return shape.rank() == 2 && shape[1] == whole[1] && shape[0] > 1;
  };
  for (std::size_t hop = 0; hop < most_hops; ++hop) {
    const RecordView* maker = maker_behind_assignment(past, found.data);
    if (!maker || maker->head.kind != EventKind::op || maker->inputs.empty()) return found;
    std::size_t next = 0;
    if (!has_name(*maker, row_choosing_ops)) {
      const bool scales = has_name(*maker, "divide") || has_name(*maker, "multiply");
      const bool shifts = has_name(*maker, "subtract") || has_name(*maker, "add");
      if ((!scales && !shifts) || maker->inputs.size() != 2) return found;
      next = is_matrix(maker->inputs[0]) ? 0 : 1;
      if (is_matrix(maker->inputs[1 - next])) return found;
      const std::uint64_t operand = maker->inputs[1 - next];
      if (const RecordView* statistic = statistic_behind(past, operand))
        found.uses.push_back({maker, statistic, shape_of_tensor(past, operand), shifts});
    }
    if (!is_matrix(maker->inputs[next])) return found;
    found.data = maker->inputs[next];
  }
  return found;
}

/// No value of a variable is among what it was made of: it is data, and no result of a layer.
bool is_data_alone(Past& past, std::uint64_t tensor) {
  std::vector<std::uint64_t> open{tensor};
  std::unordered_set<std::uint64_t> seen;
  while (!open.empty()) {
    const std::uint64_t id = open.back();
    open.pop_back();
    if (id == 0 || !seen.insert(id).second) continue;
    if (seen.size() > most_ancestors || past.assignment(id)) return false;
    if (const RecordView* maker = past.maker(id))
      open.insert(open.end(), maker->inputs.begin(), maker->inputs.end());
  }
  return true;
}

/// The use that went over the wrong axis; nullptr: each feature has its own scale.
const StatisticUse* wrong_use(const Normalisation& normalisation) {
  const auto scales_features = [](const StatisticUse& use) { return !use.subtracts && use.of_features(); };
  const bool scaled = std::ranges::any_of(normalisation.uses, scales_features);
  for (const StatisticUse& use : normalisation.uses) {
    const bool wrong = use.subtracts ? use.of_examples() : !use.of_features() && !scaled;
    if (wrong) return &use;
  }
  return nullptr;
}

void set_columns(ScaleFact& fact, const std::vector<ColumnScale>& before,
                 const std::vector<ColumnScale>& after) {
  fact.small_column = before.front().column;
  fact.large_column = before.back().column;
  fact.small_before = before.front().deviation;
  fact.large_before = before.back().deviation;
  fact.small_after = deviation_at(after, fact.small_column);
  fact.large_after = deviation_at(after, fact.large_column);
}

/// What NumPy normalised has no op: the values show it.
std::optional<ScaleFact> normalised_outside(const SampledRows& sampled,
                                            const std::vector<ColumnScale>& scales) {
  constexpr double near_one = 0.05, hardly_any = 0.1;
  const auto is_normal = [](const std::vector<double>& values) {
    double mean = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    return std::abs(mean) < near_one && std::abs(deviation_of(values) - 1) < near_one;
  };
  if (scales.size() < 2) return std::nullopt;
  ScaleFact fact;
  set_columns(fact, scales, scales);
  const auto width = static_cast<std::size_t>(sampled.width);
  fact.of_examples = width >= 3 && scales.back().deviation < hardly_any;
  for (std::size_t row = 0; fact.of_examples && row < static_cast<std::size_t>(sampled.rows()); ++row) {
    const auto begin = sampled.values.begin() + static_cast<std::ptrdiff_t>(row * width);
    fact.of_examples = is_normal({begin, begin + static_cast<std::ptrdiff_t>(width)});
  }
  if (fact.of_examples || (is_normal(sampled.values) && differ_by_orders(scales))) return fact;
  return std::nullopt;
}

}  // namespace

void read_scales(Past& past, const StepGraph& graph, const StepOp& layer, std::uint64_t tensor,
                 const Tensor& input, bool recompute, StepFacts& facts) {
  if (torch_name(layer).empty() && !is_argument(past, layer, "transpose_a", false)) return;
  const SampledRows after = sampled_rows(input);
  if (after.rows() == 0) return;
  const Normalisation normalisation = normalisation_behind(past, tensor);
  const std::vector<ColumnScale> scales = column_scales(after);
  std::optional<ScaleFact> fact;
  if (const StatisticUse* use = wrong_use(normalisation)) {
    if (element_count(shape_of_tensor(past, normalisation.data)) > most_raw_elements) return;
    const Tensor data = step_value(past, normalisation.data, recompute, facts);
    const std::vector<ColumnScale> before =
        data ? column_scales(sampled_rows(data)) : std::vector<ColumnScale>();
    if (!differ_by_orders(before)) return;
    fact.emplace();
    set_columns(*fact, before, scales);
    fact->place = scale_place(*use->op);
    fact->statistic = scale_place(*use->statistic);
    fact->of_examples = use->of_examples();
    fact->subtracts = use->subtracts;
    fact->operand.assign(use->shape.begin(), use->shape.end());
  } else if (normalisation.uses.empty()) {
    fact = normalised_outside(after, scales);
    if (fact) fact->place = graph.place(layer);
  }
  if (!fact || !is_data_alone(past, tensor)) return;
  fact->layer = graph.place(layer);
  fact->shape = graph.shape(tensor);
  facts.scales.push_back(std::move(*fact));
}

}  // namespace tapedeck::debug
