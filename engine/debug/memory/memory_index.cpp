#include "engine/debug/memory/memory_index.h"

#include <algorithm>

#include "engine/debug/why/foreign_memory.h"
#include "engine/tape/large_value.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t memory_records = 2048;
constexpr std::uint32_t records_in_turn = 1 << 16;
// An op that runs stops the index until it ended, unless so many began after it: it may run for long.
constexpr std::uint32_t most_ahead = 1024;

bool reads_inputs(VjpReads reads) {
  return reads == VjpReads::everything || reads == VjpReads::inputs;
}
bool reads_outputs(VjpReads reads) {
  return reads == VjpReads::everything || reads == VjpReads::outputs;
}

bool ended(RecordState state) {
  return state == RecordState::done || state == RecordState::failed;
}

std::uint64_t tensor_bytes(std::uint32_t spec) {
  if (spec == 0) return 0;
  const RecordedSpec known = spec_of(spec);
  return static_cast<std::uint64_t>(element_count(known.shape)) * item_size(known.dtype);
}

/// The values of an op that a tape keeps for its VJP: `visit(tensor id)`.
template <class Visit>
void visit_kept(const Recorder& recorder, const OpDef* op, std::span<const std::uint64_t> inputs,
                std::span<const std::uint64_t> outputs, Visit&& visit) {
  // As Tape::State::record keeps them; a custom gradient's function holds what it needs itself.
  const VjpReads reads = op ? op->vjp_reads : VjpReads::shapes;
  const std::size_t large = tapedeck::detail::large_value.load(std::memory_order_relaxed);
  const TensorTable& table = recorder.trace().tensors();
  const auto keep = [&](std::span<const std::uint64_t> ids, bool all) {
    for (const std::uint64_t id : ids)
      if (id != 0 && (all || tensor_bytes(table.get(id).spec()) < large)) visit(id);
  };
  keep(inputs, reads_inputs(reads));
  keep(outputs, reads_outputs(reads));
}

}  // namespace

/// A record with a copy of its ids: what is looked at while the trace is not held.
struct MemoryIndex::Seen {
  std::uint32_t number = 0, forward = 0;
  const OpDef* op = nullptr;
  EventKind kind = EventKind::op;
  RecordState state = RecordState::done;
  std::uint16_t depth = 0, thread = 0;
  std::uint64_t tape = 0;
  TensorIds inputs, outputs;
  std::vector<ForeignWrite> writes;

  explicit Seen(const RecordGlance& glance)
      : number(glance.number),
        forward(glance.head.forward),
        op(glance.head.op),
        kind(glance.head.kind),
        state(glance.state),
        depth(glance.head.depth),
        thread(glance.head.thread),
        tape(glance.head.tape),
        inputs(glance.inputs.begin(), glance.inputs.end()),
        outputs(glance.outputs.begin(), glance.outputs.end()) {
    const ForeignOp* foreign = kind == EventKind::op && op ? foreign_of(*op) : nullptr;
    if (foreign && foreign->writes) writes = writes_of(*foreign, glance);
  }
};

void MemoryIndex::kept_of(std::uint32_t record, std::vector<std::uint64_t>& ids) const {
  ids.clear();
  recorder_->trace().glance(record, record, [&](const RecordGlance& glance) {
    if (glance.number == record)
      visit_kept(*recorder_, glance.head.kind == EventKind::op ? glance.head.op : nullptr, glance.inputs,
                 glance.outputs, [&](std::uint64_t id) { ids.push_back(id); });
  });
}

void MemoryIndex::clear(std::uint32_t oldest) {
  *this = MemoryIndex(*recorder_);
  first_ = next_ = oldest;
  // What was made before, and is still there.
  const Trace& trace = recorder_->trace();
  trace.tensors().visit_alive(trace.oldest_tensor(),
                              [this, oldest](std::uint64_t root) { add_storage(root, oldest, oldest); });
}

