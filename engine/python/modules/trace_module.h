// Saving the trace of this process to a file, in the submodule tapedeck._engine.debug.
#pragma once

#include "engine/python/python.h"
#include "engine/record/recorder.h"

namespace tapedeck::python {

/// `recorder`: the one that is attached; throws where none is.
void bind_trace(py::module_& debug, Recorder& (*recorder)());

}  // namespace tapedeck::python
