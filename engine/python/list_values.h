// Numbers and nested lists of numbers, the values that have no dtype of their own.
#pragma once

#include "engine/python/convert.h"

namespace tapedeck::python {

/// A tensor from a Python number or a rectangular nested list of numbers. Throws InvalidArgumentError where
/// rows differ in length or a number does not fit `dtype`, TypeMismatchError where a number is of another
/// kind.
Tensor tensor_from_values(PyObject* value, DType dtype, const Where& where);

/// The first element, at any depth, that cannot be part of a tensor; nullptr where all can. Borrowed.
PyObject* unsupported_element(PyObject* value);

}  // namespace tapedeck::python
