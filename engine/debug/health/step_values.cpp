// Labels of cross entropies, and what the first layer gets: a few numbers of their values.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/debug/health/step_reader.h"
#include "engine/debug/why/elements.h"

namespace tapedeck::debug {
namespace {

constexpr std::int64_t most_label_elements = 1 << 20, most_input_elements = 32768, most_columns_read = 4096;
/// Larger tensors take too long on their way from a GPU.
constexpr std::int64_t most_value_elements = 1 << 26;

double entropy_term(double share) {
  return share > 0 ? -share * std::log(share) : 0;
}

std::vector<double> label_values(const Tensor& labels) {
  std::vector<double> values;
  visit_elements(labels, [&](const auto* at, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(*at)>>)
        values.push_back(static_cast<double>(at[i]));
    }
  });
  return values;
}

/// Numbers of classes.
void count_numbers(const std::vector<double>& values, std::optional<double> ignored, LabelFact& fact) {
  fact.counts.assign(static_cast<std::size_t>(fact.classes), 0);
  for (const double value : values) {
    if (!(value >= 0 && value < static_cast<double>(fact.classes)) || value == ignored) continue;
    fact.counts[static_cast<std::size_t>(value)] += 1;
    fact.examples += 1;
  }
}

/// Rows of shares of the classes, or columns of yes or no.
void count_shares(const std::vector<double>& values, std::int64_t columns, LabelFact& fact) {
  fact.counts.assign(static_cast<std::size_t>(columns), 0);
  double own = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    fact.counts[i % static_cast<std::size_t>(columns)] += values[i];
    own += entropy_term(values[i]);
    if (fact.yes_or_no) own += entropy_term(1 - values[i]);
  }
  fact.examples = static_cast<double>(values.size()) / static_cast<double>(columns);
  if (fact.examples > 0)
    fact.own_entropy = own / fact.examples / (fact.yes_or_no ? static_cast<double>(columns) : 1);
}

/// A loss of labels and what is given for them.
struct LabelledOp {
  const StepOp* op = nullptr;
  std::uint64_t labels = 0;
  std::int64_t classes = 0;
  bool numbers = false, yes_or_no = false;
  const StepOp* squash = nullptr;  ///< of a loss that is written as a product with a logarithm
  std::optional<double> ignored = std::nullopt;
};

/// Whether a product's operand is the logarithm of a softmax or sigmoid, over whatever bounds and sums to 1.
const StepOp* squash_behind_log(const StepGraph& graph, std::uint64_t operand) {
  const StepOp* op = graph.maker_of_numbers(operand);
  if (!op || op->inputs.empty() || !is_named(*op, "log")) return nullptr;
  for (op = graph.maker_of_numbers(op->inputs[0]); op && !op->inputs.empty();
       op = graph.maker_of_numbers(op->inputs[0])) {
    if (is_named(*op, "softmax") || is_named(*op, "sigmoid")) return op;
    if (!is_named(*op, "clip_by_value") && !is_named(*op, "divide")) return nullptr;
  }
  return nullptr;
}

std::optional<LabelledOp> labelled(Past& past, const StepGraph& graph, const StepOp& op) {
  if (op.inputs.size() < 2 || op.outputs.empty()) return std::nullopt;
  if (const auto torch = torch_labels(past, graph, op))
    return LabelledOp{&op,           torch->labels, torch->classes, torch->numbers, torch->yes_or_no,
                      torch->squash, torch->ignored};
  LabelledOp found;
  found.op = &op;
  found.labels = op.inputs[0];
  const bool sparse = is_named(op, "sparse_softmax_cross_entropy_with_logits");
  const bool softmax = is_named(op, "softmax_cross_entropy_with_logits");
  found.yes_or_no = is_named(op, "sigmoid_cross_entropy_with_logits");
  found.numbers = sparse;
  if (sparse || softmax || found.yes_or_no) {
    const std::vector<std::int64_t> logits = graph.shape(op.inputs[1]);
    if (logits.empty()) return std::nullopt;
    found.classes = found.yes_or_no ? 2 : logits.back();
    return graph.depends(op.inputs[0]) ? std::nullopt : std::optional(found);
  }
  if (!is_named(op, "multiply")) return std::nullopt;
  for (const std::size_t log : {std::size_t{0}, std::size_t{1}}) {
    const std::uint64_t labels = op.inputs[1 - log];
    if (graph.depends(labels) || graph.shape(labels).empty() ||
        graph.shape(labels) != graph.shape(op.inputs[log]))
      continue;
    const StepOp* squash = squash_behind_log(graph, op.inputs[log]);
    if (!squash) continue;
    found.labels = labels;
    found.squash = squash;
    found.yes_or_no = is_named(*squash, "sigmoid");
    found.classes = found.yes_or_no ? 2 : graph.shape(labels).back();
    return found;
  }
  return std::nullopt;
}

