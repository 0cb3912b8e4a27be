#include "engine/ops/core/narrow_values.h"

#include "engine/ops/core/checks.h"
#include "engine/tensor/narrow.h"
#include "engine/tensor/narrow_formats.h"

namespace tapedeck::ops {
namespace {

Tensor cast_on_gpu(const Tensor& tensor, DType dtype) {
  Tensor out = Tensor::allocate(dtype, tensor.shape());
  backend().cast(tensor.dtype(), dtype, operand(tensor, tensor.shape()), out.writable_data<std::byte>(),
                 tensor.shape());
  return out;
}

/// Values outside the range of `dtype` become its nearest number; of real ones those that are finite.
Tensor clipped_on_gpu(const Tensor& tensor, DType dtype) {
  const Tensor x = contiguous(tensor);
  const auto [lowest, highest] = integer_limits(is_integer(dtype) ? dtype : DType::int8);
  const double largest = dtype == DType::float16 ? Float16::largest : BFloat16::largest;
  const bool whole = is_integer(dtype);
  const Tensor low = Tensor::scalar(whole ? static_cast<double>(lowest) : -largest, x.dtype());
  const Tensor high = Tensor::scalar(whole ? static_cast<double>(highest) : largest, x.dtype());
  Tensor out = Tensor::allocate(x.dtype(), x.shape());
  backend().clip(x.dtype(), x.raw(), single(low), single(high), out.writable_data<std::byte>(), x.count());
  if (whole) return out;
  Tensor finite = Tensor::allocate(DType::bool_, x.shape());
  backend().unary(kernels::Unary::is_finite, x.dtype(), x.raw(), finite.writable_data<std::byte>(),
                  x.count());
  Tensor chosen = Tensor::allocate(x.dtype(), x.shape());
  backend().select(x.dtype(), operand(finite, x.shape()), operand(out, x.shape()), operand(x, x.shape()),
                   chosen.writable_data<std::byte>(), x.shape());
  return chosen;
}

}  // namespace

Tensor widen(const Tensor& tensor) {
  if (!tensor.on_cpu())
    return is_narrow(tensor.dtype()) ? cast_on_gpu(tensor, compute_dtype(tensor.dtype())) : tensor;
  if (!is_narrow(tensor.dtype()) || !is_floating(tensor.dtype())) return widened(tensor);
  const Tensor source = tensor.make_contiguous();
  Tensor wide = Tensor::allocate(DType::float32, source.shape(), Device{});
  backend(Device{}).widen(source.dtype(), source.data<std::uint16_t>(), wide.writable_data<float>(),
                          source.count());
  return wide;
}

Tensor narrow(const Tensor& tensor, DType dtype, bool saturate) {
  if (!tensor.on_cpu()) return cast_on_gpu(saturate ? clipped_on_gpu(tensor, dtype) : tensor, dtype);
  if (!is_floating(dtype) || tensor.dtype() != DType::float32 || saturate)
    return narrowed(tensor, dtype, saturate);
  const Tensor source = tensor.make_contiguous();
  Tensor target = Tensor::allocate(dtype, source.shape(), Device{});
  backend(Device{}).narrow(dtype, source.data<float>(), target.writable_data<std::uint16_t>(),
                           source.count());
  return target;
}

}  // namespace tapedeck::ops
