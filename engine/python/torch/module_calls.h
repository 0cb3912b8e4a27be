// Calls of modules, for scopes: while nothing records, a call costs what it takes to note which modules are
// open; their scopes are opened when a recording begins.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python::torch {

void bind_module_calls(py::module_& torch);

}  // namespace tapedeck::python::torch
