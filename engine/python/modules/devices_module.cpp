#include "engine/python/modules/devices_module.h"

#include <pybind11/stl.h>

#include <exception>

#include "engine/backend/devices.h"
#include "engine/ops/core/placement.h"
#include "engine/python/errors.h"
#include "engine/python/tensor/convert.h"
#include "engine/tensor/device_memory.h"
#include "engine/tensor/storage.h"

namespace tapedeck::python {

namespace {

bool is_there(Device device) {
  return int{device.index} < (device.kind == DeviceKind::cpu ? 1 : gpu_count());
}

Device checked_device(const std::string& name) {
  const Device device = device_from_name(name);
  if (!is_there(device)) refuse_device("device", device);
  return device;
}

/// `name` in the place of the thread's tf.device, as its name; None: none. `soft`: a missing GPU is replaced
/// by the first one, or by the CPU where there is none. Returns the one before.
py::object enter_device(const std::optional<std::string>& name, bool soft) {
  std::optional<Device> device;
  if (name) {
    device = device_from_name(*name);
    if (soft && !is_there(*device))
      device = device->kind == DeviceKind::gpu && gpu_count() > 0 ? Device{DeviceKind::gpu, 0} : Device{};
    if (!is_there(*device)) refuse_device("device", *device);
  }
  const std::optional<Device> before = set_device_scope(device);
  return before ? py::object(py::str(to_string(*before))) : py::none();
}

py::object open_device() {
  const std::optional<Device> device = device_scope();
  return device ? py::object(py::str(to_string(*device))) : py::none();
}

std::optional<CopyPolicy> policy_of(std::optional<int> number) {
  if (!number) return std::nullopt;
  if (*number < 0 || *number > static_cast<int>(CopyPolicy::silent_for_int32))
    fail<InvalidArgumentError>("device policy ", *number, "; there are 0 to 3");
  return static_cast<CopyPolicy>(*number);
}

PoolStatistics memory_of(Device device) {
  return device.kind == DeviceKind::cpu ? pool_statistics() : device_memory(device).statistics();
}

py::dict memory_info(const std::string& name) {
  const PoolStatistics pool = memory_of(checked_device(name));
  py::dict info;
  info["current"] = pool.bytes_in_use;
  info["peak"] = pool.peak_bytes_in_use;
  info["pooled"] = pool.bytes_cached;
  return info;
}

void reset_memory_peak(const std::string& name) {
  const Device device = checked_device(name);
  if (device.kind == DeviceKind::cpu)
    reset_pool_peak();
  else
    device_memory(device).reset_peak();
}

/// Waits for what this thread gave to all GPUs. Returns the first error that a kernel found meanwhile; a GPU
/// that is lost throws.
std::exception_ptr wait_for_gpus() {
  std::exception_ptr first;
  const auto keep = [&] {
    if (!first) first = std::current_exception();
  };
  for (int gpu = 0; gpu < gpu_count(); ++gpu) {
    try {
      device_memory({DeviceKind::gpu, static_cast<std::uint8_t>(gpu)}).synchronize();
    } catch (const InvalidArgumentError&) {
      keep();
    } catch (const OutOfRangeError&) {
      keep();
    }
  }
  return first;
}

void trim_memory() {
  trim_pool();
  for (int gpu = 0; gpu < gpu_count(); ++gpu)
    device_memory({DeviceKind::gpu, static_cast<std::uint8_t>(gpu)}).trim();
}

std::string description(const std::string& name) {
  const Device device = checked_device(name);
  return device.kind == DeviceKind::cpu ? std::string() : device_memory(device).description();
}

}  // namespace

void refuse_device(const char* what, Device device) {
  std::string why;
  if (device.kind == DeviceKind::gpu && gpu_count() == 0 && !why_no_gpu().empty()) why = ": " + why_no_gpu();
  fail<NotFoundError>(what, ": there is no ", to_string(device), "; this machine has ", gpu_count(),
                      " GPUs that this build can use", why);
}

void bind_devices(py::module_& module) {
  load_gpus();
  module.def("gpu_count", &gpu_count, "How many GPUs this build can use on this machine.");
  module.def("has_gpu_kernels", &has_gpu_kernels, "Whether this build has kernels for GPUs.");
  module.def("why_no_gpu", &why_no_gpu, "Why there is no GPU; empty where there is one.");
  module.def(
      "check_device", [](const std::string& name) { return to_string(checked_device(name)); },
      py::arg("name"), "The device's name as the engine writes it. NotFoundError where it is not there.");
  module.def(
      "enter_device", &enter_device, py::arg("name"), py::arg("soft") = false,
      "Ops of this thread run there from now on; None: where they would by themselves. Returns what was "
      "there before.");
  module.def("open_device", &open_device, "The device of this thread's innermost tf.device, or None.");
  module.def(
      "set_device_policy", [](std::optional<int> policy) { set_copy_policy(policy_of(policy)); },
      py::arg("policy"), "This thread's tfe.DEVICE_PLACEMENT_…; None: the process's.");
  module.def(
      "set_process_device_policy", [](int policy) { set_process_copy_policy(*policy_of(policy)); },
      py::arg("policy"), "The tfe.DEVICE_PLACEMENT_… of threads that have none of their own.");
  module.def(
      "device_policy", [] { return static_cast<int>(copy_policy()); }, "What holds for this thread.");
  module.def(
      "wait_for_gpus",
      [](bool raises) {
        if (const std::exception_ptr error = wait_for_gpus(); error && raises) std::rethrow_exception(error);
      },
      py::arg("raises") = true,
      "Waits for what this thread gave to GPUs, and raises the error that a kernel found meanwhile.");
  module.def("tensor_float_32_allowed", &tensor_float_32_allowed,
             "Whether GPUs may round the factors of float32's products to TF32.");
  module.def("allow_tensor_float_32", &allow_tensor_float_32, py::arg("allowed"),
             "GPUs may do so from the next product on, in all threads.");
  module.def("memory_info", &memory_info, py::arg("device") = "/cpu:0",
             "Bytes that tensors use, the most that they used, and those that are free and kept for the next "
             "ones.");
  module.def("reset_memory_peak", &reset_memory_peak, py::arg("device"), "The peak is what is in use now.");
  module.def("trim_pool", &trim_memory, py::call_guard<py::gil_scoped_release>(),
             "Gives the memory that freed tensors left back to the system and the GPUs now.");
  module.def("device_description", &description, py::arg("name"),
             "The GPU's product name and compute capability; empty for the CPU.");
}

}  // namespace tapedeck::python
