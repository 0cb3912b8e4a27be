// The tables of kernels that ops call, one for each device. kernel_list.h lists the kernels and says what
// each computes.
#pragma once

#include <array>
#include <string>

#include "engine/backend/inspection.h"
#include "engine/backend/kernels.h"
#include "engine/tensor/device.h"
#include "engine/tensor/error.h"

namespace tapedeck {

/// Thrown by the table's entry for a kernel that the device lacks, before it has done anything; run_op then
/// runs the op on the CPU.
class NoKernel : public Error {
 public:
  explicit NoKernel(const std::string& kernel) : Error("no kernel " + kernel + " on this device") {}
};

/// "[1, 0]" for a matrix in a batch; empty for a single matrix.
std::string place_in_batch(const Shape& batch, std::int64_t number);
/// The text with the names of the op and the input filled in.
std::string named(const kernels::FailureText& text);
/// The error message.
std::string failure_message(const kernels::FailureText& text, const kernels::MatrixFailure& failure);

namespace kernels {

/// One function per kernel in the list. Where a device lacks the kernel, its function throws NoKernel.
struct Table {
#define KERNEL(result, name, parameters) result(*name) parameters;
#include "engine/backend/kernel_list.h"
  /// matmul also takes float16 and bfloat16 directly, and accumulates in float32.
  bool multiplies_halves = false;
};

}  // namespace kernels
using Backend = kernels::Table;

namespace detail {
extern constinit const Backend* cpu_backend;  ///< defined in cpu/backend.cpp
extern constinit std::array<const Backend*, most_gpus> gpu_backends;
}  // namespace detail

/// The device's table; the GPU must exist.
inline const Backend& backend(Device device) {
  if (device.kind == DeviceKind::cpu) [[likely]]
    return *detail::cpu_backend;
  return *detail::gpu_backends[device.index];
}
#ifndef __CUDACC__
/// The table of the device on which the current op of this thread runs (where Tensor::allocate allocates);
/// the CPU's where no op runs.
inline const Backend& backend() {
  return backend(op_device());
}
#endif

}  // namespace tapedeck
