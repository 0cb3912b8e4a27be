// The C type below tf.GradientTape: a tape is made, entered, left and played in every training step.
#pragma once

#include <memory>
#include <string>

#include "engine/python/python.h"
#include "engine/tape/tape.h"

namespace tapedeck::python {

/// Puts `Tape` into the module.
void bind_tape_type(py::module_& module);

/// Throws FailedPreconditionError where its __init__ did not run.
Tape& tape_of(PyObject* tape);

/// A VJP written in Python.
struct PythonVjp {
  std::shared_ptr<SharedObject> function;
  std::string name;

  Tensors operator()(std::span<const Tensor> cotangents) const;
};

/// A new list of Python tensors, None for undefined ones.
py::object list_of(std::span<const Tensor> tensors);

}  // namespace tapedeck::python
