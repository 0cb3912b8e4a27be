// tf.debugging.lockstep, and TensorFlow 1.5's execution callbacks: observers in front of the recorder.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

/// The submodule `lockstep`.
void bind_lockstep(py::module_& module);
/// `_set_execution_callback`.
void bind_callbacks(py::module_& module);

}  // namespace tapedeck::python
