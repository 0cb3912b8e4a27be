// TensorBoard's event files as Python sees them: the submodule _engine.events.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

void bind_events(py::module_& module);

}  // namespace tapedeck::python
