// Numbers and nested lists of numbers, the values that have no dtype of their own.
#pragma once

#include "engine/python/tensor/convert.h"

namespace tapedeck::python {

/// A tensor from a Python number or a rectangular nested list of numbers. Throws InvalidArgumentError where
/// rows differ in length or a number does not fit `dtype`, TypeMismatchError where a number is of another
/// kind.
Tensor tensor_from_values(PyObject* value, DType dtype, const Where& where);

/// The value with lists in place of other sequences (range, deque …), and arrays in place of what has
/// `__array__`, at any depth; the value itself where there are none. Text stays.
py::object with_lists(PyObject* value);

/// The dtype that the NumPy values of a list share with the Python numbers beside them: float32 for
/// [np.float32(1), 2]. nullopt where NumPy's own rule decides.
std::optional<DType> shared_real_dtype(PyObject* list);

/// The first element, at any depth, that cannot be part of a tensor; none where all can.
py::object unsupported_element(PyObject* value);

}  // namespace tapedeck::python