/// Of the columns of the last axis: sums of squares, least and most.
struct Columns {
  explicit Columns(std::size_t count)
      : squares(count),
        seen(count),
        least(count, std::numeric_limits<double>::infinity()),
        most(count, -std::numeric_limits<double>::infinity()) {}
  void take(std::size_t column, double value) {
    squares[column] += value * value;
    seen[column] += 1;
    least[column] = std::min(least[column], value);
    most[column] = std::max(most[column], value);
  }
  double root_mean_square(std::size_t column) const {
    return seen[column] > 0 ? std::sqrt(squares[column] / seen[column]) : 0;
  }
  std::vector<double> squares, seen, least, most;
};

InputFact measured_input(const Tensor& value) {
  InputFact fact;
  fact.shape.assign(value.shape().begin(), value.shape().end());
  const std::int64_t width = fact.shape.empty() ? 1 : fact.shape.back();
  const bool narrow = width > 0 && width <= most_columns_read;
  const std::int64_t rows = width > 0 ? value.count() / width : 0;
  // Whole rows where there are columns, so that each column gets as many.
  const std::int64_t read_rows =
      narrow ? std::min(rows, std::max<std::int64_t>(1, most_input_elements / width)) : 1;
  Columns columns(narrow ? static_cast<std::size_t>(width) : 1);
  double sum = 0, squares = 0, count = 0;
  visit_elements(value, [&](const auto* at, std::int64_t all) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(*at)>>) {
      const auto take = [&](std::int64_t place, std::int64_t column) {
        const double x = static_cast<double>(at[place]);
        if (!std::isfinite(x)) return;
        sum += x;
        squares += x * x;
        count += 1;
        columns.take(static_cast<std::size_t>(column), x);
      };
      if (narrow)
        for (std::int64_t i = 0; i < read_rows; ++i)
          for (std::int64_t column = 0; column < width; ++column)
            take(i * rows / read_rows * width + column, column);
      else
        for (std::int64_t i = 0; i < std::min(all, most_input_elements); ++i)
          take(i * all / std::min(all, most_input_elements), 0);
    }
  });
  if (count == 0) return fact;
  fact.mean = sum / count;
  fact.root_mean_square = std::sqrt(squares / count);
  fact.least = std::ranges::min(columns.least);
  fact.most = std::ranges::max(columns.most);
  if (!narrow || width == 1 || fact.shape.size() != 2) return fact;
  for (std::size_t column = 0; column < columns.seen.size(); ++column) {
    if (columns.root_mean_square(column) <= fact.column_root_mean_square) continue;
    fact.column = static_cast<std::int64_t>(column);
    fact.column_root_mean_square = columns.root_mean_square(column);
    fact.column_least = columns.least[column];
    fact.column_most = columns.most[column];
  }
  return fact;
}

