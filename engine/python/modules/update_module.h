// Bindings of engine/optim.
#pragma once

#include "engine/python/errors.h"
#include "engine/python/python.h"

namespace tapedeck::python {

void bind_updates(py::module_& module);

}  // namespace tapedeck::python
