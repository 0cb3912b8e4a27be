// What each call of a graph function needs, in Python's C API.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

void bind_graph_calls(py::module_& module);

}  // namespace tapedeck::python
