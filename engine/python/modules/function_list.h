// debug.TracedFunction: the functions of the user's that were traced, as views list them.
#pragma once

#include "engine/python/python.h"
#include "engine/record/recorder.h"

namespace tapedeck::python {

/// `recorder`: nullptr while none is attached.
void bind_function_list(py::module_& debug, Recorder* (*recorder)());

}  // namespace tapedeck::python
