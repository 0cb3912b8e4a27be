// The C type below tf.GradientTape: a tape is made, entered, left and played in every training step.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

/// Puts `Tape` into the module.
void bind_tape_type(py::module_& module);

}  // namespace tapedeck::python