void MemoryIndex::catch_up(const CancelFlag* cancel) {
  const Trace& trace = recorder_->trace();
  const std::uint32_t oldest = std::max(trace.oldest_kept(), 1u);
  if (next_ < oldest || (oldest > first_ && oldest - first_ > moments_.size() / 2)) clear(oldest);
  const std::uint32_t newest = trace.newest();  // before the ends are looked at: none comes late then
  look_at_late();
  while (next_ <= newest && advance_to(std::min(newest, next_ + records_in_turn - 1), cancel)) {
  }
  pass_on_written();
  take_events(next_);
  close_done();
  note_steps(cancel);
}

/// False where it stopped before.
bool MemoryIndex::advance_to(std::uint32_t target, const CancelFlag* cancel) {
  schedule(target);
  std::vector<Seen> seen;
  bool stopped = false;
  while (next_ <= target && !stopped) {
    check_cancelled(cancel);
    const std::uint32_t last = read(next_, std::min(target, next_ + memory_records - 1), seen);
    for (const Seen& record : seen) {
      const bool runs = record.kind == EventKind::op && !ended(record.state);
      if (runs && recorder_->trace().newest() - record.number < most_ahead) break;
      if (runs) late_.push_back(record.number);
      process(record);
    }
    stopped = seen.empty() || next_ != last + 1;
  }
  // What was due after the place where it stopped is found again the next time.
  for (const auto& roots : due_) unscheduled_.insert(unscheduled_.end(), roots.begin(), roots.end());
  due_.clear();
  return !stopped;
}

/// The number of the last one that was read; `first` - 1 where it is just being written.
std::uint32_t MemoryIndex::read(std::uint32_t first, std::uint32_t last, std::vector<Seen>& seen) {
  seen.clear();
  recorder_->trace().glance(first, last, [&](const RecordGlance& glance) { seen.emplace_back(glance); });
  return seen.empty() ? first - 1 : seen.back().number;
}

void MemoryIndex::look_at_late() {
  std::erase_if(late_, [this](std::uint32_t number) {
    std::vector<Seen> seen;
    read(number, number, seen);
    if (seen.empty() || seen[0].number != number) return true;
    if (!ended(seen[0].state)) return false;
    add_outputs(seen[0], next_);
    return true;
  });
}

void MemoryIndex::schedule(std::uint32_t target) {
  due_first_ = next_;
  due_.assign(target >= next_ ? target - next_ + 1 : 0, {});
  const TensorTable& table = recorder_->trace().tensors();
  std::erase_if(unscheduled_, [&](std::uint64_t root) {
    const auto found = alive_.find(root);
    if (found == alive_.end()) return true;
    const std::uint32_t gone = table.life(root).gone;
    if (gone == 0 || gone > target || due_.empty()) return false;
    due_[std::max(gone, due_first_) - due_first_].push_back(root);
    return true;
  });
}

std::uint64_t& MemoryIndex::sum_of(const Slot& slot) {
  return slot.variables ? now_.variables : slot.tapes ? now_.tapes : now_.program;
}

template <class Change>
void MemoryIndex::change(std::uint64_t root, Change&& change) {
  const auto found = alive_.find(root);
  if (found == alive_.end()) return;
  Slot& slot = found->second;
  if (!slot.borrowed) sum_of(slot) -= slot.bytes;
  change(slot);
  if (!slot.borrowed) sum_of(slot) += slot.bytes;
}

/// `now`: the record that is being looked at, from which on it counts.
void MemoryIndex::add_storage(std::uint64_t root, std::uint32_t born, std::uint32_t now, bool written) {
  const TensorTable& table = recorder_->trace().tensors();
  const std::uint32_t gone = table.life(root).gone;
  if ((gone != 0 && gone <= now) || alive_.contains(root)) return;
  const MemoryLog::Size size = recorder_->memory().size(root, tensor_bytes(table.get(root).spec()));
  Slot slot;
  slot.bytes = size.bytes;
  slot.borrowed = size.borrowed;
  slot.life = static_cast<std::uint32_t>(lives_.size());
  lives_.push_back({root, size.bytes, born, 0, written});
  if (!slot.borrowed) now_.program += slot.bytes;
  const std::uint32_t place = gone - due_first_;
  if (gone >= due_first_ && place < due_.size())
    due_[place].push_back(root);
  else
    unscheduled_.push_back(root);
  alive_.emplace(root, slot);
}

