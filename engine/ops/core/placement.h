// Device placement of ops.
//
// As TensorFlow eager places it: on the device of the innermost `tf.device` of the thread; else on the first
// GPU that an input is on; else on the CPU, if an input there has more than one element, or all inputs are
// integers (int32, int64); else, for ops without inputs, on the default device: the first GPU, or the CPU.
// Inputs elsewhere are copied, according to the thread's policy, and each copy is an op with its own record.
// An op without a GPU kernel runs on the CPU, and its results are copied back.
#pragma once

#include <optional>

#include "engine/ops/core/op.h"

namespace tapedeck {

/// TensorFlow's `tfe.DEVICE_PLACEMENT_*`, with its numbers: what happens to inputs on another device.
enum class CopyPolicy : std::uint8_t {
  refuse = 0,           ///< EXPLICIT: an error
  warn = 1,             ///< WARN: prints a line to the program's output, and copies
  silent = 2,           ///< SILENT
  silent_for_int32 = 3  ///< SILENT_FOR_INT32: copies int32, an error for others
};

/// `tf.device`: ops of this thread run there while it lives; nullopt: as without any scope.
class DeviceScope {
 public:
  explicit DeviceScope(std::optional<Device> device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;

 private:
  std::optional<Device> before_;
};
std::optional<Device> device_scope();
/// The same without a C++ scope, for the bindings. Returns the previous one.
std::optional<Device> set_device_scope(std::optional<Device> device);

CopyPolicy copy_policy();
/// Sets this thread's policy; nullopt: that of the process.
void set_copy_policy(std::optional<CopyPolicy> policy);
/// Sets the policy of threads without their own. The default is `silent`.
void set_process_copy_policy(CopyPolicy policy);

/// Where ops without inputs run.
Device default_device();
/// While it lives, this is the default device: for a VJP, which runs where its op ran.
class DefaultDeviceScope {
 public:
  explicit DefaultDeviceScope(Device device);
  ~DefaultDeviceScope();
  DefaultDeviceScope(const DefaultDeviceScope&) = delete;

 private:
  std::optional<Device> before_;
};

namespace detail {

/// Whether GPUs have kernels for such a call; not for complex numbers, uint64, strings, and rows without
/// gpu_kernel.
bool runs_on_gpus(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes);

/// The call with its inputs on one device, and what to do with the results.
struct Placed {
  Device device;
  std::optional<Device> results;  ///< copy the results there
  std::optional<Tensors> inputs;  ///< nullopt: all are unchanged, without a second handle
};
Placed place_call(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes);
Tensors bring_back(const OpDef& op, Tensors results, Device device);

/// The device whose time the call takes; for a copy between the host and a GPU, the GPU.
Device working_device(const OpContext& context);
/// Runs a forward function, and the ops that it calls, where the call was placed. If a GPU kernel turns out
/// to be missing, runs on the CPU with unrecorded copies.
Tensors compute_placed(const OpContext& context, Tensors (*compute)(const OpContext&));
/// The names of ops to which that happened, for tests: each is a row or a dtype that runs_on_gpus() does not
/// know about.
std::vector<std::string> kernels_found_missing();

}  // namespace detail

namespace ops {
extern const OpDef& copy_to_device_op;
/// The tensor on another device; itself if it is already there, or if a graph is traced. `reason` appears in
/// the copy's record. Throws NotFoundError if there is no such device.
Tensor copy_to(const Tensor& x, Device device, const std::string& reason = {});
}  // namespace ops

}  // namespace tapedeck
