// Graph functions as Python sees them: tracing, running, branches and loops.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

void bind_graph(py::module_& module);

}  // namespace tapedeck::python