void MemoryIndex::add_outputs(const Seen& record, std::uint32_t now) {
  const TensorTable& table = recorder_->trace().tensors();
  for (const ForeignWrite& write : record.writes) {
    const std::uint64_t before = table.life(write.before).root, after = table.life(write.after).root;
    if (now != record.number || before == after || after != write.after || !alive_.contains(before)) continue;
    written_.emplace_back(before, after);
    written_by_ = record.number;
  }
  const auto was_written = [&](std::uint64_t id) {
    return std::any_of(written_.begin(), written_.end(), [id](const auto& one) { return one.second == id; });
  };
  for (const std::uint64_t id : record.outputs)
    if (id != 0 && table.get(id).producer() == record.number && table.life(id).root == id && !was_written(id))
      add_storage(id, record.number, now);
}

/// The op that wrote has run: what it wrote to is the same memory under another root.
void MemoryIndex::pass_on_written() {
  for (const auto& [before, after] : std::exchange(written_, {})) {
    end_storage(before, written_by_ + 1);
    add_storage(after, written_by_, written_by_ + 1, true);
  }
}

void MemoryIndex::end_storage(std::uint64_t root, std::uint32_t record) {
  const auto found = alive_.find(root);
  if (found == alive_.end()) return;
  const Slot& slot = found->second;
  if (!slot.borrowed) sum_of(slot) -= slot.bytes;
  lives_[slot.life].gone = record;
  alive_.erase(found);
}

void MemoryIndex::take_events(std::uint32_t before) {
  while (true) {
    if (next_event_ == events_.size()) {
      events_ = recorder_->memory().read(log_position_);
      next_event_ = 0;
      if (events_.empty()) return;
    }
    if (events_[next_event_].after >= before) return;
    take(events_[next_event_++]);
  }
}

void MemoryIndex::take(const MemoryEvent& event) {
  switch (event.kind) {
    case MemoryEventKind::arrived:
      return add_storage(event.subject, event.after + 1, std::max(event.after + 1, next_));
    case MemoryEventKind::assigned:
      return assign(event);
    case MemoryEventKind::variable_gone:
      return end_value(event.subject, event.after + 1);
    case MemoryEventKind::taped:
      kept_of(static_cast<std::uint32_t>(event.subject), ids_);
      return put_on_tape(event.object, static_cast<std::uint32_t>(event.subject), ids_);
    case MemoryEventKind::tape_used_up:
      tape(event.subject, event.after + 1).used_up = true;
      return;
    case MemoryEventKind::tape_emptied:
      return release_all(tape(event.subject, event.after + 1), event.after + 1);
    case MemoryEventKind::cell_ended:
      if (event.after > 0 && (cells_.empty() || cells_.back() != event.after)) cells_.push_back(event.after);
      return;
  }
}

void MemoryIndex::assign(const MemoryEvent& event) {
  const std::uint64_t root = recorder_->trace().tensors().life(event.subject).root;
  end_value(event.object, event.after + 1);
  value_of_[event.object] = values_.size();
  values_.push_back({root, event.subject, event.object, event.after + 1, 0});
  change(root, [](Slot& slot) { ++slot.variables; });
}

void MemoryIndex::end_value(std::uint64_t variable, std::uint32_t record) {
  const auto found = value_of_.find(variable);
  if (found == value_of_.end()) return;
  VariableValue& value = values_[found->second];
  value.to = record;
  change(value.root, [](Slot& slot) { slot.variables -= slot.variables > 0; });
  value_of_.erase(found);
}

TapeLife& MemoryIndex::tape(std::uint64_t id, std::uint32_t first) {
  const auto [place, is_new] = tape_places_.try_emplace(id, tapes_.size());
  if (is_new) tapes_.push_back({id, first, 0, false, {}});
  return tapes_[place->second];
}

