#include "engine/debug/value_look.h"

#include "engine/record/replay/replay.h"

namespace tapedeck::debug {

RecordFacts::RecordFacts(std::span<const std::uint64_t> inputs, std::span<const std::uint64_t> outputs,
                         const Recorder& recorder, bool gives_gradients) {
  specs_.reserve(inputs.size() + outputs.size());  // the facts point into them
  const auto add = [&](std::span<const std::uint64_t> ids, std::vector<std::uint64_t>& known) {
    for (const std::uint64_t id : ids) {
      const std::uint32_t spec = id == 0 ? 0 : recorder.trace().tensors().get(id).spec();
      if (spec == 0) continue;
      const RecordedSpec& of = specs_.emplace_back(spec_of(spec));
      const auto count = static_cast<std::uint64_t>(element_count(of.shape));
      facts_.push_back(
          {{of.shape.begin(), of.shape.end()}, dtype_name(of.dtype), count, count * item_size(of.dtype)});
      known.push_back(id);
    }
  };
  add(inputs, inputs_);
  add(outputs, outputs_);
  op_.inputs = std::span(facts_).first(inputs_.size());
  op_.outputs = std::span(facts_).subspan(inputs_.size());
  op_.gives_gradients = gives_gradients;
}

void ValueLook::begin(std::span<const std::uint64_t> inputs, std::span<const std::uint64_t> outputs,
                      bool gives_gradients) {
  facts_.emplace(inputs, outputs, recorder_, gives_gradients);
  facts_->op().measure = [this](bool output, std::size_t index, const protocol::Quantity& quantity) {
    return measure(facts_->tensor(output, index), quantity);
  };
  found_.clear();
  values_ = {};
  lost_ = false;
  measured_.reset();
}

protocol::Verdict ValueLook::verdict(const protocol::ValueTerm& term) {
  return evaluate(term, facts_->op());
}

std::optional<double> ValueLook::measure(std::uint64_t tensor, const protocol::Quantity& quantity) {
  if (tensor == 0) return std::nullopt;
  measure_ = quantity.measure;
  const RecordedSpec spec = spec_of(recorder_.trace().tensors().get(tensor).spec());
  if (spec.dtype == DType::string) return std::nullopt;
  if (!found_.contains(tensor)) {
    if (const auto kept = recorder_.values().statistics_of_dropped(tensor))
      if (const auto value = measure_of_summary(*kept, quantity)) return measured_ = value;
    try {
      found_.emplace(tensor, find_(tensor));
    } catch (const ValueError&) {
      lost_ = true;
      return std::nullopt;
    }
  }
  return measured_ = values_.measure(found_.at(tensor), quantity);
}

protocol::Verdict decide(const protocol::Condition& condition, const Undecided& record, ValueLook& values) {
  values.begin(std::span(record.inputs.data(), record.inputs.size()),
               std::span(record.outputs.data(), record.outputs.size()), record.gives_gradients);
  return evaluate(condition, [&](const protocol::Condition& leaf) {
    const protocol::Verdict known = record.terms[leaf.number];
    const auto* term = std::get_if<protocol::ValueTerm>(&leaf.term);
    return term && known == protocol::Verdict::unknown ? values.verdict(*term) : known;
  });
}

}  // namespace tapedeck::debug
