// Leaves of autograd that require a gradient (parameters, most often) and buffers of modules as the
// recorder's variables: with a name, and an assignment wherever an op has written into them.
#pragma once

#include <string>

#include "engine/ops/core/observer.h"
#include "engine/python/torch/torch_library.h"
#include "engine/tensor/tensor.h"

namespace tapedeck::python::torch {

/// What the program calls it: "layer1.0.weight".
void name_leaf(PyObject* tensor, const std::string& name);
bool has_name(PyObject* tensor);
/// The same for a registered buffer, which is a variable from here on.
void name_buffer(PyObject* tensor, const std::string& name);
/// The value of the buffer that the tensor is, before an op writes into it; else `now`.
Tensor buffer_value(PyObject* tensor, const Tensor& now);
/// An op whose schema says that it writes has only read the tensor: its variable keeps its value.
void keep_unwritten(Observer& observer, PyObject* tensor);
/// The value of the variable that the tensor is, where it is a leaf that requires a gradient; else `now`,
/// which is the tensor's value. The first time, and after writes that no record tells of, it is assigned.
Tensor variable_value(PyObject* tensor, const Tensor& now);
/// An op has written into the tensor: the variables in its memory that have values again are assigned.
void assign_written(Observer& observer, PyObject* tensor);

}  // namespace tapedeck::python::torch
