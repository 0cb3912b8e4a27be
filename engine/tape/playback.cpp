#include "engine/tape/playback.h"

#include <algorithm>

#include "engine/ops/core/core_ops.h"
#include "engine/ops/core/floating.h"
#include "engine/ops/core/observed.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/elementwise/complex.h"
#include "engine/tape/playback_checks.h"
#include "engine/tape/playback_run.h"
#include "engine/tape/tape_tracer.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::detail {
namespace {

/// Besides the first one.
Tensor sum_of(Tensor a, Tensor b) {
  const DefaultDeviceScope beside(a.device());
  TapeTracer* const tracer = current_tape_tracer();
  if (!tracer) [[likely]]
    return add(std::move(a), std::move(b));
  Tensor sum = add(a, b);
  tracer->adds_gradients(sum, a, b);
  return sum;
}

/// One gradient with the rows of all parts, concatenated.
Tape::RowGradient joined(const std::vector<Tape::RowGradient>& parts) {
  if (parts.size() == 1) return parts[0];
  const DType dtype = parts[0].indices.dtype();
  const bool alike = std::all_of(parts.begin(), parts.end(),
                                 [&](const auto& part) { return part.indices.dtype() == dtype; });
  Tensors values, indices;
  for (const Tape::RowGradient& part : parts) {
    values.push_back(part.values);
    indices.push_back(alike ? part.indices : ops::cast(part.indices, DType::int64));
  }
  return {ops::concat({values.data(), values.size()}, 0), ops::concat({indices.data(), indices.size()}, 0)};
}

}  // namespace

Playback::Playback(Tape::State& tape, const GradientRequest& request) : tape_(tape), request_(request) {
  for (const Tensor& target : request.targets) target_slots_.push_back(tape.slots.find(target.id()));
  for (const Tape::Source& source : request.sources) source_slots_.push_back(slots_of(source));
  if (tape.persistent) {
    producers_ = tape.producers;
  } else {
    own_nodes_.swap(tape.nodes);
    producers_.swap(tape.producers);
    tape.slots.clear();
  }
  cotangents_.resize(producers_.size());
  is_source_.resize(producers_.size());
  for (const SourceSlots& slots : source_slots_)
    for (const Slot slot : slots) is_source_[static_cast<std::size_t>(slot)] = 1;
  for (std::size_t i = 0; request.rows && i < request.sources.size(); ++i)
    if (request.sources[i].variable)
      for (const Slot slot : source_slots_[i]) rows_[slot];
  ++tape_.playing;
}

Playback::~Playback() {
  --tape_.playing;
}

SourceSlots Playback::slots_of(const Tape::Source& source) const {
  SourceSlots slots;
  if (source.variable) {
    const std::int32_t position = tape_.variable_positions.find(source.variable->id());
    if (position >= 0) slots = tape_.variables[static_cast<std::size_t>(position)].slots;
  } else if (const Slot slot = tape_.slots.find(source.tensor.id()); slot != no_slot) {
    slots.push_back(slot);
  }
  return slots;
}

/// Nodes on which a target depends and that depend on a source; the VJPs of others would be discarded.
void Playback::mark_nodes() {
  std::int32_t last = -1;
  for (const Slot slot : target_slots_)
    if (slot != no_slot) last = std::max(last, producers_[static_cast<std::size_t>(slot)]);
  takes_part_.resize(static_cast<std::size_t>(last + 1));
  const auto mark_producer = [this](Slot slot) {
    if (slot == no_slot) return;
    if (const std::int32_t node = producers_[static_cast<std::size_t>(slot)]; node >= 0)
      takes_part_[static_cast<std::size_t>(node)] = 1;
  };
  std::for_each(target_slots_.begin(), target_slots_.end(), mark_producer);
  for (std::size_t i = takes_part_.size(); i-- > 0;)
    if (takes_part_[i]) {
      const Node& node = *nodes()[i];
      std::for_each(node.input_slots.begin(), node.input_slots.end(), mark_producer);
    }
  for (std::size_t i = 0; i < takes_part_.size(); ++i)
    if (takes_part_[i]) {
      const Node& node = *nodes()[i];
      takes_part_[i] = gives_source(node) || std::any_of(node.input_slots.begin(), node.input_slots.end(),
                                                         [this](Slot slot) { return leads_to_source(slot); });
    }
  for (std::size_t i = 0; i < own_nodes_.size(); ++i)
    if (i >= takes_part_.size() || !takes_part_[i]) own_nodes_[i].reset();
}

