// The tape and custom gradients for the Python package; tf.GradientTape and tfe.* are made of these in
// Python.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

void bind_tape(py::module_& module);

}  // namespace tapedeck::python
