#include "engine/debug/health/replayed.h"

#include <algorithm>

#include "engine/ops/core/foreign.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t step_records_at_once = 8192;
constexpr std::size_t most_assignments_read = std::size_t{1} << 16;

}  // namespace

StepReplay::Found StepReplay::collect(const TrainingStep& step, const CancelFlag* cancel) const {
  Found found;
  const auto take = [&](const RecordGlance& record) {
    if (record.state != RecordState::done) return;
    const std::vector<std::uint64_t> inputs(record.inputs.begin(), record.inputs.end());
    if (record.head.kind == EventKind::playback)
      found.playbacks.push_back(
          {record.number, record.head.location, inputs, {record.outputs.begin(), record.outputs.end()}});
    if (record.head.kind != EventKind::op || inputs.empty() || record.outputs.empty()) return;
    const OpDef* op = record.head.op;
    if (found.first_write == 0 && is_foreign(*op) && is_update(op, record.head.scope, record.head.backward))
      found.first_write = record.outputs[0];
    if (const std::size_t gradient = update_gradient_place(*op))
      found.updates.push_back({record.number, inputs[0], inputs[gradient], record.outputs[0]});
    else if (record.head.tape != 0 && !record.head.backward && op->facts.activation != Activation::none)
      found.activations.push_back(
          {record.number, op, inputs[0], record.outputs[0], record.head.scope, record.head.location});
  };
  for (std::uint32_t next = step.first; next <= step.last;) {
    check_cancelled(cancel);
    const std::uint32_t after =
        recorder_.trace().glance(next, std::min(step.last, next + step_records_at_once - 1), take);
    if (after <= next) break;
    next = after;
  }
  return found;
}

// Only the newest assignments are remembered, but the same line asks for the same variables each time.
std::vector<std::uint64_t> StepReplay::variables_of(const Playback& playback,
                                                    const std::vector<std::uint64_t>& sources) {
  const DataFlowLog& data_flow = recorder_.data_flow();
  const auto ids_of = [&](const std::vector<std::uint64_t>& values) {
    std::vector<std::uint64_t> ids;
    for (const std::uint64_t value : values)
      if (const auto assignment = data_flow.assignment_of(value)) ids.push_back(assignment->variable);
    return ids;
  };
  if (std::vector<std::uint64_t> ids = ids_of(sources); ids.size() == sources.size()) return ids;
  const auto [known, fresh] = known_.try_emplace({playback.location, sources.size()});
  if (!fresh) return known->second;
  const std::uint32_t newest = data_flow.newest_playback();
  constexpr std::uint32_t records_back = 1 << 16;
  const std::vector<RequestedGradients> asked =
      data_flow.requests_after(newest > records_back ? newest - records_back : 0, 4096);
  for (auto at = asked.rbegin(); at != asked.rend() && known->second.empty(); ++at) {
    bool same = false;
    recorder_.trace().glance(at->playback, at->playback, [&](const RecordGlance& record) {
      same = record.head.location == playback.location && at->sources.size() == sources.size();
    });
    if (std::vector<std::uint64_t> ids = ids_of(at->sources); same && ids.size() == sources.size())
      known->second = std::move(ids);
  }
  return known->second;
}

// PyTorch's optimisers write into a variable in several ops: what it was before the step, and after it.
std::vector<HandUpdate> StepReplay::foreign_updates(
    const TrainingStep& step, const Found& found,
    const std::map<std::uint64_t, HealthSubject>& variables) const {
  std::map<std::uint64_t, HandUpdate> updates;  // by variable
  if (found.first_write == 0) return {};
  std::map<std::uint64_t, std::uint64_t> before;  // values by variable
  for (const auto& [value, subject] : variables) before[subject.variable] = value;
  for (const Assignment& assignment :
       recorder_.data_flow().assignments_after(found.first_write, most_assignments_read)) {
    if (assignment.after > step.last) break;
    const auto source = before.find(assignment.variable);
    if (source != before.end())
      updates[assignment.variable] = {assignment.variable, source->second, assignment.leaf, assignment.after};
  }
  std::vector<HandUpdate> all;
  for (const auto& [unused, update] : updates) all.push_back(update);
  return all;
}

void StepReplay::sample(const TrainingStep& step, const std::vector<HandUpdate>& by_hand,
                        const FindHealthValue& find, const CancelFlag* cancel) {
  const HealthPast past{recorder_.trace(), recorder_.values(), recorder_.data_flow()};
  if (step.first < past.trace.oldest_kept())
    throw ValueError("gone", "Its records were forgotten when the recording passed its number of records.");
  const Found found = collect(step, cancel);
  HealthBatch batch(past, recorder_.health());
  std::map<std::uint64_t, HealthSubject> variables;  // by value
  std::vector<std::vector<std::uint64_t>> all_sources;
  for (const Playback& playback : found.playbacks) {
    all_sources.push_back(past.data_flow.sources_of(playback.record));
    const std::vector<std::uint64_t> ids = variables_of(playback, all_sources.back());
    for (std::size_t i = 0; i < std::min(ids.size(), all_sources.back().size()); ++i) {
      const auto subject = variable_subject(past, all_sources.back()[i], ids[i]);
      if (!subject) continue;
      variables[all_sources.back()[i]] = *subject;
      batch.know(all_sources.back()[i], ids[i]);
    }
  }
  for (const ActivationCall& call : found.activations) {
    check_cancelled(cancel);
    batch.activation(call, find(call.output));
  }
  for (std::size_t k = 0; k < found.playbacks.size(); ++k) {
    const Playback& playback = found.playbacks[k];
    const std::vector<std::uint64_t>& sources = all_sources[k];
    if (playback.targets.size() == 1)
      batch.loss(playback.record, playback.location, find(playback.targets[0]));
    for (std::size_t i = 0; i < std::min(sources.size(), playback.gradients.size()); ++i) {
      check_cancelled(cancel);
      const auto known = variables.find(sources[i]);
      const auto subject =
          known == variables.end() ? variable_subject(past, sources[i]) : std::optional(known->second);
      if (!subject) continue;
      const std::uint64_t gradient = playback.gradients[i];
      batch.gradient(*subject, playback.record, gradient, gradient ? find(gradient) : Tensor(), true);
    }
  }
  for (const Update& update : found.updates) {
    check_cancelled(cancel);
    const auto known = variables.find(update.before);
    const auto subject =
        known == variables.end() ? variable_subject(past, update.before) : std::optional(known->second);
    if (!subject) continue;
    batch.given_gradient(*subject, update.record, find(update.gradient));
    batch.update(*subject, update.record, find(update.before), find(update.now));
  }
  for (const HandUpdate& update : foreign_updates(step, found, variables))
    if (const auto subject = variable_subject(past, update.now, update.variable))
      batch.update(*subject, update.record, find(update.before), find(update.now));
  for (const HandUpdate& update : by_hand)
    if (const auto subject = variable_subject(past, update.now, update.variable))
      batch.update(*subject, update.record, find(update.before), find(update.now));
  batch.write(false, true);
  recorder_.health().mark({step.playback ? step.playback : step.last, true});  // also where nothing was found
}

}  // namespace tapedeck::debug
