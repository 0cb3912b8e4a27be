// The engine's errors as Python exceptions: TensorFlow's names, each also the built-in that fits it.
#pragma once

#include <cxxabi.h>

#include "engine/python/host.h"
#include "engine/python/python.h"
#include "engine/tensor/error.h"

namespace tapedeck::python {

/// Makes the exception classes and puts them into `module`.
void bind_errors(py::module_& module);

/// The class of the errors of reading a tensor that has no value yet (tensor/symbolic_error.h).
PyObject* symbolic_value_error();

/// To be called in a catch block: sets the Python exception for the current C++ one.
void set_python_error() noexcept;

/// Runs `function` and returns what it returns; where it throws, sets the Python exception and returns
/// `failure`.
template <class Function, class Result>
Result guarded_or(Result failure, Function&& function) noexcept {
  try {
    return function();
  } catch (const abi::__forced_unwind&) {
    wait_for_exit();
  } catch (...) {
    set_python_error();
    return failure;
  }
}
template <class Function>
PyObject* guarded(Function&& function) noexcept {
  return guarded_or(static_cast<PyObject*>(nullptr), std::forward<Function>(function));
}

/// `repr(object)`, shortened, for error messages. Never throws.
std::string short_repr(PyObject* object) noexcept;

}  // namespace tapedeck::python
