// What a step's updates are made of: gradients of earlier steps, and which way they go.
#include <algorithm>
#include <cmath>
#include <map>

#include "engine/debug/health/step_reader.h"
#include "engine/debug/why/elements.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/health/health_batch.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_sums_followed = 2000, most_directions_read = 4;
constexpr std::int64_t most_direction_elements = 1 << 20;

/// The gradient that a summand is, or is a multiple of; 0: it is none.
std::uint64_t gradient_behind(const StepGraph& graph, const std::map<std::uint64_t, SourceFact>& gradients,
                              std::uint64_t tensor) {
  constexpr int most_factors = 4;
  for (int i = 0; i < most_factors; ++i) {
    if (gradients.contains(tensor)) return tensor;
    const StepOp* op = graph.maker_of_numbers(tensor);
    if (!op || op->inputs.empty()) return 0;
    if (gradients.contains(op->inputs[0])) return op->inputs[0];
    if (!is_named(*op, "multiply") && !is_named(*op, "divide") && !is_named(*op, "negative")) return 0;
    const auto given = std::ranges::find_if(
        op->inputs, [&](std::uint64_t input) { return gradients.contains(input) || graph.maker(input); });
    if (given == op->inputs.end()) return 0;
    tensor = *given;
  }
  return 0;
}

bool is_same_add(const RecordView* earlier, const StepOp& add) {
  return earlier && earlier->number < add.number && earlier->head.op == add.op &&
         earlier->head.location == add.location && earlier->inputs.size() == 2;
}

double norm_of_values(const Tensor& tensor) {
  double sum = 0;
  for (const double value : tensor.to_vector()) sum += value * value;
  return std::sqrt(sum);
}

/// No fact is missing where such a value is gone: what it would add are numbers.
Tensor value_if_kept(Past& past, std::uint64_t tensor, bool recompute) {
  StepFacts unused;
  return tensor ? step_value(past, tensor, recompute, unused) : Tensor();
}

/// How often the add came before, one of a step after the other.
std::uint64_t earlier_adds(Past& past, const StepOp& add, std::size_t older) {
  std::uint64_t count = 0;
  for (const RecordView* at = maker_behind_assignment(past, add.inputs[older]);
       count < most_sums_followed && is_same_add(at, add);
       at = maker_behind_assignment(past, at->inputs[older])) {
    ++count;
    check_cancelled(past.cancel());
  }
  return count;
}

void read_sums(Past& past, const StepGraph& graph, const StepToRead& step,
               const std::map<std::uint64_t, SourceFact>& gradients, StepFacts& facts) {
  for (const StepOp& op : graph.ops()) {
    if (op.backward || !is_named(op, "add") || op.inputs.size() != 2 || op.outputs.empty()) continue;
    for (const std::size_t older : {std::size_t{0}, std::size_t{1}}) {
      const std::uint64_t gradient = gradient_behind(graph, gradients, op.inputs[1 - older]);
      // A variable and its own gradient: that is the update itself.
      if (gradient == 0 || graph.is_source(op.inputs[older]) || graph.maker(op.inputs[older])) continue;
      const RecordView* before = maker_behind_assignment(past, op.inputs[older]);
      if (!is_same_add(before, op) || before->number >= step.first) continue;
      if (!reaches_an_update(past, graph, step, {op.outputs.begin(), op.outputs.end()}, op.number)) continue;
      SumFact fact;
      fact.place = graph.place(op);
      fact.variable = gradients.at(gradient).name;
      fact.steps = 1 + earlier_adds(past, op, older);
      const Tensor sum = value_if_kept(past, op.outputs[0], step.recompute);
      const Tensor own = value_if_kept(past, op.inputs[1 - older], step.recompute);
      if (sum && own && sum.count() <= most_direction_elements && norm_of_values(own) > 0)
        fact.times = norm_of_values(sum) / norm_of_values(own);
      facts.sums.push_back(std::move(fact));
      break;
    }
  }
}

double cosine_of(const Tensor& change_from, const Tensor& change_to, const Tensor& gradient) {
  const std::vector<double> before = change_from.to_vector(), now = change_to.to_vector(),
                            slope = gradient.to_vector();
  if (before.size() != now.size() || now.size() != slope.size()) return std::nan("");
  double product = 0, moved = 0, size = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const double change = now[i] - before[i];
    product += change * slope[i];
    moved += change * change;
    size += slope[i] * slope[i];
  }
  return product / std::sqrt(moved * size);
}

FactPlace place_of_record(const RecordView& record) {
  FactPlace place;
  place.record = record.number;
  place.location = record.head.location;
  place.line = location_of(record.head.location).line;
  place.op = record.name();
  return place;
}

