#include <algorithm>

#include "engine/ops/core/core_ops.h"
#include "engine/ops/core/observed.h"
#include "engine/tape/tape_state.h"

namespace tapedeck {
namespace {

/// The ops inside are kept off a tape only if none of them can ever be needed: if a single tape records, and
/// will have stopped when its VJPs run. Otherwise a tape may record the VJP, and needs to know how the values
/// that the VJP captured came about, or the second derivative would treat them as constants.
bool keeps_ops_inside_off_the_tape(const Tape::State* innermost) {
  return innermost && detail::thread_state.recording == 1 && !innermost->persistent;
}

CustomResult run_inside(const std::function<CustomResult()>& function, const Tape::State* innermost) {
  if (!keeps_ops_inside_off_the_tape(innermost)) return function();
  const StopRecording stopped;
  return function();
}

/// Outputs whose ids can belong to this call: neither tensors that existed before, nor duplicates.
void own_outputs(const std::string& name, std::uint64_t newest_before, Tensors& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) fail<InvalidArgumentError>("custom gradient of ", name, ": output ", i, " is undefined");
    const bool twice = std::any_of(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const Tensor& other) { return other.same_body(outputs[i]); });
    if (twice || outputs[i].id() <= newest_before) outputs[i] = detail::identity(outputs[i]);
  }
}

}  // namespace

Tensors custom_gradient(const std::string& name, std::span<const Tensor> inputs,
                        const std::function<CustomResult()>& function) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i])
      fail<InvalidArgumentError>("custom gradient of ", name, ": argument ", i, " is undefined");
  static const Attributes none;
  const Tape::State* tape = detail::recording_tape(inputs);
  Event event;
  event.kind = EventKind::custom;
  event.name = name;
  event.inputs = inputs;
  event.attributes = &none;
  event.tape = tape ? tape->id : 0;
  return detail::observed(current_observer(), event, [&](std::uint64_t record) {
    const std::uint64_t newest_before = detail::newest_tensor_id();
    CustomResult result = run_inside(function, tape);
    own_outputs(name, newest_before, result.outputs);
    if (!result.vjp)
      fail<InvalidArgumentError>("custom gradient of ", name, ": it returned no gradient function");
    // A variable that the function used is one more input; reading it here lets the tapes that record watch
    // it.
    Tensors all(inputs.begin(), inputs.end());
    for (const Variable& variable : result.variables) all.push_back(variable.read());
    if (detail::recording_tape(all)) {
      auto call = std::make_shared<const detail::CustomCall>(detail::CustomCall{name, std::move(result.vjp)});
      detail::TapeStack::if_any()->write({nullptr, std::move(call), all, none, result.outputs, record});
    }
    return std::move(result.outputs);
  });
}

}  // namespace tapedeck
