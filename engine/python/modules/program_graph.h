// The graphs that programs of TensorFlow 1 build, as Python sees them.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

void bind_program_graph(py::module_& module);

}  // namespace tapedeck::python
