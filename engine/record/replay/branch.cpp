#include "engine/record/replay/branch.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "engine/ops/core/foreign.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/random/random_state.h"
#include "engine/record/replay/adjust.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/record/trace/tensor_text.h"
#include "engine/tensor/block_pool.h"

namespace tapedeck {
namespace {

template <class... Parts>
[[noreturn]] void refuse_branch(const char* code, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw ValueError(code, text.str());
}

/// The tensor with one element replaced; the others keep every bit.
Tensor with_element(const Tensor& tensor, std::int64_t place, double number) {
  std::vector<double> chosen(static_cast<std::size_t>(tensor.count()), 0);
  chosen[static_cast<std::size_t>(place)] = 1;
  return ops::where(ops::cast(Tensor::from_values<double>(chosen, tensor.shape()), DType::bool_),
                    ops::cast(Tensor::scalar(number, DType::float64), tensor.dtype()), tensor);
}

Tensor instead_of(const Change& change, const RecordView& record, const Tensors& inputs,
                  const Tensor& result) {
  if (change.instead == Instead::zero) return ops::zeros_like(result);
  if (change.instead != Instead::skip)
    return adjusted(result, change.instead, change.amount, record, "its result");
  if (inputs.empty() || inputs[0].shape() != result.shape() || inputs[0].dtype() != result.dtype())
    throw BranchError(record.number, true,
                      "Op " + std::to_string(record.number) + " (" + record.name() +
                          ") cannot be skipped: its result has another shape or dtype than its first input.");
  return inputs[0];
}

/// A random op that ran has its position in the random sequence besides its seed: another seed needs another
/// position.
void follow_seed(const OpDef& op, const Attribute& seed_before, std::vector<Attribute>& attributes) {
  const auto key = op.find_place("key"), counter = op.find_place("counter");
  const auto seed = op.find_place("seed");
  if (!key || !counter || !seed) return;
  const auto* number = std::get_if<std::int64_t>(&attributes[*seed]);
  attributes[*key] = random_key(number ? std::optional(*number) : std::nullopt);
  // Without a seed its position was in a sequence that all such ops share.
  if (std::holds_alternative<std::monostate>(seed_before)) attributes[*counter] = std::int64_t{0};
}

bool names_record(const Change& change) {
  return change.kind == Change::Kind::attribute || change.kind == Change::Kind::input ||
         change.kind == Change::Kind::instead;
}

}  // namespace

Branch::Branch(const Recorder& recorder, std::vector<Change> changes, const BranchLimits& limits)
    : recorder_(recorder), changes_(std::move(changes)), limits_(limits) {
  for (std::size_t at = 0; at < changes_.size(); ++at) {
    const Change& change = changes_[at];
    check(change);
    names_record(change) ? of_record_[change.record].push_back(at) : of_tensor_[change.tensor].push_back(at);
    if (!names_record(change)) {
      first_ = std::min(first_, change.tensor);
      continue;
    }
    RecordView record;
    recorder_.trace().read(change.record, record);
    for (const std::uint64_t id : record.outputs)
      if (id) first_ = std::min(first_, id);
  }
  if (can_run_foreign()) find_held_results();
}

void Branch::find_held_results() {
  constexpr std::uint32_t records_at_once = 4096;
  const Trace& trace = recorder_.trace();
  const std::uint32_t newest = trace.newest();
  const auto look = [&](const RecordGlance& glance) {
    if (glance.head.kind != EventKind::op || !glance.head.op || !is_foreign(*glance.head.op)) return;
    for (const std::uint64_t id : glance.outputs)
      if (id >= first_ && trace.tensors().get(id).producer() == 0) held_results_.emplace(id, glance.number);
  };
  for (std::uint32_t first = std::max(1u, trace.oldest_kept()); first <= newest; first += records_at_once)
    trace.glance(first, std::min(newest, first + records_at_once - 1), look);
}

std::uint32_t Branch::producer_of(std::uint64_t tensor) const {
  if (const std::uint32_t producer = recorder_.trace().tensors().get(tensor).producer()) return producer;
  const auto held = held_results_.find(tensor);
  return held == held_results_.end() ? 0 : held->second;
}

void Branch::check(const Change& change) const {
  if (names_record(change)) {
    RecordView record;
    if (!recorder_.trace().read(change.record, record) || record.head.kind != EventKind::op ||
        record.state != RecordState::done)
      refuse_branch("bad_request", "There is no op ", change.record, " that ran and could be changed.");
    if (change.kind == Change::Kind::attribute && change.attribute >= record.head.attributes.size())
      refuse_branch("bad_request", "Op ", change.record, " (", record.name(), ") has no attribute ",
                    change.attribute, ".");
    if (change.kind == Change::Kind::input && change.input >= record.inputs.size())
      refuse_branch("bad_request", "Op ", change.record, " (", record.name(), ") has no input ", change.input,
                    ".");
    if (change.result && (*change.result >= record.outputs.size() || !record.outputs[*change.result]))
      refuse_branch("bad_request", "Op ", change.record, " (", record.name(), ") has no result ",
                    *change.result, "; it has ", record.outputs.size(), ".");
    if (change.result && change.instead == Instead::skip)
      refuse_branch("bad_request", "Op ", change.record, " (", record.name(),
                    ") can be skipped as a whole, not for its result ", *change.result, " alone.");
    return;
  }
  const TensorOrigin origin = recorder_.trace().tensors().get(change.tensor);
  if (!origin.known()) refuse_branch("bad_request", "No record mentions a tensor ", change.tensor, ".");
  const RecordedSpec spec = spec_of(origin.spec());
  if (change.kind == Change::Kind::element) {
    if (change.place < 0 || change.place >= element_count(spec.shape))
      refuse_branch("bad_request", tensor_text(recorder_, change.tensor), " has no element ", change.place,
                    ".");
    return;
  }
  if (!change.value || change.value.shape() != spec.shape || change.value.dtype() != spec.dtype)
    refuse_branch("bad_request", "The new value of ", tensor_text(recorder_, change.tensor),
                  " has another shape or dtype.");
}

std::span<const std::size_t> Branch::changes_of_tensor(std::uint64_t tensor) const {
  const auto found = of_tensor_.find(tensor);
  return found == of_tensor_.end() ? std::span<const std::size_t>() : found->second;
}

std::span<const std::size_t> Branch::changes_of_record(std::uint32_t record) const {
  const auto found = of_record_.find(record);
  return found == of_record_.end() ? std::span<const std::size_t>() : found->second;
}

bool Branch::is_replaced(std::uint64_t tensor) const {
  return std::ranges::any_of(changes_of_tensor(tensor),
                             [&](std::size_t at) { return changes_[at].kind == Change::Kind::value; });
}

bool Branch::is_changed_result(std::uint64_t tensor) const {
  const std::uint32_t producer = producer_of(tensor);
  if (!is_changed_op(producer)) return false;
  const std::span<const std::size_t> changes = changes_of_record(producer);
  const bool whole = std::ranges::any_of(changes, [&](std::size_t at) { return !changes_[at].result; });
  RecordView record;
  if (whole || !recorder_.trace().read(producer, record)) return true;
  return std::ranges::any_of(changes,
                             [&](std::size_t at) { return record.outputs[*changes_[at].result] == tensor; });
}

Tensor Branch::changed(std::uint64_t tensor, Tensor value) const {
  for (const std::size_t at : changes_of_tensor(tensor)) {
    const Change& change = changes_[at];
    value =
        change.kind == Change::Kind::value ? change.value : with_element(value, change.place, change.number);
  }
  return value;
}

Attributes Branch::attributes_of(const RecordView& record) const {
  const Attributes& original = record.head.attributes;
  std::vector<Attribute> attributes;
  for (const std::size_t at : changes_of_record(record.number)) {
    const Change& change = changes_[at];
    if (change.kind != Change::Kind::attribute) continue;
    for (std::size_t i = attributes.size(); i < original.size(); ++i) attributes.push_back(original[i]);
    attributes[change.attribute] = change.setting;
    if (change.attribute == record.head.op->find_place("seed"))
      follow_seed(*record.head.op, original[change.attribute], attributes);
  }
  return attributes.empty() ? original : Attributes(std::move(attributes));
}

void Branch::change_inputs(const RecordView& record, Tensors& inputs) const {
  for (const std::size_t at : changes_of_record(record.number)) {
    const Change& change = changes_[at];
    if (change.kind != Change::Kind::input) continue;
    const std::vector<InputSpec>* specs = record.head.op ? &record.head.op->inputs : nullptr;
    const std::string subject = specs && change.input < specs->size()
                                    ? "its input " + (*specs)[change.input].name
                                    : "its input " + std::to_string(change.input);
    inputs[change.input] = adjusted(inputs[change.input], change.instead, change.amount, record, subject);
  }
}

std::shared_ptr<const SharedPlace> Branch::memory_of(std::uint64_t tensor) const {
  if (producer_of(tensor) != 0) return nullptr;
  const auto assignment = recorder_.data_flow().assignment_of(tensor);
  const bool is_assigned = assignment && assignment->value && assignment->value != tensor;
  return is_assigned ? nullptr : shared_place_of(tensor);
}

TensorIds Branch::made_of(std::uint64_t tensor) const {
  const std::uint32_t producer = producer_of(tensor);
  RecordView record;
  if (producer != 0 && recorder_.trace().read(producer, record)) {
    const ForeignOp* foreign = record.head.op ? foreign_of(*record.head.op) : nullptr;
    const bool depends_on_inputs = !foreign || !foreign->reads_shapes_alone;
    return depends_on_inputs && std::ranges::find(record.outputs, tensor) != record.outputs.end()
               ? record.inputs
               : TensorIds{};
  }
  const auto assignment = recorder_.data_flow().assignment_of(tensor);
  if (assignment && assignment->value && assignment->value != tensor) return {assignment->value};
  TensorIds parts;
  if (const auto shared = memory_of(tensor))
    for (const MemoryPart& part : shared->parts) parts.push_back(part.tensor);
  return parts;
}

bool Branch::is_forgotten(std::uint64_t tensor) const {
  const Trace& trace = recorder_.trace();
  const TensorOrigin origin = trace.tensors().get(tensor);
  if (origin.producer() != 0) return origin.producer() < trace.oldest_kept();
  // A forgotten op's result that is used again counts as a leaf.
  if (tensor < trace.oldest_tensor()) return true;
  // Every value of a variable has a name, and was assigned.
  return origin.named() && tensor <= recorder_.data_flow().newest_forgotten() &&
         !recorder_.data_flow().assignment_of(tensor);
}

bool Branch::depends(std::uint64_t tensor, const CancelFlag* cancel) {
  std::vector<Visit> stack;
  // The answer if it is known at once; else pushes a visit on the stack.
  const auto look = [&](std::uint64_t id) -> std::optional<bool> {
    if (id < first_) return false;
    if (const auto known = depends_.find(id); known != depends_.end()) return known->second;
    if (is_changed(id) || is_changed_result(id)) return depends_[id] = true;
    stack.push_back({id, made_of(id), 0});
    if (stack.back().inputs.empty() && is_forgotten(id)) cut_off_ = true;
    return std::nullopt;
  };
  look(tensor);
  while (!stack.empty()) {
    check_cancelled(cancel);
    Visit& visit = stack.back();
    const std::uint64_t id = visit.tensor;
    bool found = false;
    bool waits = false;
    while (!found && !waits && visit.next < visit.inputs.size()) {
      const std::uint64_t input = visit.inputs[visit.next];
      const auto answer = look(input);  // may reallocate the stack: `visit` is read again
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

/// The tensors that have to be computed, each after what it needs; counts how often each is used.
std::vector<Branch::Visit> Branch::plan(std::uint64_t tensor, const CancelFlag* cancel) {
  std::vector<Visit> order;
  std::unordered_set<std::uint64_t> seen;
  std::vector<Visit> stack;
  const auto need = [&](std::uint64_t id) {
    if (!depends(id, cancel)) return;
    ++uses_[id];
    if (values_.contains(id) || !seen.insert(id).second) return;
    stack.push_back({id, is_replaced(id) ? TensorIds{} : made_of(id), 0});
  };
  need(tensor);
  while (!stack.empty()) {
    check_cancelled(cancel);
    Visit& visit = stack.back();
    if (visit.next < visit.inputs.size()) {
      need(visit.inputs[visit.next++]);
      continue;
    }
    order.push_back(std::move(visit));
    stack.pop_back();
  }
  return order;
}

Tensor Branch::value(std::uint64_t tensor, const Find& original, const CancelFlag* cancel,
                     const ReplayProgress& progress) {
  if (!depends(tensor, cancel)) return original(tensor);
  const QuietScope quiet;
  try {
    run(plan(tensor, cancel), original, cancel, progress);
  } catch (...) {
    end_plan();
    forget();
    throw;
  }
  end_plan();
  return values_.at(tensor).value;
}

void Branch::run(const std::vector<Visit>& plan, const Find& original, const CancelFlag* cancel,
                 const ReplayProgress& progress) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    check_cancelled(cancel);
    if (progress && i % 64 == 0) progress(i, plan.size());
    // computed together with another result of the same op?
    if (!values_.contains(plan[i].tensor)) compute(plan[i].tensor, original);
    for (const std::uint64_t input : plan[i].inputs) taken(input);
    forget();
    if (bytes_ > limits_.bytes)
      refuse_branch("too_expensive", "Running the branch up to ", tensor_text(recorder_, plan.back().tensor),
                    " takes more than ", detail::readable_bytes(limits_.bytes), " of memory.");
  }
}

void Branch::compute(std::uint64_t tensor, const Find& original) {
  if (is_replaced(tensor)) return keep(tensor, changed(tensor, {}));
  RecordView record;
  const std::uint32_t producer = producer_of(tensor);
  if (producer != 0 && !recorder_.trace().read(producer, record))
    refuse_branch("gone", "The value of ", tensor_text(recorder_, tensor),
                  " in the branch is gone: the record of its op was forgotten.");
  const TensorIds sources = made_of(tensor);
  const bool moved =
      producer != 0 && (is_changed_op(producer) ||
                        std::ranges::any_of(sources, [&](std::uint64_t id) { return depends(id); }));
  if (moved) {
    const Tensors results = run(record, original);
    for (std::size_t i = 0; i < std::min(results.size(), record.outputs.size()); ++i)
      if (record.outputs[i] && !is_replaced(record.outputs[i]))
        keep(record.outputs[i], changed(record.outputs[i], results[i]));
    return;
  }
  if (const auto shared = memory_of(tensor))
    return keep(tensor, changed(tensor, from_memory(*shared, tensor, original)));
  const bool assigned = producer == 0 && !sources.empty() && depends(sources.front());
  keep(tensor, changed(tensor, assigned ? values_.at(sources.front()).value : original(tensor)));
}

Tensor Branch::from_memory(const SharedPlace& shared, std::uint64_t tensor, const Find& original) {
  if (shared.cut) cut_off_ = true;
  try {
    return put_together(shared, original(tensor), [&](std::uint64_t part) {
      return depends(part) ? std::optional(values_.at(part).value) : std::nullopt;
    });
  } catch (const InvalidArgumentError& error) {
    refuse_branch("gone", "In the branch ", tensor_text(recorder_, tensor),
                  " cannot be put together from what was written into its memory: ", error.what());
  }
}

namespace {

/// PyTorch's dropout with the mask that was drawn: the one random op whose result depends on its input in a
/// way that its other result tells.
Tensors dropout_again(const Tensor& input, const Tensor& mask, double share) {
  const Tensor kept = ops::multiply(input, ops::cast(mask, input.dtype()));
  const Tensor factor =
      ops::cast(Tensor::scalar(share >= 1 ? 0 : 1 / (1 - share), DType::float64), input.dtype());
  return {ops::multiply(kept, factor), mask};
}

}  // namespace

/// A random op of PyTorch's keeps what it drew.
Tensors Branch::run_op_of(const RecordView& record, const Tensors& inputs, const Attributes& attributes,
                          const Find& original) {
  try {
    return run_again(recorder_, record, inputs, attributes);
  } catch (const RandomOpError&) {
    for (const std::size_t at : changes_of_record(record.number))
      if (changes_[at].kind != Change::Kind::instead)
        throw BranchError(record.number, true,
                          "Op " + std::to_string(record.number) + " (" + record.name() +
                              ") draws random numbers: it would draw others, and cannot run again.");
    Tensors results;
    for (const std::uint64_t id : record.outputs) results.push_back(id ? original(id) : Tensor());
    const auto* share = record.head.op->attributes.empty() ? nullptr : std::get_if<double>(&attributes[0]);
    if (record.name() == "aten.native_dropout" && results.size() == 2 && share)
      return dropout_again(inputs[0], results[1], *share);
    kept_random_.insert(record.number);
    return results;
  }
}

Tensors Branch::run(const RecordView& record, const Find& original) {
  Tensors inputs;
  for (const std::uint64_t id : record.inputs)
    inputs.push_back(id == 0 ? Tensor() : depends(id) ? values_.at(id).value : original(id));
  try {
    const Attributes attributes = attributes_of(record);
    change_inputs(record, inputs);
    if (recorder_.file()) check_result_size(record, inputs, attributes, limits_.bytes);
    Tensors results = run_op_of(record, inputs, attributes, original);
    for (const std::size_t at : changes_of_record(record.number)) {
      const Change& change = changes_[at];
      if (change.kind != Change::Kind::instead) continue;
      for (std::size_t i = 0; i < results.size(); ++i)
        if (!change.result || change.result == i) results[i] = instead_of(change, record, inputs, results[i]);
    }
    return results;
  } catch (const ValueError&) {
    throw;
  } catch (const Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    throw BranchError(record.number, is_changed_op(record.number),
                      "In the branch op " + std::to_string(record.number) + " (" + record.name() +
                          ") fails: " + error.what());
  }
}

void Branch::keep(std::uint64_t tensor, Tensor value) {
  Held& held = values_[tensor];
  if (held.value) bytes_ -= held.value.bytes();
  bytes_ += value.bytes();
  held.value = std::move(value);
  may_go(tensor);
}

/// Whether something that the plan computes uses it.
void Branch::taken(std::uint64_t tensor) {
  const auto found = uses_.find(tensor);
  if (found == uses_.end() || --found->second > 0) return;
  uses_.erase(found);
  may_go(tensor);
}

void Branch::may_go(std::uint64_t tensor) {
  const auto found = values_.find(tensor);
  if (found == values_.end() || found->second.queued || uses_.contains(tensor)) return;
  found->second.queued = true;
  order_.push_back(tensor);
}

void Branch::end_plan() {
  for (const auto& [tensor, left] : std::exchange(uses_, {})) may_go(tensor);
}

/// Drops what the plan no longer needs: it can be recomputed.
void Branch::forget() {
  while (bytes_ > limits_.kept && !order_.empty()) {
    const auto found = values_.find(order_.front());
    order_.pop_front();
    found->second.queued = false;
    if (uses_.contains(found->first)) continue;  // a later plan needs it: it queues again after that
    bytes_ -= found->second.value.bytes();
    values_.erase(found);
  }
}

}  // namespace tapedeck
