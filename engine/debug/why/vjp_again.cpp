#include "engine/debug/why/vjp_again.h"

#include <memory>

#include "engine/debug/vjp/vjp_call.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/elementwise/complex.h"

namespace tapedeck::debug {

std::optional<PastVjp> vjp_call(Past& past, const RecordView& vjp) {
  const RecordView* forward = past.record(vjp.head.forward);
  if (!forward || !forward->head.op || !forward->head.op->vjp || vjp.head.custom_gradient ||
      forward->inputs.size() != vjp.outputs.size())
    return std::nullopt;
  if (past.recorder().file() && !fits(vjp, *forward)) return std::nullopt;
  PastVjp call;
  call.op = forward->head.op;
  call.attributes = forward->head.attributes;
  for (const std::uint64_t id : forward->inputs) call.inputs.push_back(past.value(id));
  check_result_count(past.recorder(), *forward, call.inputs);
  for (const std::uint64_t id : forward->outputs) call.outputs.push_back(past.value(id));
  for (const std::uint64_t id : vjp.inputs) call.cotangents.push_back(id ? past.value(id) : Tensor());
  for (const std::uint64_t id : vjp.outputs) call.given.push_back(id != 0);
  return call;
}

Tensors gradients_of(const PastVjp& call) {
  const QuietScope quiet;
  const auto wanted = std::make_unique<bool[]>(call.given.size());
  for (std::size_t i = 0; i < call.given.size(); ++i) wanted[i] = call.given[i];
  return ops::run_vjp({*call.op, call.inputs, call.attributes, call.outputs, call.cotangents,
                       std::span<const bool>(wanted.get(), call.given.size())});
}

Tensor in_dtype(const Tensor& tensor, DType dtype) {
  const QuietScope quiet;
  return ops::cast(tensor, dtype);
}

Tensor to_float64(const Tensor& tensor) {
  if (!tensor || !is_floating(tensor.dtype()) || tensor.dtype() == DType::float64) return tensor;
  return in_dtype(tensor, DType::float64);
}

Attributes to_float64(const Attributes& attributes) {
  std::vector<Attribute> values;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    values.push_back(attributes[i]);
    if (auto* dtype = std::get_if<DType>(&values.back()); dtype && is_floating(*dtype))
      *dtype = DType::float64;
  }
  return Attributes(std::move(values));
}

PastVjp in_float64(const PastVjp& call) {
  PastVjp wide = call;
  wide.attributes = to_float64(call.attributes);
  for (Tensor& input : wide.inputs) input = to_float64(input);
  for (Tensor& cotangent : wide.cotangents) cotangent = to_float64(cotangent);
  wide.outputs = replay_op(*call.op, wide.inputs, wide.attributes);
  return wide;
}

}  // namespace tapedeck::debug