/// To be called after the node that made the slot's value is marked.
bool Playback::leads_to_source(Slot slot) const {
  if (slot == no_slot) return false;
  if (is_source_[static_cast<std::size_t>(slot)]) return true;
  const std::int32_t node = producers_[static_cast<std::size_t>(slot)];
  return node >= 0 && takes_part_[static_cast<std::size_t>(node)];
}

void Playback::seed() {
  for (std::size_t i = 0; i < request_.sums.size(); ++i)
    if (request_.sums[i] && source_slots_[i].size() == 1) accumulate(source_slots_[i][0], request_.sums[i]);
  for (std::size_t i = 0; i < target_slots_.size(); ++i) {
    if (!leads_to_source(target_slots_[i])) continue;
    const bool given = !request_.output_gradients.empty() && request_.output_gradients[i];
    const Tensor& target = request_.targets[i];
    const DefaultDeviceScope beside(target.device());
    accumulate(target_slots_[i],
               given ? ops::copy_to(request_.output_gradients[i], target.device()) : ones_like(target));
  }
  for (auto target = target_slots_.begin(); target != target_slots_.end(); ++target)
    if (*target != no_slot && is_source_[static_cast<std::size_t>(*target)] &&
        std::find(target_slots_.begin(), target, *target) == target)
      tell_if_finished(*target, takes_part_.size());
}

void Playback::accumulate(Slot slot, Tensor gradient) {
  Tensor& sum = cotangents_[static_cast<std::size_t>(slot)];
  sum = sum ? sum_of(std::move(sum), std::move(gradient)) : std::move(gradient);
}

void Playback::play(std::size_t position) {
  const Node& node = *nodes()[position];
  if (node.custom && node.custom->summing_vjp) return play_graph(position);
  if (gathers_rows(node)) {
    keep_rows(node, std::exchange(cotangents_[static_cast<std::size_t>(node.first_output)], {}));
    const Slot slot = node.input_slots[0];
    if (!tape_.persistent) own_nodes_[position].reset();
    return tell_if_finished(slot, position);
  }
  Tensors cotangents;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const std::size_t slot = static_cast<std::size_t>(node.first_output) + i;
    cotangents.push_back(is_source_[slot] ? cotangents_[slot] : std::move(cotangents_[slot]));
  }
  const auto input_slots = node.input_slots;
  Tensors gradients;
  boost::container::small_vector<bool, 8> wanted;
  for (const Slot slot : input_slots) wanted.push_back(leads_to_source(slot));
  if (std::any_of(cotangents.begin(), cotangents.end(), [](const Tensor& tensor) { return bool(tensor); }))
    gradients = vjp(node, cotangents, {wanted.data(), wanted.size()});
  cotangents.clear();
  if (!tape_.persistent) own_nodes_[position].reset();
  if (!attended()) {
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (wanted[i] && gradients[i]) accumulate(input_slots[i], std::move(gradients[i]));
    return;
  }
  gradients.resize(input_slots.size());  // no VJP ran: no part
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!wanted[i]) continue;
    const Slot slot = input_slots[i];
    if (gradients[i]) {
      accumulate(slot, std::move(gradients[i]));
      note_part(slot, last_vjp_);
    }
    if (!is_source_[static_cast<std::size_t>(slot)]) continue;
    bool again = false;  // it is another input of this node
    for (std::size_t later = i + 1; later < gradients.size(); ++later)
      again = again || (wanted[later] && input_slots[later] == slot);
    if (!again) tell_if_finished(slot, position);
  }
}

