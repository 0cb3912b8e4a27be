// The Python functions made from the registry: tf.matmul and all the others.
#pragma once

#include "engine/ops/core/op.h"
#include "engine/python/python.h"

namespace tapedeck::python {

/// Adds the op functions, each one of Python's built-in functions: `op_functions`, a dict from the names
/// under `tf.` to them. `__self__` of a function tells what the registry says of its op.
void bind_op_functions(py::module_& module);

/// The op's function; borrowed. After bind_op_functions.
PyObject* op_function_of(const OpDef& op);

/// An attribute's value as Python has it.
py::object attribute_object(const Attribute& attribute);

/// Whether it is a symbolic tensor, without a value yet: see `_set_symbolic`.
bool is_symbolic(PyObject* value);

}  // namespace tapedeck::python
