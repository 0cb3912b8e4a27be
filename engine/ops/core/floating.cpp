#include "engine/ops/core/floating.h"

#include <algorithm>

#include "engine/ops/core/observer.h"
#include "engine/ops/core/thread_state.h"

namespace tapedeck {
namespace {

thread_local std::optional<DType> scope_dtype;

/// Numbers besides the tensors, such as an optimiser's learning rate: of a dtype that the op prescribes.
bool prescribed(const OpDef& op, std::size_t input) {
  const InputSpec& spec = op.inputs[std::min(input, op.inputs.size() - 1)];
  return spec.group == '\0' && spec.preferred.has_value();
}

DType counterpart(DType dtype, DType floating) {
  if (is_floating(dtype)) return floating;
  return is_complex(dtype) ? complex_dtype(floating) : dtype;
}

bool in_scope() {
  return (detail::thread_state.detours & detail::floating_detour) != 0;
}

}  // namespace

FloatingScope::FloatingScope(std::optional<DType> dtype) {
  scope_dtype = dtype;
  detail::thread_state.detours |= detail::floating_detour;
}
FloatingScope::~FloatingScope() {
  detail::thread_state.detours &= static_cast<std::uint8_t>(~detail::floating_detour);
  scope_dtype.reset();
}

DType floating_dtype(DType dtype) {
  return in_scope() && scope_dtype ? counterpart(dtype, *scope_dtype) : dtype;
}

bool interchangeable(DType a, DType b) {
  return a == b ||
         (in_scope() && scope_dtype && counterpart(a, *scope_dtype) == counterpart(b, *scope_dtype));
}

namespace detail {

Tensor converted(const Tensor& tensor, DType dtype) {
  if (!tensor || tensor.dtype() == dtype) return tensor;
  static const OpDef* const cast = Registry::instance().find("cast");
  std::vector<Attribute> values;
  for (const AttributeSpec& spec : cast->attributes)
    values.push_back(spec.kind == AttributeKind::dtype ? Attribute(dtype) : spec.fallback);
  const Tensor inputs[] = {tensor};
  const auto cast_it = [&] { return run_as_given(*cast, inputs, Attributes(std::move(values)))[0]; };
  if (thread_state.quiet != 0) return cast_it();
  const UnobservedScope unobserved;
  return cast_it();
}

Tensors run_floating(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes) {
  const bool random = op.form == Form::drawn;
  if (op.form == Form::bits || (!random && !scope_dtype)) return run_as_given(op, inputs, attributes);
  const auto wanted = [&](DType dtype) { return counterpart(dtype, random ? DType::float32 : *scope_dtype); };
  Tensors operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || prescribed(op, i) || wanted(inputs[i].dtype()) == inputs[i].dtype()) {
      operands.push_back(inputs[i]);
      continue;
    }
    // The same tensor twice stays one: its gradients are added as they would be.
    std::size_t same = 0;
    while (!inputs[same] || !inputs[same].same_body(inputs[i])) ++same;
    operands.push_back(same < i ? operands[same] : converted(inputs[i], wanted(inputs[i].dtype())));
  }
  std::optional<DType> asked;
  for (const Tensor& input : inputs)
    if (!asked && input && is_floating(input.dtype())) asked = input.dtype();
  std::vector<Attribute> values;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    values.push_back(attributes[i]);
    if (auto* dtype = std::get_if<DType>(&values.back())) {
      if (is_floating(*dtype)) asked = *dtype;
      *dtype = wanted(*dtype);
    }
  }
  Tensors outputs = run_as_given(op, operands, values.empty() ? Attributes() : Attributes(std::move(values)));
  if (!random) return outputs;
  for (Tensor& output : outputs)
    if (is_floating(output.dtype()))
      output = converted(output, scope_dtype ? *scope_dtype : asked.value_or(output.dtype()));
  return outputs;
}

}  // namespace detail
}  // namespace tapedeck
