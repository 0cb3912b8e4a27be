// Gradients of PyTorch's that were cleared between the playback and the optimiser's step: zero_grad() came
// too late.
#include <algorithm>

#include "engine/debug/health/step_reader.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/health/health_batch.h"
#include "engine/record/trace/scope.h"

namespace tapedeck::debug {
namespace {

using Gradients = std::map<std::uint64_t, SourceFact>;

constexpr int most_writes_behind = 4;  // into a gradient: what clips it, say

/// Whose gradient the tensor is; nullptr: of none that a playback of this step gave.
const SourceFact* variable_of(Past& past, const Gradients& gradients, std::uint64_t tensor) {
  for (int i = 0; i < most_writes_behind; ++i) {
    if (const auto found = gradients.find(tensor); found != gradients.end()) return &found->second;
    const RecordView* record = past.maker(tensor);
    if (!record || record->head.kind != EventKind::op || !record->head.op || record->inputs.empty()) break;
    if (record->head.backward)  // AccumulateGrad adds it to the sum, or keeps it behind a detach()
      for (const std::uint64_t input : record->inputs)
        if (const auto found = gradients.find(input); found != gradients.end()) return &found->second;
    const ForeignOp* op = foreign_of(*record->head.op);
    if (!op || !op->writes) break;
    tensor = record->inputs[std::min(Past::output_of(*record, tensor), record->inputs.size() - 1)];
  }
  return nullptr;
}

bool is_of_optimiser(const StepOp& op) {
  return op.op && is_foreign(*op.op) && !op.backward && op.scope && scope_text(op.scope).ends_with(".step");
}

void name_variable(ClearedFact& fact, const SourceFact& source) {
  if (std::ranges::find(fact.variables, source.name) == fact.variables.end())
    fact.variables.push_back(source.name);
  fact.arrival = source.place;
}

/// Zeros that an optimiser reads, where no playback added to them since, and it reads no gradient of this
/// step.
void read_zeroed(Past& past, const StepGraph& graph, const Gradients& gradients, StepFacts& facts) {
  std::map<std::uint64_t, std::pair<const StepOp*, const SourceFact*>> zeros;
  ClearedFact fact;
  for (const StepOp& op : graph.ops()) {
    if (op.kind == EventKind::playback) zeros.clear();
    const std::string name = torch_name(op);
    if (!op.backward && (name == "zero_" || name == "_foreach_zero_")) {
      for (std::size_t k = 0; k < std::min(op.inputs.size(), op.outputs.size()); ++k)
        if (const SourceFact* source = variable_of(past, gradients, op.inputs[k]))
          zeros[op.outputs[k]] = {&op, source};
    } else if (is_of_optimiser(op)) {
      for (const std::uint64_t input : op.inputs) {
        if (const auto zero = zeros.find(input); zero != zeros.end()) {
          if (fact.variables.empty()) fact.place = graph.place(*zero->second.first);
          name_variable(fact, *zero->second.second);
        } else if (!graph.is_source(input) && variable_of(past, gradients, input)) {
          return;
        }
      }
    }
  }
  if (!fact.variables.empty()) facts.cleared.push_back(std::move(fact));
}

/// A step of an optimiser whose parameters had gradients in the playback before, and have none (None).
void read_removed(Past& past, const StepGraph& graph, const Gradients& gradients, StepFacts& facts) {
  const Recorder& recorder = past.recorder();
  const HealthPast known{recorder.trace(), recorder.values(), recorder.data_flow()};
  std::uint64_t playback = 0;
  for (const StepOp& op : graph.ops()) {
    if (op.kind == EventKind::playback) playback = op.number;
    if (torch_name(op) != "step_without_gradients" || !playback) continue;
    ClearedFact fact;
    fact.none = true;
    fact.place = graph.place(op);
    for (const std::uint64_t parameter : op.inputs) {
      const auto subject = variable_subject(known, parameter);
      if (!subject || subject->variable == 0) continue;
      for (const auto& [gradient, source] : gradients)
        if (source.variable == subject->variable && source.place.record == playback)
          name_variable(fact, source);
    }
    if (!fact.variables.empty()) facts.cleared.push_back(std::move(fact));
    playback = 0;
  }
}

}  // namespace

void read_cleared(Past& past, const StepGraph& graph, StepFacts& facts) {
  const Gradients gradients = gradients_of_step(past, graph);
  if (gradients.empty()) return;
  read_zeroed(past, graph, gradients, facts);
  read_removed(past, graph, gradients, facts);
}

}  // namespace tapedeck::debug
