#include "engine/ops/core/run_op.h"

#include <exception>
#include <string>

#include "engine/ops/core/alias.h"
#include "engine/ops/core/floating.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/observed.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/core/thread_state.h"
#include "engine/ops/core/tracer.h"
#include "engine/ops/core/wider_compute.h"
#include "engine/tensor/subnormals.h"
#include "engine/tensor/unknown_shape.h"

namespace tapedeck {
namespace {

/// Handles on tensors that the caller keeps alive, without reference counts.
class BorrowedTensors {
 public:
  explicit BorrowedTensors(std::initializer_list<TensorReference> references) {
    for (const TensorReference& reference : references) tensors_.push_back(Tensor::adopt(reference.body));
  }
  ~BorrowedTensors() {
    for (Tensor& tensor : tensors_) tensor.detach();
  }
  BorrowedTensors(const BorrowedTensors&) = delete;
  operator std::span<const Tensor>() const { return tensors_; }

 private:
  Tensors tensors_;
};

[[noreturn]] void refuse_symbolic(const OpDef& op, const Tensor& input) {
  fail<InvalidArgumentError>(
      op.name, ": a ", dtype_name(input.dtype()), " tensor of shape ", shape_text(input),
      " belongs to the trace of a graph function, which has ended; return it from that function to use "
      "it outside");
}

[[noreturn]] void refuse_inputs(const OpDef& op, std::span<const Tensor> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i])
      fail<InvalidArgumentError>(op.name, ": input ", i, " (",
                                 op.inputs[std::min(i, op.inputs.size() - 1)].name, ") is undefined");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].is_symbolic() && !current_tracer()) refuse_symbolic(op, inputs[i]);
  const bool variadic = !op.inputs.empty() && op.inputs.back().variadic;
  fail<InvalidArgumentError>(op.name, ": takes ", variadic ? "at least " : "",
                             op.inputs.size() - (variadic ? 1 : 0), " tensors, got ", inputs.size());
}

void check_call(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes) {
  const std::size_t declared = op.inputs.size();
  if (inputs.size() != declared) [[unlikely]]
    if (declared == 0 || !op.inputs.back().variadic || inputs.size() + 1 < declared)
      refuse_inputs(op, inputs);
  for (const Tensor& input : inputs)
    if (!input || input.is_symbolic()) [[unlikely]]
      if (!input || !current_tracer()) refuse_inputs(op, inputs);
  if (attributes.size() != op.attributes.size()) [[unlikely]]
    fail<InvalidArgumentError>(op.name, ": takes ", op.attributes.size(), " attributes, got ",
                               attributes.size());
}

/// Shapes and storages report what is wrong, but only run_op knows which op it was.
template <class E>
[[noreturn]] void rethrow_naming(const OpDef& op, const E& error) {
  const std::string_view text = error.what();
  E named(text.starts_with(op.name + ":") ? std::string(text) : op.name + ": " + std::string(text));
  named.op_name = op.name;
  named.argument = error.argument;
  throw named;
}

template <class Function>
auto naming_the_op(const OpDef& op, Function&& function) {
  try {
    return function();
  } catch (const ResourceExhaustedError& error) {
    rethrow_naming(op, error);
  } catch (const InvalidArgumentError& error) {
    rethrow_naming(op, error);
  } catch (const UnimplementedError& error) {
    rethrow_naming(op, error);
  } catch (Error& error) {  // the op's own checks throw the others, and name it
    if (error.op_name.empty()) error.op_name = op.name;
    throw;
  }
}

Tensors compute_here(const OpContext& context) {
  if (detail::needs_other_compute(context)) [[unlikely]]
    return detail::compute_otherwise(context);
  return context.op.forward(context);
}

Tensors compute(const OpContext& context) {
  const SubnormalScope subnormals;
  return naming_the_op(context.op, [&] {
    if (gpu_count() > 0) [[unlikely]]
      return detail::compute_placed(context, compute_here);
    return compute_here(context);
  });
}

TensorSpecs announce(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes) {
  return naming_the_op(op, [&] {
    check_call(op, inputs, attributes);
    return op.shape_rule({op, inputs, attributes, {}});
  });
}

/// Reports an error of the checks to the observer.
[[noreturn]] void tell_refusal(const OpDef& op, std::span<const Tensor> inputs, const char* error) {
  if (Observer* observer = current_observer()) {
    static const Attributes none;  // those of the call may not fit the op
    Event event;
    event.op = &op;
    event.name = op.name;
    event.inputs = inputs;
    event.attributes = &none;
    observer->refused(event, error);
  }
  throw;
}

/// The path with an observer or a tape.
Tensors run_attended(const OpContext& context, Observer* observer) {
  const detail::ThreadState& thread = detail::thread_state;
  detail::CallKeeper* tapes = context.op.vjp && thread.recording != 0 ? thread.tapes : nullptr;
  const std::uint64_t tape = tapes ? tapes->keeper_of(context.inputs) : 0;
  Event event;
  event.kind = EventKind::op;
  event.op = &context.op;
  event.name = context.op.name;
  event.inputs = context.inputs;
  event.attributes = &context.attributes;
  event.outputs = context.outputs;
  event.tape = tape;
  if (gpu_count() > 0) [[unlikely]]
    event.device = detail::working_device(context);
  return detail::observed(observer, event, [&](std::uint64_t record) {
    Tensors outputs = compute(context);
    detail::make_outputs_distinct(context.inputs, outputs);
    if (tape != 0) tapes->keep({context.op, context.inputs, context.attributes, outputs, record});
    return outputs;
  });
}

