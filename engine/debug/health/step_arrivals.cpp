// Gradients of PyTorch's that come on top of those of earlier steps: no zero_grad() was called in between.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "engine/debug/health/step_reader.h"
#include "engine/debug/why/elements.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/health/health_batch.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_arrivals_followed = 2000;
constexpr std::int64_t most_arrival_elements = 1 << 20;

/// The sum that AccumulateGrad makes where the leaf has a gradient already.
bool adds_to_a_gradient(const OpDef* op, std::span<const std::uint64_t> inputs) {
  return op && is_foreign(*op) && inputs.size() == 2 &&
         (op->name == "aten.add_.Tensor" || op->name == "aten.add.Tensor");
}

/// The playback's step adds `gradient` to `sum`, which makes `result`.
struct Arrival {
  std::uint32_t record = 0, playback = 0;
  std::uint64_t sum = 0, gradient = 0, result = 0;
};

std::vector<Arrival> arrivals_in(Past& past, const StepToRead& step) {
  std::vector<Arrival> found;
  const Trace& trace = past.recorder().trace();
  for (std::uint32_t next = step.first; next <= step.last;) {
    check_cancelled(past.cancel());
    constexpr std::uint32_t at_once = 4096;
    const std::uint32_t after =
        trace.glance(next, std::min(step.last, next + at_once - 1), [&](const RecordGlance& record) {
          const RecordHead& head = record.head;
          // In no VJP: the playback's own.
          if (record.state == RecordState::done && head.kind == EventKind::op && head.backward &&
              head.depth == 1 && adds_to_a_gradient(head.op, record.inputs) && !record.outputs.empty())
            found.push_back(
                {record.number, head.parent, record.inputs[0], record.inputs[1], record.outputs[0]});
        });
    if (after <= next) break;
    next = after;
  }
  return found;
}

/// How many sums of that kind are below it, one of a step after the other.
std::uint64_t sums_below(Past& past, std::uint64_t sum) {
  std::uint64_t count = 0;
  while (count < most_arrivals_followed) {
    check_cancelled(past.cancel());
    const RecordView* record = past.maker(sum);
    if (!record || record->head.kind != EventKind::op || !record->head.backward ||
        !adds_to_a_gradient(record->head.op, {record->inputs.data(), record->inputs.size()}))
      break;
    ++count;
    sum = record->inputs[0];
  }
  return count;
}

/// Whether the program set the sum back, to zeros or to a share of itself: by a number, not by the one that
/// clipping computes.
bool begins_anew(Past& past, const RecordView& before) {
  if (!before.head.op || before.head.backward || !is_foreign(*before.head.op)) return false;
  const std::string name = short_name(*before.head.op);
  const bool scaled = (name == "mul_" && (before.inputs.size() < 2 || !past.maker(before.inputs[1]))) ||
                      before.head.op->name == "aten._foreach_mul_.Scalar";
  return scaled || name == "zero_" || name == "_foreach_zero_" || name == "fill_" || name == "copy_";
}

double norm_of(const Tensor& tensor) {
  double sum = 0;
  for (const double value : tensor.to_vector()) sum += value * value;
  return std::sqrt(sum);
}

}  // namespace

void read_arrivals(Past& past, const StepGraph& graph, const StepToRead& step, StepFacts& facts) {
  const std::vector<Arrival> arrivals = arrivals_in(past, step);
  if (arrivals.empty()) return;
  const Recorder& recorder = past.recorder();
  const HealthPast known{recorder.trace(), recorder.values(), recorder.data_flow()};
  std::unordered_set<std::uint64_t> taken;  // by an optimiser
  for (const StepOp& op : graph.ops())
    if (op.op && !op.backward && op.scope && scope_text(op.scope).ends_with(".step"))
      taken.insert(op.inputs.begin(), op.inputs.end());
  for (const Arrival& arrival : arrivals) {
    const RecordView* before = past.maker(arrival.sum);
    // Within a step sums are meant: a batch in parts.
    if (!before || before->number >= step.first || begins_anew(past, *before)) continue;
    const bool by_hand = !taken.contains(arrival.result);
    if (by_hand && !reaches_an_update(past, graph, step, {arrival.result}, arrival.record)) continue;
    const RecordView* playback = past.record(arrival.playback);
    if (!playback) continue;
    const std::vector<std::uint64_t> sources = recorder.data_flow().sources_of(arrival.playback);
    const auto place = std::ranges::find(playback->outputs, arrival.gradient);
    const auto index = static_cast<std::size_t>(place - playback->outputs.begin());
    const auto subject =
        index < sources.size() ? variable_subject(known, sources[index]) : std::optional<HealthSubject>();
    if (!subject) continue;
    SumFact fact;
    fact.place.record = arrival.record;
    fact.place.location = playback->head.location;
    fact.place.line = location_of(fact.place.location).line;
    fact.place.op = "autograd.AccumulateGrad";
    fact.in_grad = true;
    fact.by_hand = by_hand;
    fact.variable = subject->name;
    fact.steps = 2 + sums_below(past, arrival.sum);
    StepFacts unused;
    const Tensor sum = step_value(past, arrival.result, step.recompute, unused);
    const Tensor own = step_value(past, arrival.gradient, step.recompute, unused);
    if (sum && own && sum.count() <= most_arrival_elements && norm_of(own) > 0)
      fact.times = norm_of(sum) / norm_of(own);
    facts.sums.push_back(std::move(fact));
  }
}

}  // namespace tapedeck::debug
