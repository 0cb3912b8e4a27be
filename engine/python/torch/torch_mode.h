// The dispatch mode that makes records of PyTorch's ops: the part of it that runs for every op.
#pragma once

#include "engine/python/python.h"

namespace tapedeck {
class Recorder;
}

namespace tapedeck::python::torch {

/// The number of this thread's newest record of an op of PyTorch; 0: none.
std::uint64_t newest_record();

/// The submodule tapedeck._engine.torch: the base class of the mode, and what the package calls.
void bind_torch(py::module_& module);

}  // namespace tapedeck::python::torch
