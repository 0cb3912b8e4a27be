// The Python functions made from the registry: tf.matmul and all the others.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

/// Adds the type of op functions, and `op_functions`, a dict from the names under `tf.` to them.
void bind_op_functions(py::module_& module);

/// Whether it stands for a tensor that is not there yet: see `_set_symbolic`.
bool is_symbolic(PyObject* value);

}  // namespace tapedeck::python
