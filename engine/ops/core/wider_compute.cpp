#include "engine/ops/core/wider_compute.h"

#include <algorithm>

#include "engine/backend/backend.h"
#include "engine/ops/core/checks.h"
#include "engine/ops/core/narrow_values.h"
#include "engine/tensor/strings.h"

namespace tapedeck::detail {
namespace {

/// The int64 values that represent uint64 in kernels: the same bits, whose sums and products are the same, or
/// the bits with the highest one flipped, which have the same order.
Tensor as_int64(const Tensor& tensor, bool ordered) {
  if (!ordered)
    return Tensor::view(tensor.storage(), DType::int64, tensor.shape(), tensor.strides(), tensor.offset());
  const Tensor source = ops::contiguous(tensor);
  Tensor out = Tensor::allocate(DType::int64, tensor.shape());
  std::transform(source.data<std::uint64_t>(), source.data<std::uint64_t>() + source.count(),
                 out.writable_data<std::int64_t>(),
                 [](std::uint64_t value) { return static_cast<std::int64_t>(value ^ (1ULL << 63)); });
  return out;
}

Tensor as_uint64(const Tensor& tensor, bool ordered) {
  if (!ordered)
    return Tensor::view(tensor.storage(), DType::uint64, tensor.shape(), tensor.strides(), tensor.offset());
  const Tensor source = ops::contiguous(tensor);
  Tensor out = Tensor::allocate(DType::uint64, tensor.shape());
  std::transform(source.data<std::int64_t>(), source.data<std::int64_t>() + source.count(),
                 out.writable_data<std::uint64_t>(),
                 [](std::int64_t value) { return static_cast<std::uint64_t>(value) ^ (1ULL << 63); });
  return out;
}

DType kernel_dtype(DType dtype) {
  return dtype == DType::uint64 ? DType::int64 : compute_dtype(dtype);
}

/// Computes in dtypes that have kernels, and converts the results back.
Tensors compute_widened(const OpContext& context) {
  const bool ordered = context.op.uint64_mapping == Uint64Mapping::order;
  Tensors inputs;
  for (const Tensor& input : context.inputs)
    inputs.push_back(input.dtype() == DType::uint64 ? as_int64(input, ordered) : ops::widen(input));
  std::vector<Attribute> attributes;
  for (std::size_t i = 0; i < context.attributes.size(); ++i) {
    attributes.push_back(context.attributes[i]);
    if (auto* dtype = std::get_if<DType>(&attributes.back())) *dtype = kernel_dtype(*dtype);
  }
  TensorSpecs specs;
  for (const TensorSpec& output : context.outputs)
    specs.push_back({kernel_dtype(output.dtype), output.shape});
  const Attributes wide(std::move(attributes));
  Tensors outputs = context.op.forward({context.op, inputs, wide, specs, context.device});
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const DType dtype = context.outputs[k].dtype;
    if (dtype == DType::uint64)
      outputs[k] = as_uint64(outputs[k], ordered);
    else if (is_narrow(dtype))
      outputs[k] = ops::narrow(outputs[k], dtype, context.op.saturates);
  }
  return outputs;
}

[[noreturn]] void refuse(const OpContext& context, DType dtype) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i)
    if (context.inputs[i].dtype() == dtype)
      fail<TypeMismatchError>(context.op.name, ": ", ops::input_name(context, i), " is ", dtype_name(dtype),
                              ", which it does not support");
  fail<TypeMismatchError>(context.op.name, ": cannot return ", dtype_name(dtype));
}

/// The string, uint64 or complex dtype of the call; nullopt if there is none.
std::optional<DType> other_dtype(const OpContext& context) {
  for (const Tensor& input : context.inputs)
    if (has_partial_support(input.dtype())) return input.dtype();
  for (const TensorSpec& output : context.outputs)
    if (has_partial_support(output.dtype)) return output.dtype;
  return std::nullopt;
}

bool is_half(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16;
}

/// Sums are float32 there, too: the only difference to widened operands is that no copies are made.
bool takes_halves(const OpContext& context) {
  return context.op.half_products && backend(context.device).multiplies_halves &&
         std::all_of(context.inputs.begin(), context.inputs.end(),
                     [](const Tensor& input) { return is_half(input.dtype()); });
}

}  // namespace

Tensors compute_otherwise(const OpContext& context) {
  const std::optional<DType> other = other_dtype(context);
  if (!other)
    return context.op.takes_narrow || takes_halves(context) ? context.op.forward(context)
                                                            : compute_widened(context);
  if (*other == DType::uint64 && context.op.uint64_mapping != Uint64Mapping::none)
    return compute_widened(context);
  if (!context.op.takes_narrow && !context.op.takes_others) refuse(context, *other);
  Tensors outputs = context.op.forward(context);
  for (const Tensor& output : outputs)
    if (output.dtype() == DType::string) share_strings(*output.storage().get(), context.inputs);
  return outputs;
}

}  // namespace tapedeck::detail
