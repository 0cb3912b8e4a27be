// Files of tensors, for the package's checkpoints.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

/// write_safetensors and SafetensorsFile. Python's lock is free while they read and write.
void bind_checkpoint(py::module_& module);

}  // namespace tapedeck::python
