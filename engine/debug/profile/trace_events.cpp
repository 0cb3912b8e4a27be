#include "engine/debug/profile/trace_events.h"

#include "engine/debug/hashed.h"
#include "engine/debug/training_steps.h"
#include "engine/record/trace/clock.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t events_at_once = 2048;  // a glance: no record is forgotten meanwhile
constexpr std::size_t most_costs = 1 << 16;

TensorSpecs specs_of(const TensorTable& tensors, std::span<const std::uint64_t> ids) {
  TensorSpecs specs;
  for (const std::uint64_t id : ids) {
    const std::uint32_t number = id ? tensors.get(id).spec() : 0;
    if (number == 0) return {};
    const RecordedSpec known = spec_of(number);
    specs.push_back({known.dtype, known.shape});
  }
  return specs;
}

bool is_wide(DType dtype) {
  return dtype == DType::float64 || dtype == DType::complex128;
}

}  // namespace

std::uint32_t TraceEvents::visit(std::uint32_t first, std::uint32_t last, const Visit& visit) {
  std::uint32_t next = first;
  while (next <= last) {
    const std::uint32_t end = std::min(last, next + events_at_once - 1);
    const std::uint32_t after =
        recorder_.trace().glance(next, end, [&](const RecordGlance& record) { visit(event_of(record)); });
    if (after <= end) return after;
    next = after;
  }
  return next;
}

ProfileEvent TraceEvents::event_of(const RecordGlance& record) {
  const RecordHead& head = record.head;
  ProfileEvent event;
  event.number = record.number;
  event.thread = head.thread;
  event.depth = head.depth;
  event.ended = record.state == RecordState::done || record.state == RecordState::failed;
  event.inner = head.kind != EventKind::op;
  event.start = clock::nanoseconds(head.start);
  event.duration = event.ended ? clock::nanoseconds(record.duration) : 0;
  event.kind = class_of(record);
  event.work = record.device.state;
  event.gpu = classes_.at(event.kind).gpu;
  if (event.work == WorkTime::known) {
    event.work_start = clock::nanoseconds(record.device.start);
    event.work_duration = clock::nanoseconds(record.device.duration);
  }
  if (record.state == RecordState::done && head.kind == EventKind::op && head.op) {
    const OpCost cost = cost_of(record);
    event.flops = cost.flops;
    event.bytes = cost.bytes;
  }
  return event;
}

std::uint32_t TraceEvents::class_of(const RecordGlance& record) {
  const RecordHead& head = record.head;
  const std::uint32_t spec = record.outputs.empty() || record.outputs[0] == 0
                                 ? 0
                                 : recorder_.trace().tensors().get(record.outputs[0]).spec();
  const bool updates = head.kind == EventKind::op && is_update(head.op, head.scope, head.backward);
  const std::uint64_t what = head.op ? static_cast<std::uint64_t>(head.op->index) : head.name();
  // The spec identifies the dtype: records of other shapes get keys of their own and the same class.
  const ClassKey key{
      what << 38 | std::uint64_t{spec} << 6 | static_cast<std::uint64_t>(head.kind) << 3 |
          std::uint64_t{head.op != nullptr} << 2 | std::uint64_t{head.custom_gradient} << 1 |
          std::uint64_t{head.backward},
      std::uint64_t{head.location} << 32 | head.scope,
      static_cast<std::uint8_t>(record.device.state == WorkTime::host ? 0 : record.device.gpu + 1)};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  ProfileClass of;
  of.op = head.op ? head.op->name : name_of(head.name());
  if (head.kind == EventKind::vjp) of.op += " VJP";
  of.role = updates                          ? ProfileRole::update
            : head.backward                  ? ProfileRole::backward
            : head.kind == EventKind::custom ? ProfileRole::custom
                                             : ProfileRole::forward;
  of.user_gradient = head.custom_gradient && head.kind != EventKind::op;
  of.inner = head.kind != EventKind::op;
  of.gpu = key.gpu;
  of.wide = spec != 0 && is_wide(spec_of(spec).dtype);
  of.location = head.location;
  of.scope = head.scope;
  const std::uint32_t number = classes_.number(of);
  known_.emplace(key, number);
  return number;
}

OpCost TraceEvents::cost_of(const RecordGlance& record) {
  const RecordHead& head = record.head;
  const TensorTable& tensors = recorder_.trace().tensors();
  std::uint64_t hash = hashed(0, static_cast<std::uint64_t>(head.op->index));
  for (std::size_t i = 0; i < head.attributes.size(); ++i)
    hash = hashed(hash, attribute_hash(head.attributes[i]));
  for (const std::uint64_t id : record.inputs) hash = hashed(hash, id ? tensors.get(id).spec() : 0);
  hash = hashed(hash, 0xffff'ffff);
  for (const std::uint64_t id : record.outputs) hash = hashed(hash, id ? tensors.get(id).spec() : 0);
  if (const auto found = costs_.find(hash); found != costs_.end()) return found->second;
  const TensorSpecs inputs = specs_of(tensors, record.inputs), outputs = specs_of(tensors, record.outputs);
  OpCost cost;
  if (inputs.size() == record.inputs.size() && outputs.size() == record.outputs.size())
    cost = tapedeck::cost_of({*head.op, inputs, head.attributes, outputs});
  if (costs_.size() >= most_costs) costs_.clear();
  costs_.emplace(hash, cost);
  return cost;
}

}  // namespace tapedeck::debug