void MemoryIndex::put_on_tape(std::uint64_t id, std::uint32_t record, std::span<const std::uint64_t> kept) {
  TapeLife& on = tape(id, record);
  on.ended = 0;  // it begins anew
  const TensorTable& table = recorder_->trace().tensors();
  on.nodes.push_back({record, 0});
  for (const std::uint64_t tensor : kept) change(table.life(tensor).root, [](Slot& slot) { ++slot.tapes; });
}

void MemoryIndex::release(TapeNode& node, std::uint32_t record) {
  if (node.released != 0) return;
  node.released = record;
  kept_of(node.record, ids_);
  const TensorTable& table = recorder_->trace().tensors();
  for (const std::uint64_t tensor : ids_)
    change(table.life(tensor).root, [](Slot& slot) { slot.tapes -= slot.tapes > 0; });
}

void MemoryIndex::release_all(TapeLife& tape, std::uint32_t record) {
  for (TapeNode& node : tape.nodes) release(node, record);
  tape.ended = record;
}

/// Releases what its thread's VJPs and playbacks that ended before this record held.
void MemoryIndex::close_ended(const Seen& record) {
  std::vector<OpenRecord>& open = open_[record.thread];
  for (; !open.empty() && open.back().depth >= record.depth; open.pop_back())
    close(open.back(), record.number);
}

/// Those that have ended though no record came after them.
void MemoryIndex::close_done() {
  std::vector<Seen> seen;
  for (auto& [thread, open] : open_)
    for (; !open.empty(); open.pop_back()) {
      read(open.back().number, open.back().number, seen);
      if (!seen.empty() && seen[0].number == open.back().number && !ended(seen[0].state)) break;
      close(open.back(), next_);
    }
}

void MemoryIndex::close(const OpenRecord& over, std::uint32_t record) {
  const auto found = tape_places_.find(over.tape);
  if (found == tape_places_.end() || !tapes_[found->second].used_up) return;
  TapeLife& tape = tapes_[found->second];
  if (over.playback) return release_all(tape, record);
  const auto node =
      std::lower_bound(tape.nodes.begin(), tape.nodes.end(), over.forward,
                       [](const TapeNode& one, std::uint32_t number) { return one.record < number; });
  if (node != tape.nodes.end() && node->record == over.forward) release(*node, record);
}

void MemoryIndex::note_steps(const CancelFlag* cancel) {
  if (!steps_.empty()) steps_.pop_back();  // the last one may have gone on
  training_.extend(cancel, last());
  while (steps_.size() < training_.size()) steps_.push_back(training_.at(steps_.size() + 1).last);
}

void MemoryIndex::process(const Seen& record) {
  const std::uint32_t number = record.number;
  pass_on_written();
  take_events(number);
  close_ended(record);
  if (number >= due_first_ && number - due_first_ < due_.size())
    for (const std::uint64_t root : std::exchange(due_[number - due_first_], {})) end_storage(root, number);
  if (record.kind == EventKind::op && ended(record.state)) add_outputs(record, number);
  const bool forward = record.kind == EventKind::op || record.kind == EventKind::custom;
  if (forward && record.tape != 0 && record.state != RecordState::failed) {
    ids_.clear();
    visit_kept(*recorder_, record.kind == EventKind::op ? record.op : nullptr,
               {record.inputs.data(), record.inputs.size()}, {record.outputs.data(), record.outputs.size()},
               [this](std::uint64_t id) { ids_.push_back(id); });
    put_on_tape(record.tape, number, ids_);
  }
  if (record.kind == EventKind::vjp || record.kind == EventKind::playback)
    open_[record.thread].push_back(
        {number, record.forward, record.depth, record.kind == EventKind::playback, record.tape});
  if (record.kind == EventKind::playback && record.depth == 0) gradients_.push_back(number);
  moments_.resize(number - first_, moments_.empty() ? MemoryMoment{} : moments_.back());
  moments_.push_back(now_);
  if (now_.sum() > peak_bytes_ || peak_ == 0) {
    peak_bytes_ = now_.sum();
    peak_ = number;
  }
  next_ = number + 1;
}

}  // namespace tapedeck::debug
