// Labels that a loss cannot mean: numbers that no class has, what is no yes or no, and another dtype. Where
// the loss refused them, its op has failed.
#include <algorithm>
#include <cmath>

#include "engine/debug/health/step_reader.h"
#include "engine/debug/why/elements.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t most_records_for_labels = 20000, at_once = 4096;
constexpr std::size_t most_losses_with_labels = 4;
constexpr std::int64_t most_labels_read = 1 << 20;

/// A loss that takes labels: which of its inputs are what.
struct LabelledLoss {
  std::uint32_t record = 0;
  std::uint64_t labels = 0, scores = 0;
  bool yes_or_no = false, refused = false, in_torch = false;
};

std::optional<LabelledLoss> labelled_loss(const RecordGlance& record) {
  const RecordHead& head = record.head;
  if (head.kind != EventKind::op || head.backward || !head.op || record.inputs.size() < 2)
    return std::nullopt;
  LabelledLoss loss;
  loss.record = record.number;
  loss.refused = record.state == RecordState::failed;
  loss.in_torch = is_foreign(*head.op);
  const std::string name = short_name(*head.op);
  if (loss.in_torch) {
    const bool numbers = name == "nll_loss_forward" || name == "nll_loss2d_forward";
    loss.yes_or_no = name == "binary_cross_entropy_with_logits" || name == "binary_cross_entropy";
    loss.scores = record.inputs[0];
    loss.labels = record.inputs[1];
    return numbers || loss.yes_or_no ? std::optional(loss) : std::nullopt;
  }
  loss.yes_or_no = name == "sigmoid_cross_entropy_with_logits";
  loss.labels = record.inputs[0];
  loss.scores = record.inputs[1];
  return loss.yes_or_no || name == "sparse_softmax_cross_entropy_with_logits" ? std::optional(loss)
                                                                              : std::nullopt;
}

std::vector<LabelledLoss> losses_in(Past& past, const StepToRead& step) {
  std::vector<LabelledLoss> found;
  const Trace& trace = past.recorder().trace();
  const std::uint32_t last = std::min(step.last, step.first + (most_records_for_labels - 1));
  for (std::uint32_t next = step.first; next <= last;) {
    check_cancelled(past.cancel());
    const std::uint32_t after =
        trace.glance(next, std::min(last, next + at_once - 1), [&](const RecordGlance& record) {
          if (record.state != RecordState::done && record.state != RecordState::failed) return;
          if (auto loss = labelled_loss(record)) found.push_back(*loss);
        });
    if (after <= next) break;
    next = after;
  }
  // What was refused is the step's last, and counts most.
  std::ranges::stable_sort(found, std::ranges::greater(), &LabelledLoss::refused);
  if (found.size() > most_losses_with_labels) found.resize(most_losses_with_labels);
  return found;
}

std::optional<RecordedSpec> spec_of_tensor(Past& past, std::uint64_t tensor) {
  const TensorOrigin origin = past.recorder().trace().tensors().get(tensor);
  return tensor && origin.spec() ? std::optional(spec_of(origin.spec())) : std::nullopt;
}

/// Those that the loss leaves out do not count.
void measure_labels(const Tensor& labels, LabelTroubleFact& fact) {
  const double low = 0, high = fact.classes ? static_cast<double>(fact.classes - 1) : 1;
  visit_elements(labels, [&](const auto* at, std::int64_t count) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(*at)>>)
      for (std::int64_t i = 0; i < count; ++i) {
        const double label = static_cast<double>(at[i]);
        if (std::isnan(label) || label == fact.ignored) continue;
        fact.least = fact.labels ? std::min(fact.least, label) : label;
        fact.most = fact.labels ? std::max(fact.most, label) : label;
        fact.whole = fact.whole && label == std::floor(label);
        ++fact.labels;
        fact.wrong += label < low || label > high;
      }
  });
}

std::optional<LabelTroubleFact> trouble_of(Past& past, const LabelledLoss& loss, bool recompute,
                                           StepFacts& facts) {
  const RecordView* record = past.record(loss.record);
  const auto labels = spec_of_tensor(past, loss.labels), scores = spec_of_tensor(past, loss.scores);
  if (!record || !labels || !scores) return std::nullopt;
  LabelTroubleFact fact;
  fact.place.record = loss.record;
  fact.place.location = record->head.location;
  fact.place.line = location_of(record->head.location).line;
  fact.place.op = record->name();
  fact.refused = loss.refused;
  fact.dtype = dtype_name(labels->dtype);
  const Shape& shape = scores->shape;
  if (!loss.yes_or_no) {
    if (shape.rank() == 0) return std::nullopt;
    fact.classes = shape[loss.in_torch ? std::min(1, shape.rank() - 1) : shape.rank() - 1];
  }
  if (loss.in_torch && !loss.yes_or_no)
    if (const auto place = record->head.op->find_place("ignore_index");
        place && *place < record->head.attributes.size())
      if (const auto* number = std::get_if<std::int64_t>(&record->head.attributes[*place]))
        fact.ignored = static_cast<double>(*number);
  if (loss.in_torch && loss.refused) {
    const bool fits = loss.yes_or_no ? is_floating(labels->dtype)
                                     : labels->dtype == DType::int64 || labels->dtype == DType::uint8;
    if (!fits) {
      fact.trouble = LabelTrouble::wrong_dtype;
      return fact;
    }
  }
  if (element_count(labels->shape) > most_labels_read) return std::nullopt;
  const Tensor value = step_value(past, loss.labels, recompute, facts);
  if (!value) return std::nullopt;
  measure_labels(value, fact);
  return fact.wrong > 0 ? std::optional(std::move(fact)) : std::nullopt;
}

}  // namespace

void read_label_troubles(Past& past, const StepToRead& step, StepFacts& facts) {
  for (const LabelledLoss& loss : losses_in(past, step))
    if (auto trouble = trouble_of(past, loss, step.recompute, facts))
      facts.label_troubles.push_back(std::move(*trouble));
}

}  // namespace tapedeck::debug
