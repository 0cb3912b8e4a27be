// Functions of PyTorch are wrapped to see what runs; exceptions of programs pass through them as if they were
// not there.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python::torch {

/// Adds `without_frames` to the module.
void bind_hidden_frames(py::module_& torch);

}  // namespace tapedeck::python::torch