/// Whether an embedding on the way to the loss looks up those very numbers.
void read_echo(Past& past, const StepGraph& graph, const StepOp& loss, const std::vector<std::int64_t>& shape,
               const std::vector<double>& labels, bool recompute, StepFacts& facts) {
  constexpr std::size_t least_labels_compared = 16;
  if (labels.size() < least_labels_compared || std::ranges::count(labels, labels[0]) == std::ssize(labels))
    return;
  for (const StepOp& op : graph.ops()) {
    const bool is_lookup = is_named(op, "gather") || torch_name(op) == "embedding";
    if (op.backward || !is_lookup || op.inputs.size() < 2 || !graph.is_source(op.inputs[0]) ||
        !graph.leads_to_target(op))
      continue;
    // PyTorch's loss takes labels of a row each.
    if (torch_name(op).empty() && graph.shape(op.inputs[1]) != shape) continue;
    const Tensor ids = step_value(past, op.inputs[1], recompute, facts);
    if (!ids || label_values(ids) != labels) continue;
    facts.echoes.push_back({graph.place(op), graph.place(loss), std::ssize(labels)});
    return;
  }
}

/// What a layer's weights are multiplied with, where no weight made it.
void read_input(Past& past, const StepGraph& graph, const StepOp& layer, std::uint64_t input,
                bool has_columns, bool recompute, StepFacts& facts) {
  if (graph.depends(input) || !graph.is_floating_point(input)) return;
  double count = 1;
  for (const std::int64_t extent : graph.shape(input)) count *= static_cast<double>(extent);
  if (count < 2 || count > static_cast<double>(most_value_elements)) return;
  const Tensor value = step_value(past, input, recompute, facts);
  if (!value) return;
  if (has_columns) read_scales(past, graph, layer, input, value, recompute, facts);
  InputFact fact = measured_input(value);
  fact.place = graph.place(layer);
  facts.inputs.push_back(std::move(fact));
}

}  // namespace

void read_labels(Past& past, const StepGraph& graph, bool recompute, StepFacts& facts) {
  constexpr std::size_t most_losses_read = 4;
  for (const StepOp& op : graph.ops()) {
    if (op.backward || !graph.leads_to_target(op) || facts.labels.size() >= most_losses_read) continue;
    const auto found = labelled(past, graph, op);
    if (!found || found->classes < 2) continue;
    LabelFact fact;
    fact.place = graph.place(op);
    fact.classes = found->classes;
    fact.yes_or_no = found->yes_or_no;
    const Tensor labels = step_value(past, found->labels, recompute, facts);
    if (labels && labels.count() > 0 && labels.count() <= most_label_elements) {
      const std::vector<std::int64_t> shape = graph.shape(found->labels);
      const std::vector<double> values = label_values(labels);
      if (found->numbers) {
        count_numbers(values, found->ignored, fact);
        read_echo(past, graph, op, shape, values, recompute, facts);
      } else
        count_shares(values, found->yes_or_no && shape.size() < 2 ? 1 : shape.back(), fact);
      if (found->squash && !found->yes_or_no)
        read_axis(past, graph, *found->squash, labels, found->numbers, recompute, facts);
    }
    facts.labels.push_back(std::move(fact));
  }
}

void read_inputs(Past& past, const StepGraph& graph, bool recompute, StepFacts& facts) {
  constexpr std::array<std::string_view, 3> layers = {"matmul", "conv2d", "depthwise_conv2d_native"};
  constexpr std::size_t most_inputs_read = 4;
  for (const StepOp& op : graph.ops()) {
    if (op.backward || op.tape == 0 || op.inputs.size() < 2 || facts.inputs.size() >= most_inputs_read)
      continue;
    if (const std::uint64_t input = torch_layer_input(graph, op))
      read_input(past, graph, op, input, torch_name(op) != "convolution", recompute, facts);
    if (std::ranges::none_of(layers, [&](std::string_view name) { return is_named(op, name); })) continue;
    for (const std::size_t data : {std::size_t{0}, std::size_t{1}}) {
      const std::uint64_t input = op.inputs[data];
      if (graph.is_source(op.inputs[1 - data]))
        read_input(past, graph, op, input, data == 0 && is_named(op, "matmul"), recompute, facts);
    }
  }
}

}  // namespace tapedeck::debug
