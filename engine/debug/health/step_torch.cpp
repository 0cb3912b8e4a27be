// What the ops of PyTorch are to the rules: layers, losses, dropout and batch normalisation.
#include <algorithm>
#include <array>

#include "engine/debug/health/step_reader.h"
#include "engine/debug/why/elements.h"
#include "engine/ops/core/foreign.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_hops_to_noise = 4;

/// The weight, or a view of it that has its numbers in another order.
bool is_weight_of_layer(const StepGraph& graph, std::uint64_t tensor) {
  constexpr std::array<std::string_view, 4> turning = {"t", "transpose", "permute", "view"};
  const StepOp* op = graph.maker(tensor);
  while (op && op->inputs.size() == 1 && std::ranges::find(turning, torch_name(*op)) != turning.end()) {
    tensor = op->inputs[0];
    op = graph.maker(tensor);
  }
  return graph.is_source(tensor);
}

/// The softmax whose logarithm a tensor is.
const StepOp* log_softmax_behind(const StepGraph& graph, std::uint64_t tensor) {
  const StepOp* op = graph.maker_of_numbers(tensor);
  return op && torch_name(*op) == "_log_softmax" ? op : nullptr;
}

}  // namespace

std::string torch_name(const StepOp& op) {
  return op.kind == EventKind::op && op.op && is_foreign(*op.op) ? short_name(*op.op) : std::string();
}

const Attribute* argument_of(Past& past, const StepOp& op, AttributeName name) {
  const RecordView* record = past.record(op.number);
  const auto place = record && record->head.op ? record->head.op->find_place(name) : std::nullopt;
  return place && *place < record->head.attributes.size() ? &record->head.attributes[*place] : nullptr;
}

bool is_argument(Past& past, const StepOp& op, AttributeName name, const Attribute& value) {
  const Attribute* found = argument_of(past, op, name);
  return found && *found == value;
}

std::uint64_t before_expansion(const StepGraph& graph, std::uint64_t tensor) {
  const StepOp* op = graph.maker(tensor);
  return op && torch_name(*op) == "expand" && !op->inputs.empty() ? op->inputs[0] : tensor;
}

std::uint64_t torch_layer_input(const StepGraph& graph, const StepOp& op) {
  const std::string name = torch_name(op);
  if (name == "addmm" && op.inputs.size() == 3)
    return is_weight_of_layer(graph, op.inputs[2]) ? op.inputs[1] : 0;
  if ((name == "mm" || name == "convolution" || name == "linear") && op.inputs.size() >= 2)
    return is_weight_of_layer(graph, op.inputs[1]) ? op.inputs[0] : 0;
  return 0;
}

std::optional<TorchLabels> torch_labels(Past& past, const StepGraph& graph, const StepOp& op) {
  const std::string name = torch_name(op);
  if (name.empty() || op.inputs.size() < 2 || op.outputs.empty()) return std::nullopt;
  TorchLabels found;
  if (name == "nll_loss_forward" || name == "nll_loss2d_forward") {
    const std::vector<std::int64_t> shape = graph.shape(op.inputs[0]);
    found.labels = op.inputs[1];
    found.numbers = true;
    found.classes = shape.size() > 1 ? shape[1] : shape.empty() ? 0 : shape[0];
    found.squash = log_softmax_behind(graph, op.inputs[0]);
    if (const Attribute* ignored = argument_of(past, op, "ignore_index"))
      if (const auto* number = std::get_if<std::int64_t>(ignored))
        found.ignored = static_cast<double>(*number);
  } else if (name == "binary_cross_entropy_with_logits" || name == "binary_cross_entropy") {
    found.labels = before_expansion(graph, op.inputs[1]);
    found.yes_or_no = true;
    found.classes = 2;
  } else if (name == "mul") {  // cross_entropy() of shares
    for (const std::size_t log : {std::size_t{0}, std::size_t{1}}) {
      found.squash = log_softmax_behind(graph, op.inputs[log]);
      found.labels = op.inputs[1 - log];
      if (found.squash) break;
    }
    const std::vector<std::int64_t> shape = graph.shape(found.labels);
    if (!found.squash || shape.size() != 2 || shape != graph.shape(found.squash->outputs[0]))
      return std::nullopt;
    found.classes = shape.back();
  } else {
    return std::nullopt;
  }
  if (found.classes < 2 || graph.depends(found.labels)) return std::nullopt;
  return found;
}

bool is_torch_batch_norm(const StepOp& op) {
  const std::string name = torch_name(op);
  return name.ends_with("batch_norm") || name == "_batch_norm_with_update" ||
         name.starts_with("_native_batch_norm_legit");
}

bool takes_batch_statistics(Past& past, const StepOp& op) {
  const std::string name = torch_name(op);
  if (name.ends_with("_no_training")) return false;
  return name == "_batch_norm_with_update" || is_argument(past, op, "training", true);
}

// On a CPU: noise = bernoulli_(1 - p), then div_(1 - p), and the input times the noise.
const StepOp* torch_dropout(Past& past, const StepGraph& graph, const StepOp& op) {
  const std::string name = torch_name(op);
  if (name == "native_dropout") return is_argument(past, op, "train", false) ? nullptr : &op;
  if ((name != "mul" && name != "mul_") || op.inputs.size() != 2) return nullptr;
  const StepOp* noise = graph.maker(op.inputs[1]);
  for (std::size_t hop = 0; noise && hop < most_hops_to_noise; ++hop) {
    if (torch_name(*noise) == "bernoulli_") return &op;
    if (torch_name(*noise) != "div_" || noise->inputs.empty()) return nullptr;
    noise = graph.maker(noise->inputs[0]);
  }
  return nullptr;
}

}  // namespace tapedeck::debug
