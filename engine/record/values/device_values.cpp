#include "engine/record/values/device_values.h"

#include "engine/backend/backend.h"
#include "engine/tensor/device_memory.h"
#include "engine/tensor/foreign_devices.h"

namespace tapedeck {
namespace {

Tensor cast_there(const Tensor& values, DType dtype) {
  const OpDeviceScope there(values.device());
  Tensor out = Tensor::allocate(dtype, values.shape());
  backend().cast(values.dtype(), dtype, {values.raw(), values.strides()}, out.writable_data<std::byte>(),
                 values.shape());
  return out;
}

/// Makes the thread's stream wait for other streams' work on the memory.
void wait_for_others(const Tensor& tensor) {
  device_memory(tensor.device()).use(tensor.storage()->device_block());
}

}  // namespace

bool is_inspected_there(const Tensor& tensor) {
  return !tensor.on_cpu() && !has_partial_support(tensor.dtype());
}

Tensor in_kernel_dtype_there(const Tensor& tensor) {
  if (is_foreign(tensor.device())) return tensor;
  wait_for_others(tensor);
  const Tensor values = tensor.make_contiguous();
  return is_narrow(values.dtype()) ? cast_there(values, compute_dtype(values.dtype())) : values;
}

Tensor absolutes_there(const Tensor& tensor) {
  if (is_foreign(tensor.device())) return foreign_devices().absolutes(tensor);
  Tensor values = in_kernel_dtype_there(tensor);
  if (!is_floating(values.dtype())) values = cast_there(values, DType::float64);
  const OpDeviceScope there(values.device());
  Tensor out = Tensor::allocate(values.dtype(), values.shape());
  backend().unary(kernels::Unary::abs, values.dtype(), values.raw(), out.writable_data<std::byte>(),
                  values.count());
  return out;
}

Tensor change_there(const Tensor& before, const Tensor& now) {
  if (is_foreign(now.device())) return foreign_devices().difference(now, before);
  const Tensor from = in_kernel_dtype_there(before), to = in_kernel_dtype_there(now);
  const OpDeviceScope there(to.device());
  Tensor out = Tensor::allocate(to.dtype(), to.shape());
  backend().binary(kernels::Binary::subtract, to.dtype(), {to.raw()}, {from.raw()},
                   out.writable_data<std::byte>(), to.count());
  return out;
}

Tensor part_on_host(const Tensor& tensor, const Shape& shape, const Strides& strides, std::int64_t offset) {
  if (!is_foreign(tensor.device())) wait_for_others(tensor);
  return Tensor::view(tensor.storage(), tensor.dtype(), shape, strides, tensor.offset() + offset)
      .make_contiguous()
      .on_host();
}

}  // namespace tapedeck
