// Saved models as Python sees them: written and read, without what their objects are (tapedeck/_saved_model).
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

void bind_saved_model(py::module_& module);

}  // namespace tapedeck::python
