#include "engine/record/health/health_batch.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <set>

#include "engine/ops/core/foreign.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck {
namespace {

constexpr std::size_t most_ops_to_weight = 12;

/// "dense/kernel:0" without the suffix.
std::string variable_text(std::uint32_t name) {
  std::string text = name_of(name);
  if (text.ends_with(":0")) text.resize(text.size() - 2);
  return text;
}

/// A norm over the finite elements only would be 0 for a gradient of NaN.
double health_norm(const NormGauge& gauge) {
  return gauge.not_finite ? HUGE_VAL : gauge.norm;
}

/// The variables from which the activation's input was computed, back to the previous layer.
struct LayerWeights {
  std::optional<HealthSubject> weight;  ///< the nearest one with two axes or more
  std::uint64_t last = 0;               ///< the largest id of all
};

LayerWeights weights_before(const HealthPast& past, std::uint64_t input, const KnownVariables& known) {
  LayerWeights found;
  std::deque<std::uint64_t> waiting{input};
  std::set<std::uint32_t> seen;
  while (!waiting.empty() && seen.size() < most_ops_to_weight) {
    const std::uint64_t id = waiting.front();
    waiting.pop_front();
    const TensorOrigin origin = past.trace.tensors().get(id);
    if (origin.is_leaf() && origin.named()) {
      const auto better = known.find(id);
      if (const auto variable = variable_subject(past, id, better == known.end() ? 0 : better->second)) {
        found.last = std::max(found.last, variable->variable);
        if (!found.weight && variable->shape.rank() >= 2) found.weight = variable;
      }
      continue;
    }
    const std::uint32_t producer = origin.producer();
    if (producer == 0 || !seen.insert(producer).second) continue;
    past.trace.glance(producer, producer, [&](const RecordGlance& record) {
      if (record.number != producer || !record.head.op || record.head.kind != EventKind::op) return;
      if (record.head.op->facts.activation != Activation::none) return;  // the previous layer
      waiting.insert(waiting.end(), record.inputs.begin(), record.inputs.end());
    });
    if (found.weight && waiting.size() > most_ops_to_weight) break;
  }
  return found;
}

}  // namespace

std::optional<HealthSubject> variable_subject(const HealthPast& past, std::uint64_t leaf,
                                              std::uint64_t variable) {
  const TensorOrigin origin = past.trace.tensors().get(leaf);
  const std::uint32_t name = origin.named() ? past.values.name(leaf) : 0;
  if (name == 0) return std::nullopt;
  HealthSubject subject;
  subject.kind = HealthKind::variable;
  subject.name = variable_text(name);
  subject.variable = variable;
  if (variable == 0)
    if (const auto assignment = past.data_flow.assignment_of(leaf)) subject.variable = assignment->variable;
  subject.order = subject.variable;
  if (origin.spec() != 0) subject.shape = spec_of(origin.spec()).shape;
  return subject;
}

HealthSubject activation_subject(const HealthPast& past, const ActivationCall& call, const Shape& shape,
                                 const KnownVariables& known) {
  HealthSubject subject;
  subject.kind = HealthKind::activation;
  subject.op = call.op->name;
  subject.scope = call.scope;
  subject.location = call.location;
  const LayerWeights weights = weights_before(past, call.input, known);
  if (weights.weight) subject.variable = weights.weight->variable;
  subject.name = call.scope ? scope_text(call.scope) : weights.weight ? weights.weight->name : std::string();
  subject.order = weights.last;
  for (int axis = 1; axis < shape.rank(); ++axis) subject.shape.push_back(shape[axis]);
  return subject;
}

void HealthBatch::add(std::uint32_t subject, std::string_view quantity, HealthSample sample, Join join) {
  if (subject == 0) return;
  const auto [place, fresh] = samples_.try_emplace({subject, quantity}, Waiting{sample, 1, join});
  if (fresh) return;
  Waiting& waiting = place->second;
  ++waiting.count;
  double& value = waiting.sample.value;
  switch (join) {
    case Join::replace:
      waiting.sample = sample;
      break;
    case Join::least:
      value = std::min(value, sample.value);
      break;
    case Join::mean:
      value += sample.value;
      break;
    case Join::sum:
      if (value == 0) waiting.sample.record = sample.record;
      value += sample.value;
      break;
  }
}

