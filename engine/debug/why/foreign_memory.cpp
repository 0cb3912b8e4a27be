#include "engine/debug/why/foreign_memory.h"

#include <algorithm>

#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t glanced_at_once = 4096;

/// The results of the schema that are tensors, one for each of the record's outputs; a list of results takes
/// all that the others leave. What was written and is no result follows them.
std::vector<const ForeignValue*> results_of(const ForeignOp& op, std::size_t outputs, std::size_t appended) {
  std::vector<const ForeignValue*> found;
  std::size_t single = 0;
  for (const ForeignValue& result : op.results) single += result.is_tensor && !result.is_list;
  for (const ForeignValue& result : op.results) {
    if (!result.is_tensor) continue;
    if (outputs < single + appended) return {};
    found.insert(found.end(), result.is_list ? outputs - single - appended : 1, &result);
  }
  return found;
}

bool is_result(const ForeignOp& op, const ForeignValue& argument) {
  return std::any_of(op.results.begin(), op.results.end(), [&](const ForeignValue& result) {
    return result.is_tensor && result.written && result.alias == argument.alias;
  });
}

}  // namespace

const ForeignOp* foreign_op_of(const RecordView& record) {
  return record.head.kind == EventKind::op && record.head.op ? foreign_of(*record.head.op) : nullptr;
}

std::vector<const ForeignValue*> arguments_of(const ForeignOp& op, const Attributes& attributes,
                                              std::size_t inputs) {
  std::vector<const ForeignValue*> found;
  std::size_t list = 0;
  for (const ForeignValue& argument : op.arguments) {
    if (!argument.is_tensor) continue;
    std::size_t count = 1;
    if (argument.is_list) {
      const std::size_t at = op.row->attributes.size() + 1 + list++;
      const auto* length = at < attributes.size() ? std::get_if<std::int64_t>(&attributes[at]) : nullptr;
      if (!length || *length > static_cast<std::int64_t>(inputs)) return {};
      count = static_cast<std::size_t>(std::max<std::int64_t>(*length, 0));
    }
    found.insert(found.end(), count, &argument);
  }
  if (found.size() != inputs) found.clear();
  return found;
}

std::vector<ForeignWrite> writes_of(const ForeignOp& op, const RecordGlance& glance) {
  std::vector<ForeignWrite> writes;
  if (!op.writes || glance.state != RecordState::done) return writes;
  const auto arguments = arguments_of(op, glance.head.attributes, glance.inputs.size());
  std::vector<std::size_t> appended;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i]->written && glance.inputs[i] && !is_result(op, *arguments[i])) appended.push_back(i);
  const auto results = results_of(op, glance.outputs.size(), appended.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i]->written || glance.inputs[i] == 0 || !is_result(op, *arguments[i])) continue;
    for (std::size_t k = 0; k < results.size(); ++k)
      if (results[k]->written && results[k]->alias == arguments[i]->alias && glance.outputs[k])
        writes.push_back({glance.number, glance.inputs[i], glance.outputs[k]});
  }
  for (std::size_t k = 0; k < appended.size() && results.size() + k < glance.outputs.size(); ++k)
    if (const std::uint64_t after = glance.outputs[results.size() + k])
      writes.push_back({glance.number, glance.inputs[appended[k]], after});
  return writes;
}

SharedMemory::SharedMemory(Past& past, std::uint32_t newest) : past_(past) {
  const Trace& trace = past.recorder().trace();
  newest = std::min(newest, trace.newest());
  for (std::uint32_t first = std::max(1u, trace.oldest_kept()); first <= newest; first += glanced_at_once) {
    past.step(first, newest);
    trace.glance(first, std::min(newest, first + glanced_at_once - 1),
                 [&](const RecordGlance& glance) { read(glance); });
  }
}

void SharedMemory::read(const RecordGlance& glance) {
  if (glance.head.kind != EventKind::op || !glance.head.op) return;
  const ForeignOp* op = foreign_of(*glance.head.op);
  if (!op) return;
  for (const ForeignMemory& seen : foreign_memory(*op->row, glance.head.attributes)) {
    const auto write = write_of_record_.find(seen.writer);
    if (seen.input >= glance.inputs.size() || write == write_of_record_.end()) continue;
    const std::uint64_t tensor = glance.inputs[seen.input];
    if (tensor == 0 || !writers_.emplace(tensor, seen.writer).second) continue;
    join(tensor, writes_[write->second].after);
  }
  if (glance.state != RecordState::done) return;
  for (const ForeignWrite& write : writes_of(*op, glance)) {
    write_of_record_.emplace(write.record, writes_.size());
    writes_.push_back(write);
    join(write.before, write.after);
  }
  const bool has_views = std::any_of(op->results.begin(), op->results.end(), [](const ForeignValue& result) {
    return result.is_tensor && !result.alias.empty() && !result.written;
  });
  if (!has_views) return;
  const auto arguments = arguments_of(*op, glance.head.attributes, glance.inputs.size());
  const auto results = results_of(*op, glance.outputs.size(), 0);
  for (std::size_t k = 0; k < results.size(); ++k)
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (!results[k]->alias.empty() && results[k]->alias == arguments[i]->alias && glance.inputs[i] &&
          glance.outputs[k])
        join(glance.inputs[i], glance.outputs[k]);
}

std::uint64_t SharedMemory::memory_of(std::uint64_t tensor) const {
  std::uint64_t root = tensor;
  for (auto found = parents_.find(root); found != parents_.end(); found = parents_.find(root))
    root = found->second;
  while (tensor != root) {
    std::uint64_t& parent = parents_.at(tensor);
    tensor = parent;
    parent = root;
  }
  return root;
}

void SharedMemory::join(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t first = memory_of(a), second = memory_of(b);
  if (first != second) parents_.emplace(std::max(first, second), std::min(first, second));
}

std::vector<ForeignWrite> SharedMemory::writes_into(std::uint64_t tensor) const {
  const std::uint64_t memory = memory_of(tensor);
  std::vector<ForeignWrite> found;
  for (const ForeignWrite& write : writes_)
    if (memory_of(write.before) == memory) found.push_back(write);
  return found;
}

std::uint32_t SharedMemory::writer_of(std::uint64_t tensor) const {
  const auto found = writers_.find(tensor);
  return found == writers_.end() ? 0 : found->second;
}

std::uint64_t SharedMemory::older_value(std::uint64_t tensor) const {
  const auto spec_at = [&](std::uint64_t id) {
    return spec_of(past_.recorder().trace().tensors().get(id).spec());
  };
  const std::uint64_t memory = memory_of(tensor);
  const RecordedSpec spec = spec_at(tensor);
  std::uint64_t newest = 0;
  const auto look = [&](std::uint64_t id) {
    if (id >= tensor || id <= newest || memory_of(id) != memory) return;
    const RecordedSpec other = spec_at(id);
    if (other.shape == spec.shape && other.dtype == spec.dtype) newest = id;
  };
  std::vector<std::uint64_t> known{memory};
  for (const auto& [id, unused] : parents_) known.push_back(id);
  for (const std::uint64_t id : known) look(id);
  return newest;
}

}  // namespace tapedeck::debug