void Playback::note_part(Slot slot, std::uint64_t record) {
  last_parts_.resize(cotangents_.size());
  last_parts_[static_cast<std::size_t>(slot)] = record;
}

/// Whether a node before `position`, which has not been played yet, may add to the slot's gradient.
bool Playback::takes_more(Slot slot, std::size_t position) const {
  for (std::size_t i = position; i-- > 0;) {
    if (!takes_part_[i]) continue;
    const Node& node = *nodes()[i];
    const auto& slots = node.input_slots;
    if (std::find(slots.begin(), slots.end(), slot) != slots.end()) return true;
    const Slot end = node.first_output + static_cast<Slot>(node.outputs.size());
    if (node.custom && node.custom->summing_vjp && slot >= node.first_output && slot < end) return true;
  }
  return false;
}

/// Whether its gradient is that of one slot, and complete as soon as that is; others are combined at the end.
/// To be called after all nodes that read the slot have been played.
bool Playback::comes_whole(std::size_t source) const {
  const SourceSlots& slots = source_slots_[source];
  if (slots.size() != 1) return false;
  const auto rows = rows_.find(slots[0]);
  return rows == rows_.end() || rows->second.empty();
}

/// To be called after the nodes from `position` on have been played.
void Playback::tell_if_finished(Slot slot, std::size_t position) const {
  const Tensor& gradient = cotangents_[static_cast<std::size_t>(slot)];
  if (!gradient || !attended() || takes_more(slot, position)) return;
  for (std::size_t i = 0; i < source_slots_.size(); ++i)
    if (comes_whole(i) && source_slots_[i][0] == slot) tell_finished(i, gradient, false);
}

void Playback::tell_finished(std::size_t source, const Tensor& gradient, bool rows) const {
  if (!attended()) return;
  const Tape::Source& asked = request_.sources[source];
  FinishedGradient finished;
  finished.source = asked.variable ? asked.variable->peek().id() : asked.tensor.id();
  finished.gradient = gradient.id();
  finished.rows = rows;
  for (const Slot slot : source_slots_[source])
    if (!last_parts_.empty())
      finished.record = std::max(finished.record, last_parts_[static_cast<std::size_t>(slot)]);
  finished.place = static_cast<std::uint32_t>(source);
  finished.places = static_cast<std::uint32_t>(source_slots_.size());
  observer_->finished(finished);
}

/// Whether the node takes rows of a variable whose gradient is wanted as rows. Its output must not be a
/// source.
bool Playback::gathers_rows(const Node& node) const {
  if (rows_.empty() || !node.op || node.op->form != Form::gather || !rows_.contains(node.input_slots[0]))
    return false;
  if (is_source_[static_cast<std::size_t>(node.first_output)]) return false;
  const Attribute& axis = node.op->value_of(node.attributes, "axis");
  const auto* number = std::get_if<std::int64_t>(&axis);
  const bool first_axis = std::holds_alternative<std::monostate>(axis) || (number && *number == 0);
  const auto* batches = std::get_if<std::int64_t>(&node.op->value_of(node.attributes, "batch_dims"));
  return first_axis && batches && *batches == 0;
}

