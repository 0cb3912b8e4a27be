#include "engine/debug/why/unwritten_memory.h"

#include <algorithm>
#include <array>

#include "engine/debug/why/foreign_memory.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t allocations_glanced_at_once = 4096;

/// "aten.copy_" of "aten.copy_", "aten.empty" of "aten.empty.memory_format".
std::string_view without_overload(const OpDef& op) {
  const std::string_view name = op.name;
  const std::size_t space = name.find('.');
  return space == std::string_view::npos ? name : name.substr(0, name.find('.', space + 1));
}

bool gives_views(const ForeignOp& op) {
  return std::ranges::any_of(op.results, [](const ForeignValue& result) {
    return result.is_tensor && !result.alias.empty() && !result.written;
  });
}

/// Whether the op writes some elements of its first argument, and leaves the others as they are.
bool writes_in_part(const OpDef& op) {
  constexpr std::array names{"aten.index_put_",  "aten.scatter_",        "aten.masked_fill_", "aten.put_",
                             "aten.index_copy_", "aten.masked_scatter_", "aten.index_fill_"};
  return std::ranges::find(names, without_overload(op)) != names.end();
}

}  // namespace

bool is_uninitialised(const OpDef& op) {
  return gives_uninitialised(op);
}

bool overwrites(const ForeignOp& op, const ForeignValue& argument) {
  return argument.overwritten || (argument.written && op.reads_shapes_alone);
}

std::vector<bool> overwritten_inputs(const RecordHead& head, std::size_t inputs) {
  std::vector<bool> found(inputs);
  const ForeignOp* const op = head.kind == EventKind::op && head.op ? foreign_of(*head.op) : nullptr;
  if (!op || !op->writes) return found;
  const auto arguments = arguments_of(*op, head.attributes, inputs);
  for (std::size_t i = 0; i < arguments.size(); ++i) found[i] = overwrites(*op, *arguments[i]);
  return found;
}

/// Reads a side's records once, in order.
class UninitialisedReader {
 public:
  explicit UninitialisedReader(const Trace& trace) : trace_(trace) {}

  void take(const RecordGlance& record) {
    if (record.head.kind != EventKind::op || !record.head.op || record.state != RecordState::done) return;
    const ForeignOp* const op = foreign_of(*record.head.op);
    if (!op) return;
    if (is_uninitialised(*op->row)) return take_allocation(record);
    if (memories_.empty()) return;
    // The same memory behind a write into it through another tensor.
    for (const ForeignMemory& seen : foreign_memory(*op->row, record.head.attributes))
      if (const auto writer = writers_.find(seen.writer);
          writer != writers_.end() && seen.input < record.inputs.size())
        place(record.inputs[seen.input], writer->second);
    const bool views = gives_views(*op);
    if (!views && !op->reads_shapes_alone) note_reads(record);
    if (views && !record.inputs.empty())
      if (const auto base = memory_of_.find(record.inputs[0]); base != memory_of_.end())
        for (const std::uint64_t view : record.outputs) place(view, base->second);
    if (op->writes) take_writes(*op, record);
  }

  Uninitialised finished() { return std::move(found_); }

 private:
  struct Memory {
    std::uint32_t made = 0;
    std::int64_t elements = 0, written = 0;
    Contents contents() const {
      return written == 0 ? Contents::never : written < elements ? Contents::in_part : Contents::written;
    }
  };

  std::int64_t elements(std::uint64_t tensor) const {
    const std::uint32_t spec = tensor ? trace_.tensors().get(tensor).spec() : 0;
    return spec ? element_count(spec_of(spec).shape) : 0;
  }

  void take_allocation(const RecordGlance& record) {
    for (const std::uint64_t id : record.outputs) {
      if (!id || elements(id) == 0) continue;
      memories_.push_back({record.number, elements(id), 0});
      place(id, memories_.size() - 1);
    }
  }

  void place(std::uint64_t tensor, std::size_t memory) {
    if (!tensor || !memory_of_.emplace(tensor, memory).second) return;
    if (const Contents contents = memories_[memory].contents(); contents != Contents::written)
      found_.tensors_.emplace(tensor, contents);
  }

  void note_reads(const RecordGlance& record) {
    const std::vector<bool> overwritten = overwritten_inputs(record.head, record.inputs.size());
    for (std::size_t i = writes_in_part(*record.head.op) ? 1 : 0; i < record.inputs.size(); ++i) {
      if (overwritten[i]) continue;
      const Contents contents = found_.contents(record.inputs[i]);
      if (contents == Contents::written) continue;
      found_.reads_.emplace(record.number,
                            UninitialisedRead{contents, memories_[memory_of_.at(record.inputs[i])].made});
      return;
    }
  }

  void take_writes(const ForeignOp& op, const RecordGlance& record) {
    const std::vector<bool> overwritten = overwritten_inputs(record.head, record.inputs.size());
    for (const ForeignWrite& write : writes_of(op, record)) {
      const auto base = memory_of_.find(write.before);
      if (base == memory_of_.end()) continue;
      writers_.emplace(record.number, base->second);
      const auto input = std::ranges::find(record.inputs, write.before) - record.inputs.begin();
      Memory& memory = memories_[base->second];
      const std::size_t mine = base->second;
      if (writes_in_part(*op.row)) {
        memory.written += std::max<std::int64_t>(1, elements(record.inputs.back()));
        place(write.after, mine);
        continue;
      }
      // What a write into all of a tensor leaves there is of the program, whatever the rest of its memory
      // holds.
      if (overwritten[static_cast<std::size_t>(input)]) memory.written += elements(write.before);
      memory_of_.emplace(write.after, mine);
    }
  }

  const Trace& trace_;
  std::vector<Memory> memories_;
  std::unordered_map<std::uint64_t, std::size_t> memory_of_;
  std::unordered_map<std::uint32_t, std::size_t> writers_;  ///< memories by the records that wrote into them
  Uninitialised found_;
};

Contents Uninitialised::contents(std::uint64_t tensor) const {
  const auto known = tensors_.find(tensor);
  return known == tensors_.end() ? Contents::written : known->second;
}

const UninitialisedRead* Uninitialised::read_by(std::uint32_t record) const {
  const auto known = reads_.find(record);
  return known == reads_.end() ? nullptr : &known->second;
}

Uninitialised uninitialised_of(const Trace& trace, std::uint32_t first, std::uint32_t last,
                               const CancelFlag* cancel) {
  UninitialisedReader reader(trace);
  for (std::uint64_t next = first; next <= last;) {
    check_cancelled(cancel);
    next = std::max<std::uint64_t>(next, trace.oldest_kept());
    if (next > last) break;
    const std::uint64_t end = std::min<std::uint64_t>(next + allocations_glanced_at_once - 1, last);
    const std::uint32_t after =
        trace.glance(static_cast<std::uint32_t>(next), static_cast<std::uint32_t>(end),
                     [&](const RecordGlance& record) { reader.take(record); });
    if (after <= next) break;  // its thread writes it just now
    next = after;
  }
  return reader.finished();
}

}  // namespace tapedeck::debug
