// The submodule tapedeck._engine.debug: the recorder and the debug server of this process.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

void bind_debug(py::module_& module);

}  // namespace tapedeck::python
