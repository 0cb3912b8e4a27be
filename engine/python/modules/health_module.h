// What Health knows of the recording, for programs: tests, benchmarks, runs without a window.
#pragma once

#include "engine/python/python.h"
#include "engine/record/recorder.h"

namespace tapedeck::python {

/// `recorder`: that of the process; throws ValueError where nothing records.
void bind_health(py::module_& debug, Recorder& (*recorder)());
/// Before the recorder goes.
void forget_health();

}  // namespace tapedeck::python