void Playback::keep_rows(const Node& node, const Tensor& cotangent) {
  if (!cotangent) return;
  Event event;
  event.kind = EventKind::vjp;
  event.op = node.op;
  event.name = node.op->name;
  event.inputs = {&cotangent, 1};
  event.attributes = &node.attributes;
  event.forward_record = node.record;
  event.tape = tape_.id;
  const bool wanted[] = {true, false};
  event.wanted = wanted;
  Tape::RowGradient part;
  observed(current_observer(), event, [&](std::uint64_t record) {
    if (attended()) note_part(node.input_slots[0], record);
    const Tensor &values = node.inputs[0], &indices = node.inputs[1];
    Shape shape{indices.count()};
    for (int axis = 1; axis < values.rank(); ++axis) shape.push_back(values.dim(axis));
    part.values = shape == cotangent.shape() ? cotangent : ops::reshape(cotangent, shape);
    part.indices = indices.rank() == 1 ? indices : ops::reshape(indices, {indices.count()});
    return Tensors(2);
  });
  rows_[node.input_slots[0]].push_back(std::move(part));
}

/// The rows as a gradient of the whole variable.
Tensor Playback::whole_of(const std::vector<Tape::RowGradient>& parts, const Tape::Source& source) const {
  Tensor sum;
  for (const Tape::RowGradient& part : parts) {
    const Shape& shape = source.variable->shape();
    const Tensor places = ops::reshape(part.indices, {part.indices.count(), 1});
    const Tensor one = ops::scatter_nd(places, part.values, shape);
    sum = sum ? add(std::move(sum), one) : one;
  }
  return sum;
}

/// While it lives, what is traced belongs to a playback, or to one of its VJPs.
class TracedPlayback {
 public:
  explicit TracedPlayback(std::span<const Tensor> targets) : tracer_(current_tape_tracer()) {
    if (tracer_) tracer_->playback_begins(targets);
  }
  explicit TracedPlayback(const TracedVjp& vjp) : tracer_(current_tape_tracer()) {
    if (tracer_) tracer_->vjp_begins(vjp);
  }
  ~TracedPlayback() {
    if (tracer_) tracer_->part_ends(results_);
  }
  TracedPlayback(const TracedPlayback&) = delete;

  Tensors gives(Tensors results) {
    if (tracer_) results_ = results;
    return results;
  }

 private:
  TapeTracer* const tracer_;
  Tensors results_;
};

/// As observers get it.
Event Playback::vjp_event(const Node& node, std::span<const Tensor> cotangents,
                          std::span<const bool> wanted) const {
  Event event;
  event.kind = EventKind::vjp;
  event.op = node.op;
  event.name = node.custom ? node.custom->name : node.op->name;
  event.inputs = cotangents;
  event.attributes = &node.attributes;
  event.forward_record = node.record;
  event.tape = tape_.id;
  event.custom_gradient = node.custom != nullptr;
  event.wanted = wanted;
  return event;
}

Tensors Playback::vjp(const Node& node, std::span<const Tensor> cotangents, std::span<const bool> wanted) {
  Tensors filled;
  if (TapeTracer* const tracer = current_tape_tracer(); tracer && cotangents.size() > 1) {
    filled = tracer->filled(cotangents);
    cotangents = filled;
  }
  const Event event = vjp_event(node, cotangents, wanted);
  TracedPlayback traced(TracedVjp{event.name, node.custom ? nullptr : node.op, node.attributes, node.outputs,
                                  cotangents, wanted});
  return traced.gives(observed(current_observer(), event, [&](std::uint64_t record) {
    last_vjp_ = record;
    const DefaultDeviceScope beside(node.outputs.empty() ? Device{} : node.outputs[0].device());
    Tensors gradients =
        node.custom
            ? node.custom->vjp(cotangents)
            : ops::run_vjp({*node.op, node.inputs, node.attributes, node.outputs, cotangents, wanted});
    check_gradients(node, wanted, gradients);
    return gradients;
  }));
}

