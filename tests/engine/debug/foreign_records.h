// Records of another framework's ops, as its bindings report them, for tests without that framework: what the
// ops give is computed by the engine's.
#pragma once

#include "engine/ops/core/foreign.h"
#include "engine/ops/core/ops.h"
#include "engine/record/trace/scope.h"
#include "tests/engine/debug/compared_runs.h"

namespace foreign_records {

using namespace tapedeck;

constexpr const char *t_schema = "aten::t(Tensor(a) self) -> Tensor(a)",
                     *addmm_schema =
                         "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar "
                         "alpha=1) -> Tensor",
                     *mm_schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor",
                     *relu_schema = "aten::relu(Tensor self) -> Tensor",
                     *softmax_schema = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
                     *accumulate_schema = "autograd::AccumulateGrad(Tensor variable, Tensor gradient) -> ()";

/// A tensor of its own, with these values.
inline Tensor another(const Tensor& values) {
  const QuietScope quiet;
  return ops::add(values, Tensor::scalar(0));
}

inline Tensor report(Recorder& recorder, const char* schema, const Tensors& inputs, const Tensor& output,
                     EventKind kind = EventKind::op, std::uint64_t forward = 0) {
  const ForeignOp& op = foreign_op(schema);
  const Attributes attributes;
  Event event;
  event.kind = kind;
  event.op = op.row;
  event.name = op.row->name;
  event.inputs = inputs;
  event.attributes = &attributes;
  event.forward_record = forward;
  const std::uint64_t record = recorder.begin(event);
  recorder.end(record, output ? std::span(&output, 1) : std::span<const Tensor>(), nullptr);
  return output;
}

/// A Linear's weight (out, in) and bias, as PyTorch has them.
struct Linear {
  std::string path;
  Tensor weight, bias;
  Tensor operator()(Recorder& recorder, const Tensor& x) const {
    const NameScope scope(path);
    Tensor turned, y;
    {
      const QuietScope quiet;
      turned = ops::transpose(weight);
      y = ops::add(ops::matmul(x, turned), bias);
    }
    report(recorder, t_schema, {weight}, turned);
    return report(recorder, addmm_schema, {bias, x, turned}, y);
  }
};

}  // namespace foreign_records
