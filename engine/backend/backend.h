// The tables of kernels that ops call, one for each device. What kernels there are, and what each computes,
// stands in kernel_list.h.
#pragma once

#include <array>
#include <string>

#include "engine/backend/inspection.h"
#include "engine/backend/kernels.h"
#include "engine/tensor/device.h"
#include "engine/tensor/error.h"

namespace tapedeck {

/// Thrown by a kernel that a device lacks, before it did anything: run_op then takes the op to the CPU.
class NoKernel : public Error {
 public:
  explicit NoKernel(const std::string& kernel) : Error("no kernel " + kernel + " on this device") {}
};

/// "[1, 0]" for a matrix of a batch, nothing where there is one.
std::string place_in_batch(const Shape& batch, std::int64_t number);
/// The text with the names of op and input in it.
std::string named(const kernels::FlawText& text);
/// What the error says.
std::string told(const kernels::FlawText& text, const kernels::MatrixFlaw& flaw);

namespace kernels {

/// A function for each kernel of the list. Where a device has none, its function throws NoKernel.
struct Table {
#define KERNEL(result, name, parameters) result(*name) parameters;
#include "engine/backend/kernel_list.h"
  /// matmul takes float16 and bfloat16 as they are, too, and adds in float32.
  bool multiplies_halves = false;
};

}  // namespace kernels
using Backend = kernels::Table;

namespace detail {
extern constinit const Backend* cpu_backend;  ///< of cpu/backend.cpp
extern constinit std::array<const Backend*, most_gpus> gpu_backends;
}  // namespace detail

/// The device's; the GPU must be there.
inline const Backend& backend(Device device) {
  if (device.kind == DeviceKind::cpu) [[likely]]
    return *detail::cpu_backend;
  return *detail::gpu_backends[device.index];
}
#ifndef __CUDACC__
/// That of the op that runs on this thread, on whose device Tensor::allocate takes memory; else the CPU's.
inline const Backend& backend() {
  return backend(op_device());
}
#endif

}  // namespace tapedeck