void HealthBatch::not_finite(std::uint32_t subject, std::uint32_t record, std::uint64_t count) {
  add(subject, quantity::not_finite, {record, static_cast<double>(count)}, Join::sum);
}

void HealthBatch::loss(std::uint32_t playback, std::uint32_t location, const Tensor& target) {
  if (playback_ == 0) playback_ = playback;
  if (!target || target.count() != 1 || !is_floating(target.dtype())) return;
  HealthSubject subject;
  subject.kind = HealthKind::loss;
  subject.name = "loss";
  subject.location = location;
  add(store_.subject(subject), quantity::loss, {playback, target.item()});
}

void HealthBatch::gradient(const HealthSubject& subject, std::uint32_t playback, std::uint64_t id,
                           const Tensor& gradient, bool with_rank) {
  if (playback_ == 0) playback_ = playback;
  const std::uint32_t number = store_.subject(subject);
  if (!gradient) {
    // If a step has two playbacks, the one that gave it a gradient counts.
    if (!samples_.contains({number, quantity::gradient}))
      add(number, quantity::gradient, {playback, std::numeric_limits<double>::quiet_NaN()});
    return;
  }
  const std::uint32_t maker = past_.trace.tensors().get(id).producer();
  const std::uint32_t record = maker ? maker : playback;
  const NormGauge gauge = norm_gauge(gradient);
  add(number, quantity::gradient, {record, health_norm(gauge)});
  not_finite(number, record, gauge.not_finite);
  if (!with_rank || gauge.not_finite != 0) return;
  if (const auto rank = rank_gauge(gradient)) add(number, quantity::rank, {record, *rank});
}

void HealthBatch::given_gradient(const HealthSubject& subject, std::uint32_t record, const Tensor& gradient) {
  const std::uint32_t number = store_.subject(subject);
  if (samples_.contains({number, quantity::gradient})) return;
  const NormGauge gauge = norm_gauge(gradient);
  add(number, quantity::gradient, {record, health_norm(gauge)});
  not_finite(number, record, gauge.not_finite);
}

void HealthBatch::update(const HealthSubject& subject, std::uint32_t record, const Tensor& before,
                         const Tensor& now) {
  const std::uint32_t number = store_.subject(subject);
  const NormGauge gauge = norm_gauge(now);
  add(number, quantity::weight, {record, health_norm(gauge)});
  add(number, quantity::update, {record, gauge.not_finite ? HUGE_VAL : update_gauge(before, now)});
  not_finite(number, record, gauge.not_finite);
}

void HealthBatch::activation(const ActivationCall& call, const Tensor& output) {
  // PyTorch's images and volumes have their channels behind the batch.
  const bool channels_first = is_foreign(*call.op) && output.rank() >= 4;
  const ActivationGauge gauge = activation_gauge(call.op->facts.activation, output, channels_first ? 1 : -1);
  const std::uint32_t number = store_.subject(activation_subject(past_, call, output.shape(), known_));
  if (gauge.dead) add(number, quantity::dead, {call.record, *gauge.dead}, Join::least);
  if (gauge.saturated) add(number, quantity::saturated, {call.record, *gauge.saturated}, Join::mean);
  not_finite(number, call.record, gauge.not_finite);
}

void HealthBatch::write(bool mark, bool recomputed) {
  for (const auto& [place, waiting] : samples_) {
    HealthSample sample = waiting.sample;
    if (waiting.join == Join::mean) sample.value /= waiting.count;
    store_.put(place.first, place.second, sample);
  }
  if (mark && playback_ != 0) store_.mark({playback_, recomputed});
  samples_.clear();
  playback_ = 0;
}

}  // namespace tapedeck