Tensors Playback::gradients_of_sources() {
  Tensors gradients;
  for (std::size_t i = 0; i < source_slots_.size(); ++i) {
    Tensor sum;
    for (const Slot slot : source_slots_[i])
      if (const Tensor& part = cotangents_[static_cast<std::size_t>(slot)])
        sum = sum ? sum_of(std::move(sum), part) : part;
    std::vector<Tape::RowGradient> parts;
    for (const Slot slot : source_slots_[i])
      if (const auto found = rows_.find(slot); found != rows_.end() && request_.sources[i].variable)
        parts.insert(parts.end(), found->second.begin(), found->second.end());
    if (!parts.empty() && sum) {
      sum = add(std::move(sum), whole_of(parts, request_.sources[i]));
    } else if (!parts.empty()) {
      (*request_.rows)[i] = joined(parts);
      tell_finished(i, (*request_.rows)[i].values, true);
      gradients.push_back({});
      continue;
    }
    if (sum && !comes_whole(i)) tell_finished(i, sum, false);
    if (!sum && request_.unconnected == Unconnected::zero) {
      const Tape::Source& source = request_.sources[i];
      const Tensor value = source.variable ? source.variable->peek() : source.tensor;
      const DefaultDeviceScope beside(value.device());
      sum = zeros_like(value);
    }
    gradients.push_back(std::move(sum));
  }
  return gradients;
}

Tensors Playback::run() {
  mark_nodes();
  seed();
  for (std::size_t i = takes_part_.size(); i-- > 0;) {
    if (!takes_part_[i]) continue;
    check_interrupt();
    play(i);
  }
  return gradients_of_sources();
}

namespace {

/// The program's tape, played by the debugger's code, keeps its records.
class Borrowed {
 public:
  explicit Borrowed(Tape::State& tape) : tape_(tape), persistent_(tape.persistent) {
    if (!tape.is_borrowed()) return;
    check_not_used_up(tape);
    tape.persistent = true;
  }
  ~Borrowed() {
    if (tape_.is_borrowed()) tape_.persistent = persistent_;
  }
  Borrowed(const Borrowed&) = delete;

 private:
  Tape::State& tape_;
  const bool persistent_;
};

/// A tape that is not persistent stops recording when it is played: it could not keep the ops of its own
/// VJPs.
void use_up(Tape::State& tape) {
  if (tape.persistent) return;
  check_not_used_up(tape);
  if (TapeStack* stack = tape.stack.load()) {
    if (stack != TapeStack::if_any())
      fail<FailedPreconditionError>("the tape is active on another thread; it must be stopped there first");
    stack->remove(tape);
  }
  tape.used_up = true;
  if (Observer* observer = current_observer()) observer->tape_used_up(tape.id);
}

}  // namespace

Tensors play_back(Tape::State& tape, const GradientRequest& request) {
  check_request(request);
  if (!tape.started)
    fail<FailedPreconditionError>(
        "gradient: the tape recorded nothing, as it was never entered: `with tf.GradientTape() as tape:`");
  const Borrowed borrowed(tape);
  use_up(tape);
  Event event;
  event.kind = EventKind::playback;
  event.name = "gradient";
  event.inputs = request.targets;
  event.tape = tape.id;
  static const Attributes none;
  event.attributes = &none;
  boost::container::small_vector<std::uint64_t, 8> sources;
  Observer* observer = current_observer();
  if (observer)
    for (const Tape::Source& source : request.sources)
      sources.push_back(source.variable ? source.variable->peek().id() : source.tensor.id());
  event.sources = {sources.data(), sources.size()};
  Playback playback(tape, request);
  // The record of the playback has the values of a gradient of rows; the caller gets them only in `rows`.
  const auto each_of_rows = [&](auto&& act) {
    for (std::size_t i = 0; request.rows && i < request.rows->size(); ++i)
      if ((*request.rows)[i].values) act(i);
  };
  TracedPlayback traced(request.targets);
  Tensors gradients = traced.gives(observed(observer, event, [&](std::uint64_t) {
    Tensors found = playback.run();
    each_of_rows([&](std::size_t i) { found[i] = (*request.rows)[i].values; });
    return found;
  }));
  each_of_rows([&](std::size_t i) { gradients[i] = Tensor(); });
  return gradients;
}

}  // namespace tapedeck::detail