/// Inlined in run_op: one more call would slow small ops.
[[gnu::always_inline]] inline Tensors check_and_run(const OpDef& op, std::span<const Tensor> inputs,
                                                    const Attributes& attributes, Device device = {}) {
  const TensorSpecs specs = [&] {
    try {
      return announce(op, inputs, attributes);
    } catch (const std::exception& error) {
      tell_refusal(op, inputs, error.what());
    }
  }();
  const OpContext context{op, inputs, attributes, specs, device};
  const detail::ThreadState& thread = detail::thread_state;
  Observer* observer = detail::observer.load(std::memory_order_acquire);
  if ((observer == nullptr && thread.recording == 0) || thread.quiet != 0) [[likely]]
    return compute(context);
  return run_attended(context, thread.unobserved == 0 ? observer : nullptr);
}

/// The path on a machine with GPUs.
Tensors run_placed(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes) {
  if (&op == &ops::copy_to_device_op) return check_and_run(op, inputs, attributes);
  const detail::Placed placed = detail::place_call(op, inputs, attributes);
  const std::span<const Tensor> operands = placed.inputs ? std::span<const Tensor>(*placed.inputs) : inputs;
  Tensors results = check_and_run(op, operands, attributes, placed.device);
  return placed.results ? detail::bring_back(op, std::move(results), *placed.results) : results;
}

/// Puts a call that became part of a graph on the thread's tapes.
void tape_traced(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes,
                 std::span<const Tensor> outputs) {
  const detail::ThreadState& thread = detail::thread_state;
  detail::CallKeeper* tapes = op.vjp && thread.recording != 0 ? thread.tapes : nullptr;
  if (tapes && tapes->keeper_of(inputs) != 0) tapes->keep({op, inputs, attributes, outputs, 0});
}

/// The call becomes part of the graph, where shapes or numbers are known only when that runs. Tapes get the
/// attributes of a sample.
[[gnu::noinline]] Tensors trace_open(const OpDef& op, std::span<const Tensor> inputs,
                                     const Attributes& attributes) {
  Attributes sample = attributes;
  Tensors outputs = naming_the_op(op, [&] {
    check_call(op, inputs, attributes);
    return detail::thread_state.tracer->call_open(op, inputs, attributes, sample);
  });
  tape_traced(op, inputs, sample, outputs);
  return outputs;
}

/// The call becomes part of the graph that this thread traces, and goes on its tapes as any other.
Tensors trace_op(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes) {
  Tracer* tracer = detail::thread_state.tracer;
  if (tracer->is_open(op, inputs, attributes)) [[unlikely]]
    return trace_open(op, inputs, attributes);
  const TensorSpecs specs = announce(op, inputs, attributes);
  Tensors outputs = naming_the_op(op, [&] { return tracer->call({op, inputs, attributes, specs, {}}); });
  tape_traced(op, inputs, attributes, outputs);
  return outputs;
}

/// The way of a thread with a FloatingScope, or one that traces.
Tensors run_detour(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes) {
  if ((detail::thread_state.detours & detail::floating_detour) != 0)
    return detail::run_floating(op, inputs, attributes);
  return detail::run_as_given(op, inputs, attributes);
}

}  // namespace

constinit thread_local detail::ThreadState detail::thread_state;

Tensors detail::run_as_given(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes) {
  if (current_tracer()) [[unlikely]]
    return trace_op(op, inputs, attributes);
  if (gpu_count() > 0) [[unlikely]]
    return run_placed(op, inputs, attributes);
  return check_and_run(op, inputs, attributes);
}

Tensors detail::compute_checked(const OpContext& context) {
  return compute(context);
}

Tensors run_op(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes) {
  if (detail::thread_state.detours != 0) [[unlikely]]
    return run_detour(op, inputs, attributes);
  if (gpu_count() > 0) [[unlikely]]
    return run_placed(op, inputs, attributes);
  return check_and_run(op, inputs, attributes);
}

Tensor run_op1(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes) {
  Tensors outputs = run_op(op, inputs, attributes);
  if (outputs.size() != 1)
    fail<InvalidArgumentError>(op.name, ": has ", outputs.size(), " outputs where one was requested");
  return std::move(outputs[0]);
}

Tensor run_op1(const OpDef& op, std::initializer_list<TensorReference> inputs, const Attributes& attributes) {
  return run_op1(op, BorrowedTensors(inputs), attributes);
}

Tensors replay_op(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes) {
  const QuietScope quiet;
  // Its inputs and attributes are as the other framework's call had them: the engine has no checks for them.
  if (is_foreign(op)) return op.forward({op, inputs, attributes, {}});
  return run_op(op, inputs, attributes);
}

Tensors replay_op(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes,
                  Device device) {
  const DeviceScope there(device);
  return replay_op(op, inputs, attributes);
}

}  // namespace tapedeck
