// debug.add_scalar and its like: what the notebook's plots and the panel Health show.
#pragma once

#include "engine/python/python.h"
#include "engine/record/recorder.h"

namespace tapedeck::python {

/// `recorder`: nullptr while none is attached; nothing is kept then.
void bind_curves(py::module_& debug, Recorder* (*recorder)());

}  // namespace tapedeck::python
