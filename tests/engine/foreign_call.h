// A call of another framework's op, reported as PyTorch's bindings report one.
#pragma once

#include "engine/ops/core/foreign.h"
#include "engine/record/recorder.h"

namespace tapedeck {

/// Its record.
inline std::uint32_t report_call(Recorder& recorder, const ForeignOp& op, const Tensors& inputs,
                                 const Attributes& attributes, const Tensors& outputs) {
  Event event;
  event.op = op.row;
  event.name = op.row->name;
  event.inputs = inputs;
  event.attributes = &attributes;
  const std::uint64_t record = recorder.begin(event);
  recorder.end(record, outputs, nullptr);
  return static_cast<std::uint32_t>(record);
}

}  // namespace tapedeck
