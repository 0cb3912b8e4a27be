// Devices as the package sees them: names, scopes, policies and memory.
#pragma once

#include "engine/python/python.h"
#include "engine/tensor/device.h"

namespace tapedeck::python {

/// Looks for the GPUs, too.
void bind_devices(py::module_& module);

/// NotFoundError that names the device, and says why there is no GPU where there is none. `what` asked for
/// it.
[[noreturn]] void refuse_device(const char* what, Device device);

}  // namespace tapedeck::python
