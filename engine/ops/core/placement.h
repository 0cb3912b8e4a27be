// Where an op runs.
//
// As TensorFlow eager places it: on the device of the innermost `tf.device` of the thread; else on the first
// GPU that an input is on; else on the CPU, where an input is there that is more than one number, or where
// all are whole numbers (int32, int64); else, of ops that make values of nothing, on the default device: the
// first GPU, or the CPU. Inputs elsewhere are copied, as the thread's policy says, and each copy is an op
// with a record of its own. An op without a kernel for GPUs runs on the CPU, and its results are copied back.
#pragma once

#include <optional>

#include "engine/ops/core/op.h"

namespace tapedeck {

/// TensorFlow's `tfe.DEVICE_PLACEMENT_*`, with its numbers: what happens to inputs on another device.
enum class CopyPolicy : std::uint8_t {
  refuse = 0,           ///< EXPLICIT: an error
  warn = 1,             ///< WARN: a line on the program's output, and the copy
  silent = 2,           ///< SILENT
  silent_for_int32 = 3  ///< SILENT_FOR_INT32: int32 is copied, others are refused
};

/// `tf.device`: ops of this thread run there while it lives; without a device where they would without any
/// scope.
class DeviceScope {
 public:
  explicit DeviceScope(std::optional<Device> device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;

 private:
  std::optional<Device> before_;
};
std::optional<Device> device_scope();
/// The same without a scope in C++, for the bindings. Returns what it was.
std::optional<Device> set_device_scope(std::optional<Device> device);

CopyPolicy copy_policy();
/// This thread's own one; nothing: that of the process.
void set_copy_policy(std::optional<CopyPolicy> policy);
/// Of threads without one of their own. `silent` from the start.
void set_process_copy_policy(CopyPolicy policy);

/// Where ops that make values of nothing run.
Device default_device();
/// While it lives that is this device: for a VJP, which works beside the op whose gradient it is.
class DefaultDeviceScope {
 public:
  explicit DefaultDeviceScope(Device device);
  ~DefaultDeviceScope();
  DefaultDeviceScope(const DefaultDeviceScope&) = delete;

 private:
  std::optional<Device> before_;
};

namespace detail {

/// A GPU has no kernel for such calls: complex and uint64 numbers, strings, and rows that say so.
bool runs_on_gpus(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes);

/// The call with its inputs brought to one device, and what is to be done behind it.
struct Placed {
  Device device;
  std::optional<Device> results;  ///< they are brought there
  std::optional<Tensors> inputs;  ///< none: all stay as they are, without a second handle
};
Placed place_call(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes);
Tensors bring_back(const OpDef& op, Tensors results, Device device);

/// Whose time the call takes: of a copy between the host and a GPU, the GPU's.
Device working_device(const OpContext& context);
/// Runs a forward function where the call was placed, and the ops that it calls, too. Where a kernel of the
/// GPU turns out to be missing it goes by copies that nobody sees.
Tensors compute_placed(const OpContext& context, Tensors (*compute)(const OpContext&));
/// The names of ops to which that happened, for tests: each is a row or a dtype that runs_on_gpus() does not
/// know about.
std::vector<std::string> kernels_found_missing();

}  // namespace detail

namespace ops {
extern const OpDef& copy_to_device_op;
/// The tensor on another device: itself where it is there already, and while a graph is traced. `reason`
/// stands in the copy's record. NotFoundError where there is no such device.
Tensor copy_to(const Tensor& x, Device device, const std::string& reason = {});
}  // namespace ops

}  // namespace tapedeck
