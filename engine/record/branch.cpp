#include "engine/record/branch.h"

#include <algorithm>
#include <sstream>
#include <unordered_set>

#include "engine/ops/core_ops.h"
#include "engine/ops/ops.h"
#include "engine/ops/run_op.h"
#include "engine/record/tensor_specs.h"
#include "engine/record/tensor_text.h"

namespace tapedeck {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const char* code, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw ValueError(code, text.str());
}

/// The tensor with one element replaced.
Tensor with_element(const Tensor& tensor, std::int64_t place, double number) {
  std::vector<double> values = tensor.to_vector();
  values[static_cast<std::size_t>(place)] = number;
  return ops::cast(Tensor::from_values<double>(values, tensor.shape()), tensor.dtype());
}

Tensor instead_of(const Change& change, const RecordView& record, const Tensors& inputs,
                  const Tensor& result) {
  const Tensor amount = ops::cast(Tensor::scalar(change.amount, DType::float64), result.dtype());
  switch (change.instead) {
    case Instead::zero:
      return ops::zeros_like(result);
    case Instead::scale:
      return ops::multiply(result, amount);
    case Instead::clip:
      return ops::minimum(ops::maximum(result, ops::negative(amount)), amount);
    case Instead::skip:
      break;
  }
  if (inputs.empty() || inputs[0].shape() != result.shape() || inputs[0].dtype() != result.dtype())
    refuse("bad_request", "Op ", record.number, " (", record.name(),
           ") cannot be skipped: its result has another shape or dtype than "
           "its first input.");
  return inputs[0];
}

}  // namespace

Branch::Branch(const Recorder& recorder, std::vector<Change> changes)
    : recorder_(recorder), changes_(std::move(changes)) {
  for (const Change& change : changes_) {
    check(change);
    if (change.kind == Change::Kind::value || change.kind == Change::Kind::element) {
      first_ = std::min(first_, change.tensor);
      continue;
    }
    RecordView record;
    recorder_.trace().read(change.record, record);
    for (const std::uint64_t id : record.outputs)
      if (id) first_ = std::min(first_, id);
  }
}

void Branch::check(const Change& change) const {
  if (change.kind == Change::Kind::attributes || change.kind == Change::Kind::instead) {
    RecordView record;
    if (!recorder_.trace().read(change.record, record) || record.head.kind != EventKind::op ||
        record.state != RecordState::done)
      refuse("bad_request", "There is no op ", change.record, " that ran and could be changed.");
    if (change.kind == Change::Kind::attributes && change.attributes.size() != record.head.attributes.size())
      refuse("bad_request", "Op ", change.record, " (", record.name(), ") has ",
             record.head.attributes.size(), " attributes, ", change.attributes.size(), " were given.");
    return;
  }
  const TensorOrigin origin = recorder_.trace().tensors().get(change.tensor);
  if (!origin.known()) refuse("bad_request", "No record mentions a tensor ", change.tensor, ".");
  const RecordedSpec spec = spec_of(origin.spec());
  if (change.kind == Change::Kind::element) {
    if (change.place < 0 || change.place >= element_count(spec.shape))
      refuse("bad_request", tensor_text(recorder_, change.tensor), " has no element ", change.place, ".");
    return;
  }
  if (!change.value || change.value.shape() != spec.shape || change.value.dtype() != spec.dtype)
    refuse("bad_request", "The new value of ", tensor_text(recorder_, change.tensor),
           " has another shape or dtype.");
}

const Change* Branch::change_of(std::uint64_t tensor) const {
  for (const Change& change : changes_)
    if ((change.kind == Change::Kind::value || change.kind == Change::Kind::element) &&
        change.tensor == tensor)
      return &change;
  return nullptr;
}

const Change* Branch::change_at(std::uint32_t record) const {
  for (const Change& change : changes_)
    if ((change.kind == Change::Kind::attributes || change.kind == Change::Kind::instead) && record != 0 &&
        change.record == record)
      return &change;
  return nullptr;
}

TensorIds Branch::made_of(std::uint64_t tensor) const {
  const std::uint32_t producer = recorder_.trace().tensors().get(tensor).producer();
  RecordView record;
  if (producer != 0 && recorder_.trace().read(producer, record)) return record.inputs;
  const auto assignment = recorder_.handoffs().assignment_of(tensor);
  if (assignment && assignment->value && assignment->value != tensor) return {assignment->value};
  return {};
}