void read_directions(Past& past, const StepToRead& step, const std::map<std::uint64_t, SourceFact>& gradients,
                     StepFacts& facts) {
  for (const auto& [gradient, source] : gradients) {
    if (facts.directions.size() >= most_directions_read) return;
    const auto update = std::ranges::find(step.by_hand, source.variable, &HandUpdate::variable);
    double count = 1;
    for (const std::int64_t extent : source.shape) count *= static_cast<double>(extent);
    if (update == step.by_hand.end() || count > static_cast<double>(most_direction_elements)) continue;
    const RecordView* maker = maker_behind_assignment(past, update->now);
    if (!maker) continue;
    const Tensor before = value_if_kept(past, update->before, step.recompute),
                 now = value_if_kept(past, update->now, step.recompute),
                 slope = value_if_kept(past, gradient, step.recompute);
    if (!before || !now || !slope) continue;
    const double cosine = cosine_of(before, now, slope);
    if (std::isfinite(cosine))
      facts.directions.push_back({place_of_record(*maker), source.variable, source.name, cosine});
  }
}

void read_twice(Past& past, const StepGraph& graph, const StepToRead& step, StepFacts& facts) {
  const Recorder& recorder = past.recorder();
  const HealthPast known{recorder.trace(), recorder.values(), recorder.data_flow()};
  for (const StepOp& op : graph.ops()) {
    if (op.kind != EventKind::playback) continue;
    std::map<std::uint64_t, std::size_t> asked;
    for (const std::uint64_t source : recorder.data_flow().sources_of(op.number)) ++asked[source];
    for (const auto& [source, times] : asked) {
      const auto subject = times > 1 ? variable_subject(known, source) : std::nullopt;
      if (!subject || subject->variable == 0) continue;
      TwiceFact fact;
      fact.place = graph.place(op);
      fact.place.op = "playback";
      fact.variable = subject->variable;
      fact.name = subject->name;
      fact.shape.assign(subject->shape.begin(), subject->shape.end());
      fact.times = times;
      fact.updates = static_cast<std::size_t>(
          std::ranges::count(step.by_hand, subject->variable, &HandUpdate::variable));
      facts.twice.push_back(std::move(fact));
    }
  }
}

/// A program's own write into a variable, or into what is a view of it.
bool writes_into_a_source(const StepGraph& graph, const StepOp& op) {
  const ForeignOp* foreign = op.op ? foreign_of(*op.op) : nullptr;
  if (!foreign || !foreign->writes || op.inputs.empty()) return false;
  const StepOp* view = graph.maker(op.inputs[0]);  // p.data
  const bool shares = view && torch_name(*view) == "detach" && !view->inputs.empty();
  return graph.is_source(shares ? view->inputs[0] : op.inputs[0]);
}

}  // namespace

std::map<std::uint64_t, SourceFact> gradients_of_step(Past& past, const StepGraph& graph) {
  const Recorder& recorder = past.recorder();
  const HealthPast known{recorder.trace(), recorder.values(), recorder.data_flow()};
  std::map<std::uint64_t, SourceFact> found;
  for (const StepOp& op : graph.ops()) {
    if (op.kind != EventKind::playback) continue;
    const std::vector<std::uint64_t> sources = recorder.data_flow().sources_of(op.number);
    for (std::size_t i = 0; i < std::min(sources.size(), op.outputs.size()); ++i) {
      const auto subject = variable_subject(known, sources[i]);
      if (!subject || subject->variable == 0 || op.outputs[i] == 0) continue;
      SourceFact fact;
      fact.place = graph.place(op);
      fact.variable = subject->variable;
      fact.value = sources[i];
      fact.name = subject->name;
      fact.shape.assign(subject->shape.begin(), subject->shape.end());
      found[op.outputs[i]] = std::move(fact);
    }
  }
  return found;
}

bool reaches_an_update(Past& past, const StepGraph& graph, const StepToRead& step,
                       std::unordered_set<std::uint64_t> made, std::uint32_t from) {
  const auto came_of_it = [&](std::uint64_t tensor) {
    if (made.contains(tensor)) return true;
    const auto assignment = past.assignment(tensor);  // a sum in a variable
    return assignment && made.contains(assignment->value);
  };
  for (const StepOp& op : graph.ops()) {
    if (op.number <= from || op.backward || !std::ranges::any_of(op.inputs, came_of_it)) continue;
    if (is_update(op.op, op.scope, op.backward) || writes_into_a_source(graph, op)) return true;
    made.insert(op.outputs.begin(), op.outputs.end());
  }
  return std::ranges::any_of(step.by_hand, [&](const HandUpdate& update) { return came_of_it(update.now); });
}

const RecordView* maker_behind_assignment(Past& past, std::uint64_t tensor) {
  if (const RecordView* record = past.maker(tensor)) return record;
  const auto assignment = past.assignment(tensor);
  if (!assignment || assignment->value == 0 || assignment->value == tensor) return nullptr;
  return past.maker(assignment->value);
}

void read_updates(Past& past, const StepGraph& graph, const StepToRead& step, StepFacts& facts) {
  const std::map<std::uint64_t, SourceFact> gradients = gradients_of_step(past, graph);
  read_sums(past, graph, step, gradients, facts);
  read_directions(past, step, gradients, facts);
  read_twice(past, graph, step, facts);
}

}  // namespace tapedeck::debug
