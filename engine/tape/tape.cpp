#include "engine/tape/tape.h"

#include "engine/tape/playback.h"
#include "engine/tape/tape_state.h"
#include "engine/tape/tape_tracer.h"

namespace tapedeck {

namespace {

void check_not_borrowed(const Tape::State& tape, const char* what) {
  if (tape.is_borrowed())
    fail<FailedPreconditionError>(
        what,
        ": the tape is the program's, which code at a stop can play and not change; "
        "make a tape of your own");
}

}  // namespace

Tape::Tape(bool persistent, bool watch_accessed_variables)
    : state_(std::make_shared<State>(persistent, watch_accessed_variables)) {}

Tape::~Tape() {
  detail::TapeStack* stack = state_->stack.load();
  if (!stack) return;
  if (stack == detail::TapeStack::if_any())
    stack->remove(*state_);
  else
    state_->stack.store(nullptr);  // its own thread sees that and drops it
}

void Tape::start() {
  check_not_borrowed(*state_, "start");
  if (active()) fail<FailedPreconditionError>("the tape is already active: it records until it is stopped");
  if (state_->used_up) {
    state_->clear();
    state_->used_up = false;
  }
  state_->started = true;
  if (TapeTracer* tracer = current_tape_tracer()) [[unlikely]] {
    const bool goes_on = !state_->producers.empty();  // with what it recorded before it was stopped
    if (goes_on)
      tracer->tape_resumed(state_->id, state_->persistent, state_->watch_accessed_variables);
    else
      tracer->tape_started(state_->id, state_->persistent, state_->watch_accessed_variables);
  }
  detail::TapeStack::of_this_thread().push(state_);
}

void Tape::stop() {
  detail::TapeStack* stack = state_->stack.load();
  if (!stack)
    fail<FailedPreconditionError>("the tape is not active: it was not started, or is already stopped");
  if (stack != detail::TapeStack::if_any())
    fail<FailedPreconditionError>("the tape is active on another thread; only that one can stop it");
  stack->remove(*state_);
  if (TapeTracer* tracer = current_tape_tracer()) [[unlikely]]
    tracer->tape_stopped(state_->id);
}

void Tape::stop_all_here() {
  detail::TapeStack* stack = detail::TapeStack::if_any();
  while (stack && !stack->tapes.empty()) {
    const std::shared_ptr<State> innermost = stack->tapes.back();
    stack->remove(*innermost);
  }
}

// On the program's own thread this is not code of the debugger.
bool Tape::active() const {
  return state_->stack.load() != nullptr && !state_->is_borrowed();
}

void Tape::watch(const Tensor& tensor) {
  if (!tensor) fail<InvalidArgumentError>("watch: the tensor is undefined");
  check_not_borrowed(*state_, "watch");
  state_->watch(tensor);
  if (TapeTracer* tracer = current_tape_tracer()) [[unlikely]]
    tracer->tape_watches(state_->id, tensor);
}

void Tape::watch(const Variable& variable) {
  check_not_borrowed(*state_, "watch");
  TapeTracer* tracer = current_tape_tracer();
  state_->watch(variable, tracer ? tracer->read(variable) : variable.peek());
  if (tracer) [[unlikely]]
    tracer->tape_watches(state_->id, variable);
}

Tensor Tape::as_target(const Variable& variable) {
  Tensor value = variable.read();
  const bool watches =
      state_->watches(variable) || (state_->watch_accessed_variables && variable.trainable());
  if (watches && !state_->used_up && !state_->is_borrowed()) state_->watch(variable, value);
  return value;
}

void Tape::reset() {
  check_not_borrowed(*state_, "reset");
  if (state_->playing > 0) fail<FailedPreconditionError>("the tape cannot be reset while it is played back");
  if (TapeTracer* tracer = current_tape_tracer()) [[unlikely]]
    tracer->tape_reset(state_->id, active(), state_->persistent, state_->watch_accessed_variables);
  state_->clear();
  state_->used_up = false;
}

namespace {

template <class Container>
std::vector<Tape::Source> as_sources(const Container& items) {
  std::vector<Tape::Source> sources(items.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(items[0])>, Variable>)
      sources[i].variable = items[i];
    else
      sources[i].tensor = items[i];
  return sources;
}

}  // namespace

Tensors Tape::gradient(std::span<const Tensor> targets, std::span<const Tensor> sources,
                       std::span<const Tensor> output_gradients, Unconnected unconnected) {
  return gradient(targets, as_sources(sources), output_gradients, unconnected);
}

Tensors Tape::gradient(std::span<const Tensor> targets, std::span<const Variable> sources,
                       std::span<const Tensor> output_gradients, Unconnected unconnected) {
  return gradient(targets, as_sources(sources), output_gradients, unconnected);
}

Tensors Tape::gradient(std::span<const Tensor> targets, std::span<const Source> sources,
                       std::span<const Tensor> output_gradients, Unconnected unconnected) {
  return played({state_->id, targets, sources, output_gradients, unconnected, nullptr});
}

Tensors Tape::gradient(std::span<const Tensor> targets, std::span<const Source> sources,
                       std::span<const Tensor> output_gradients, Unconnected unconnected,
                       std::vector<RowGradient>& rows) {
  rows.assign(sources.size(), {});
  return played({state_->id, targets, sources, output_gradients, unconnected, &rows});
}

Tensors Tape::played(const GradientCall& call) {
  const std::shared_ptr<State> state = state_;  // a VJP may destroy this tape
  const auto play = [&] {
    return detail::play_back(
        *state, {call.targets, call.sources, call.output_gradients, call.unconnected, call.rows});
  };
  TapeTracer* tracer = current_tape_tracer();
  return tracer ? tracer->gradient(call, play) : play();
}

void Tape::begin_many() {
  detail::check_not_used_up(*state_);
  if (state_->is_borrowed()) return;  // it keeps its records in any case
  if (TapeTracer* tracer = current_tape_tracer(); tracer && !state_->persistent) [[unlikely]]
    tracer->tape_plays_often(state_->id);
  many_ = !state_->persistent;
  state_->persistent = true;
}

void Tape::end_many() {
  if (!std::exchange(many_, false)) return;
  state_->persistent = false;
  if (active()) stop();
  state_->clear();
  state_->used_up = true;
}

void Tape::trace_pause(bool pauses) {
  TapeTracer* tracer = current_tape_tracer();
  if (!tracer) return;
  if (pauses)
    tracer->tape_paused(state_->id);
  else
    tracer->tape_resumed(state_->id, state_->persistent, state_->watch_accessed_variables);
}

std::vector<Variable> Tape::watched_variables() const {
  std::vector<Variable> variables;
  for (const auto& watched : state_->variables) variables.push_back(watched.variable);
  return variables;
}

void Tape::visit_own_vjps(const std::function<void(const CustomVjp&)>& visit) const {
  if (state_.use_count() > 1 || state_->playing > 0) return;
  for (const auto& node : state_->nodes)
    if (node->custom && node->custom.use_count() == 1) visit(node->custom->vjp);
}

std::uint64_t Tape::id() const {
  return state_->id;
}

StopRecording::StopRecording() {
  detail::TapeStack* stack = detail::TapeStack::if_any();
  if (!stack) return;
  for (const auto& tape : stack->tapes) {
    ++tape->suspended;
    suspended_.push_back(tape);
  }
  stack->refresh();
}

StopRecording::StopRecording(Tape& tape) {
  detail::TapeStack* stack = tape.state_->stack.load();
  if (!stack || stack != detail::TapeStack::if_any())
    fail<FailedPreconditionError>("stop_recording: the tape is not active on this thread");
  ++tape.state_->suspended;
  suspended_.push_back(tape.state_);
  stack->refresh();
}

StopRecording::~StopRecording() {
  // A tape that was stopped and started again meanwhile has no StopRecording over it.
  for (const auto& tape : suspended_)
    if (tape->suspended > 0) --tape->suspended;
  if (detail::TapeStack* stack = detail::TapeStack::if_any()) stack->refresh();
}

bool is_taped(std::span<const Tensor> inputs) {
  return detail::recording_tape(inputs) != nullptr;
}

}  // namespace tapedeck