bool Branch::depends(std::uint64_t tensor) {
  std::vector<Visit> stack;
  // The answer where it is known at once; else a visit is put on the stack.
  const auto look = [&](std::uint64_t id) -> std::optional<bool> {
    if (id < first_) return false;
    if (const auto known = depends_.find(id); known != depends_.end()) return known->second;
    if (change_of(id) || change_at(recorder_.trace().tensors().get(id).producer()))
      return depends_[id] = true;
    stack.push_back({id, made_of(id), 0});
    return std::nullopt;
  };
  look(tensor);
  while (!stack.empty()) {
    Visit& visit = stack.back();
    const std::uint64_t id = visit.tensor;
    bool found = false;
    bool waits = false;
    while (!found && !waits && visit.next < visit.inputs.size()) {
      const std::uint64_t input = visit.inputs[visit.next];
      const auto answer = look(input);  // may move the stack: `visit` is read anew
      if (!answer) {
        waits = true;
        break;
      }
      found = *answer;
      ++stack.back().next;
    }
    if (waits) continue;
    depends_[id] = found;
    stack.pop_back();
  }
  return tensor >= first_ && depends_.contains(tensor) && depends_.at(tensor);
}

/// The tensors that have to be computed, each after what it needs.
std::vector<std::uint64_t> Branch::plan(std::uint64_t tensor, const CancelFlag* cancel) {
  std::vector<std::uint64_t> order;
  std::unordered_set<std::uint64_t> seen;
  std::vector<Visit> stack;
  const auto need = [&](std::uint64_t id) {
    if (!depends(id) || values_.contains(id) || !seen.insert(id).second) return;
    const Change* change = change_of(id);
    stack.push_back({id, change && change->kind == Change::Kind::value ? TensorIds{} : made_of(id), 0});
  };
  need(tensor);
  while (!stack.empty()) {
    check_cancelled(cancel);
    Visit& visit = stack.back();
    if (visit.next < visit.inputs.size()) {
      need(visit.inputs[visit.next++]);
      continue;
    }
    order.push_back(visit.tensor);
    stack.pop_back();
  }
  return order;
}

Tensor Branch::value(std::uint64_t tensor, const Find& original, const CancelFlag* cancel,
                     const ReplayProgress& progress) {
  if (!depends(tensor)) return original(tensor);
  const QuietScope quiet;
  const std::vector<std::uint64_t> order = plan(tensor, cancel);
  for (std::size_t i = 0; i < order.size(); ++i) {
    check_cancelled(cancel);
    if (progress && i % 64 == 0) progress(i, order.size());
    if (!values_.contains(order[i])) compute(order[i], original);
  }
  const Tensor found = values_.at(tensor);
  forget(tensor);
  return found;
}

void Branch::compute(std::uint64_t tensor, const Find& original) {
  const Change* change = change_of(tensor);
  if (change && change->kind == Change::Kind::value) return keep(tensor, change->value);
  RecordView record;
  const std::uint32_t producer = recorder_.trace().tensors().get(tensor).producer();
  const bool made = producer != 0 && recorder_.trace().read(producer, record);
  const bool moved =
      made && (change_at(producer) || std::any_of(record.inputs.begin(), record.inputs.end(),
                                                  [&](std::uint64_t id) { return depends(id); }));
  if (moved) {
    const Tensors results = run(record, original);
    for (std::size_t i = 0; i < std::min(results.size(), record.outputs.size()); ++i) {
      const Change* one = change_of(record.outputs[i]);
      if (one && one->kind == Change::Kind::value) continue;
      keep(record.outputs[i], one ? with_element(results[i], one->place, one->number) : results[i]);
    }
    return;
  }
  if (change) return keep(tensor, with_element(original(tensor), change->place, change->number));
  keep(tensor, values_.at(made_of(tensor).front()));  // a variable's value
}

Tensors Branch::run(const RecordView& record, const Find& original) {
  Tensors inputs;
  for (const std::uint64_t id : record.inputs) inputs.push_back(depends(id) ? values_.at(id) : original(id));
  const Change* change = change_at(record.number);
  const bool other = change && change->kind == Change::Kind::attributes;
  try {
    Tensors results = replay_op(*record.head.op, inputs, other ? change->attributes : record.head.attributes);
    if (change && change->kind == Change::Kind::instead)
      for (Tensor& result : results) result = instead_of(*change, record, inputs, result);
    return results;
  } catch (const Error& error) {
    refuse("gone", "In the branch op ", record.number, " (", record.name(), ") fails: ", error.what());
  }
}

void Branch::keep(std::uint64_t tensor, Tensor value) {
  bytes_ += value.bytes();
  const auto [found, fresh] = values_.try_emplace(tensor);
  if (!fresh) bytes_ -= found->second.bytes();
  found->second = std::move(value);
  if (fresh) order_.push_back(tensor);
}

/// What was computed longest ago goes: it can be had again.
void Branch::forget(std::uint64_t needed) {
  for (std::size_t left = order_.size(); bytes_ > most_bytes && left > 0; --left) {
    const std::uint64_t id = order_.front();
    order_.pop_front();
    if (id == needed) {
      order_.push_back(id);
      continue;
    }
    const auto found = values_.find(id);
    bytes_ -= found->second.bytes();
    values_.erase(found);
  }
}

}  // namespace tapedeck
