// The one way in: every op, from Python, C++, a VJP or an optimiser, goes through run_op.
//
// It runs the shape rule (all checks), passes the observer's gate, runs the forward function, records on this
// thread's tapes, and reports to the observer. Without an observer and a tape, that costs one relaxed load
// and two branches.
#pragma once

#include "engine/ops/core/op.h"

namespace tapedeck {

Tensors run_op(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes = {});

/// For ops with one output.
Tensor run_op1(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes = {});
/// The same for a few tensors in braces, `run_op1(op, {a, b})`, without changing their reference counts.
struct TensorReference {
  TensorReference(const Tensor& tensor) : body(tensor.body()) {}
  TensorBody* body;
};
Tensor run_op1(const OpDef& op, std::initializer_list<TensorReference> inputs,
               const Attributes& attributes = {});

/// Runs an op again for the recorder: no tape, no observer, no gate.
Tensors replay_op(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes);
/// The same on a device, whatever the thread's is.
Tensors replay_op(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes,
                  Device device);

namespace detail {
/// Runs the forward function of a call whose checks have passed before, on inputs of the same dtypes and
/// shapes: no shape rule, no tape, no observer. `context.outputs` are the shape rule's answer.
Tensors compute_checked(const OpContext& context);
}  // namespace detail

}  // namespace tapedeck
