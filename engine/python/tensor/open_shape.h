// Shapes of variables that assignments may change.
#pragma once

#include <optional>

#include "engine/python/python.h"
#include "engine/tape/variable.h"

namespace tapedeck::python {

/// What of the value's shape may change later, as Variable's argument shape says; nothing: none of it. Throws
/// InvalidArgumentError for a shape that is not the value's.
std::optional<OpenShape> open_shape_of(const Tensor& value, PyObject* shape);

/// A TensorShape, with None for an extent that may change.
py::object declared_shape(const Variable& variable);

}  // namespace tapedeck::python
