#include "engine/tape/tape_state.h"

#include <algorithm>
#include <atomic>

#include "engine/ops/core/observer.h"
#include "engine/ops/core/programs_work.h"
#include "engine/tape/large_value.h"
#include "engine/tensor/block_pool.h"

namespace tapedeck {
namespace {

std::uint64_t next_tape_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::atomic<bool> integer_gradients{false};

/// Values that the VJP does not read are freed as soon as the program releases them; for small ones this
/// costs more than it saves.
void keep(Tensors& kept, std::span<const Tensor> tensors, bool reads) {
  const std::size_t large = detail::large_value.load(std::memory_order_relaxed);
  for (const Tensor& tensor : tensors)
    if (reads || tensor.bytes() < large)
      kept.push_back(tensor);
    else
      kept.push_back(tensor.without_values());
}

}  // namespace

bool has_gradients(DType dtype) {
  if (is_differentiable(dtype)) return true;
  return is_integer(dtype) && integer_gradients.load(std::memory_order_relaxed);
}

void set_integer_gradients(bool given) {
  integer_gradients.store(given, std::memory_order_relaxed);
}

Tape::State::State(bool is_persistent, bool watches_accessed_variables)
    : id(next_tape_id()),
      persistent(is_persistent),
      watch_accessed_variables(watches_accessed_variables),
      of_program(is_programs_work()) {}

bool Tape::State::is_borrowed() const {
  return of_program && detail::thread_state.unobserved != 0;
}

namespace {

/// Before it releases what it kept.
void tell_emptied(const Tape::State& tape) {
  if (tape.nodes.empty() || !tape.of_program) return;
  if (Observer* observer = detail::observer.load(std::memory_order_acquire)) observer->tape_emptied(tape.id);
}

}  // namespace

Tape::State::~State() {
  tell_emptied(*this);
}

detail::Slot Tape::State::watch(const Tensor& tensor) {
  if (!has_gradients(tensor.dtype())) return detail::no_slot;
  if (const detail::Slot known = slots.find(tensor.id()); known != detail::no_slot) return known;
  const auto slot = static_cast<detail::Slot>(producers.size());
  producers.push_back(-1);
  slots.set(tensor.id(), slot);
  return slot;
}

void Tape::State::watch(const Variable& variable, const Tensor& value) {
  const detail::Slot slot = watch(value);
  std::int32_t position = variable_positions.find(variable.id());
  if (position < 0) {
    position = static_cast<std::int32_t>(variables.size());
    variable_positions.set(variable.id(), position);
    variables.push_back({variable, {}});
  }
  if (slot == detail::no_slot) return;  // noted as read, but no gradient flows to it
  const auto place = static_cast<std::size_t>(slot);
  if (slot_variables.size() <= place) slot_variables.resize(place + 1, -1);
  std::int32_t& owner = slot_variables[place];
  if (owner == position) return;
  auto& seen = variables[static_cast<std::size_t>(position)].slots;
  // Only a value that another variable also had needs a search.
  if (owner >= 0 && std::find(seen.rbegin(), seen.rend(), slot) != seen.rend()) return;
  owner = position;
  seen.push_back(slot);
}

bool Tape::State::knows(std::span<const Tensor> inputs) const {
  return std::any_of(inputs.begin(), inputs.end(),
                     [this](const Tensor& tensor) { return tensor && slots.find(tensor.id()) >= 0; });
}

void Tape::State::record(const detail::TapedCall& call) {
  if (nodes.empty()) {  // most tapes are short: one allocation each instead of several
    nodes.reserve(16);
    producers.reserve(32);
  }
  auto node = std::make_unique<detail::Node>();
  node->op = call.op;
  node->custom = call.custom;
  node->attributes = call.attributes;
  // A custom gradient's function itself holds what it needs.
  const VjpReads reads = call.op ? call.op->vjp_reads : VjpReads::shapes;
  keep(node->inputs, call.inputs, reads == VjpReads::everything || reads == VjpReads::inputs);
  keep(node->outputs, call.outputs, reads == VjpReads::everything || reads == VjpReads::outputs);
  node->record = call.record;
  for (const Tensor& input : call.inputs) node->input_slots.push_back(slots.find(input.id()));
  node->first_output = static_cast<detail::Slot>(producers.size());
  for (const Tensor& output : call.outputs) {
    if (has_gradients(output.dtype())) slots.set(output.id(), static_cast<detail::Slot>(producers.size()));
    producers.push_back(static_cast<std::int32_t>(nodes.size()));
  }
  nodes.push_back(std::move(node));
}

void Tape::State::clear() {
  tell_emptied(*this);
  // Newest first, each unlinked before its tensors are released: their destructors may access this tape.
  while (!nodes.empty()) {
    const std::unique_ptr<detail::Node> newest = std::move(nodes.back());
    nodes.pop_back();
  }
  slots.clear();
  producers.clear();
  variables.clear();
  variable_positions.clear();
  slot_variables.clear();
}

namespace detail {

constinit std::atomic<std::size_t> large_value{std::size_t{32} << 10};

void* Node::operator new(std::size_t bytes) {
  return allocate_block(bytes);
}
void Node::operator delete(void* node, std::size_t bytes) noexcept {
  free_block(node, bytes);
}

TapeStack& TapeStack::of_this_thread() {
  static thread_local TapeStack stack;
  thread_state.tapes = &stack;
  return stack;
}

TapeStack::~TapeStack() {
  for (const auto& tape : tapes) tape->stack.store(nullptr);
  thread_state.tapes = nullptr;
  thread_state.recording = 0;
}

void TapeStack::push(std::shared_ptr<Tape::State> tape) {
  tape->stack.store(this);
  tape->suspended = 0;
  tapes.push_back(std::move(tape));
  refresh();
}

void TapeStack::remove(Tape::State& tape) {
  tape.stack.store(nullptr);
  refresh();
}

void TapeStack::refresh() {
  // A tape that was destroyed on another thread could not take itself off; it has no stack any more.
  std::erase_if(tapes, [](const auto& tape) { return tape->stack.load() == nullptr; });
  thread_state.recording = static_cast<std::uint32_t>(
      std::count_if(tapes.begin(), tapes.end(), [](const auto& tape) { return tape->records(); }));
}

TapeStack* TapeStack::if_any() {
  return static_cast<TapeStack*>(thread_state.tapes);
}

Tape::State* TapeStack::innermost_for(std::span<const Tensor> inputs) const {
  for (auto tape = tapes.rbegin(); tape != tapes.rend(); ++tape)
    if ((*tape)->records() && (*tape)->knows(inputs)) return tape->get();
  return nullptr;
}

std::uint64_t TapeStack::keeper_of(std::span<const Tensor> inputs) const {
  const Tape::State* tape = innermost_for(inputs);
  return tape ? tape->id : 0;
}

void TapeStack::keep(const FinishedCall& call) {
  write({&call.op, nullptr, call.inputs, call.attributes, call.outputs, call.record});
}

void TapeStack::write(const TapedCall& call) {
  const Tape::State* before = nullptr;  // the next outer one; the innermost is in the record itself
  for (const auto& tape : tapes) {
    if (!tape->records() || !tape->knows(call.inputs)) continue;
    tape->record(call);
    if (before && call.record != 0) [[unlikely]]
      if (Observer* observer = current_observer()) observer->taped(call.record, before->id);
    before = tape.get();
  }
}

Tape::State* recording_tape(std::span<const Tensor> inputs) {
  if (thread_state.recording == 0 || thread_state.quiet != 0) return nullptr;
  return TapeStack::if_any()->innermost_for(inputs);
}

}  // namespace detail
}  // namespace tapedeck
