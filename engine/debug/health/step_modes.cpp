// Dropout and batch normalisation: where they do what belongs into training, and where not.
#include <algorithm>

#include "engine/debug/health/step_reader.h"
#include "engine/debug/why/elements.h"
#include "engine/record/health/health_batch.h"
#include "engine/record/trace/scope.h"

namespace tapedeck::debug {
namespace {

bool disturbs(const StepOp& op) {
  return is_named(op, "dropout") || is_named(op, "batch_norm");
}

/// "layer/moving_variance" without its last part; nothing for another variable.
std::optional<std::string> layer_of_variance(const std::string& variable) {
  constexpr std::string_view name = "moving_variance";
  if (!variable.ends_with(name)) return std::nullopt;
  std::string layer = variable.substr(0, variable.size() - name.size());
  if (layer.ends_with('/')) layer.pop_back();
  return layer;
}

bool is_all(const Tensor& tensor, double value) {
  bool all = true;
  visit_elements(tensor, [&](const auto* at, std::int64_t count) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(*at)>>)
      for (std::int64_t i = 0; i < count; ++i) all = all && static_cast<double>(at[i]) == value;
  });
  return all;
}

/// Statistics of 0 and 1 on the tape, of a layer whose scale or offset learns: nothing has moved them.
void read_initial_statistics(Past& past, const StepGraph& graph, bool recompute, StepFacts& facts) {
  const Recorder& recorder = past.recorder();
  const HealthPast known{recorder.trace(), recorder.values(), recorder.data_flow()};
  for (const StepOp& op : graph.ops()) {
    if (op.backward || op.inputs.empty() || !is_named(op, "add") || graph.is_source(op.inputs[0])) continue;
    const TensorOrigin origin = recorder.trace().tensors().get(op.inputs[0]);
    if (!origin.is_leaf() || !origin.named()) continue;
    const auto subject = variable_subject(known, op.inputs[0]);
    const auto layer = subject ? layer_of_variance(subject->name) : std::nullopt;
    if (!layer || !graph.reaches_a_tape(op)) continue;
    const bool learns = std::ranges::any_of(facts.sources, [&](const SourceFact& source) {
      return source.name == *layer + (layer->empty() ? "gamma" : "/gamma") ||
             source.name == *layer + (layer->empty() ? "beta" : "/beta");
    });
    if (!learns) continue;
    const Tensor variance = step_value(past, op.inputs[0], recompute, facts);
    if (!variance || variance.count() == 0 || !is_all(variance, 1)) continue;
    facts.modes.push_back({graph.place(op), ModeTrouble::initial_statistics, *layer});
  }
}

/// PyTorch's: the batch normalisation of a layer that learns has running statistics of 0 and 1.
void read_initial_running_statistics(Past& past, const StepGraph& graph, bool recompute, StepFacts& facts) {
  for (const StepOp& op : graph.ops()) {
    if (op.backward || op.tape == 0 || op.inputs.size() < 5 || !is_torch_batch_norm(op) ||
        takes_batch_statistics(past, op) || !graph.leads_to_target(op))
      continue;
    if (!graph.is_source(op.inputs[1]) && !graph.is_source(op.inputs[2])) continue;
    const Tensor mean = step_value(past, op.inputs[3], recompute, facts),
                 variance = step_value(past, op.inputs[4], recompute, facts);
    if (!mean || !variance || variance.count() == 0 || !is_all(mean, 0) || !is_all(variance, 1)) continue;
    facts.modes.push_back({graph.place(op), ModeTrouble::initial_statistics, scope_text(op.scope), true});
  }
}

/// Whether the op disturbs what it is given: dropout, or a batch's own statistics.
bool disturbs_in_torch(Past& past, const StepGraph& graph, const StepOp& op) {
  if (torch_name(op).empty()) return false;
  return is_torch_batch_norm(op) ? takes_batch_statistics(past, op)
                                 : torch_dropout(past, graph, op) != nullptr;
}

}  // namespace

void read_modes(Past& past, const StepGraph& graph, const StepToRead& step, StepFacts& facts) {
  for (const StepOp& op : graph.ops()) {
    if (op.backward || !(disturbs(op) || disturbs_in_torch(past, graph, op))) continue;
    if (op.tape != 0) {
      ++facts.disturbed;
      continue;
    }
    // Before the step's own forward pass: between two steps. What a tape uses later is no evaluation: a
    // generator's pictures for its critic.
    const bool between = !step.training || op.number < graph.first_on_tape();
    if (!between || graph.reaches_a_tape(op)) continue;
    facts.modes.push_back(
        {graph.place(op), ModeTrouble::disturbed_evaluation, scope_text(op.scope), !torch_name(op).empty()});
    if (torch_name(op).starts_with("mul")) facts.modes.back().place.op = "dropout";
  }
  if (!step.training) return;
  read_initial_statistics(past, graph, step.recompute, facts);
  read_initial_running_statistics(past, graph, step.recompute, facts);
}

}  // namespace tapedeck::debug
