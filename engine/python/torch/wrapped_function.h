// Callable objects of C around a Python function: a call from C has no frame. They have the function's name,
// its text and its attributes, and bind to instances as it does.
#pragma once

#include "engine/python/errors.h"
#include "engine/python/python.h"

namespace tapedeck::python::torch {

struct WrappedFunction {
  PyObject ob_base;
  PyObject* function;
  PyObject* attributes;  ///< its __dict__
};

inline WrappedFunction* wrapped(PyObject* object) {
  return reinterpret_cast<WrappedFunction*>(object);
}

/// A static type, ready to be used; `fill` sets the slots beside these. To be called once for each.
template <class Fill>
PyTypeObject* ready_type(const char* name, std::size_t size, const char* doc, Fill&& fill) {
  auto* type = new PyTypeObject(blank_type());  // a type lives as long as Python
  type->tp_name = name;
  type->tp_basicsize = static_cast<Py_ssize_t>(size);
  type->tp_flags = Py_TPFLAGS_DEFAULT;
  type->tp_doc = doc;
  fill(*type);
  checked(PyType_Ready(type));
  return type;
}

/// The type of such objects, made by calling it with a function; `call` is what a call of one runs.
PyTypeObject* wrapper_type(const char* name, const char* doc, ternaryfunc call);

}  // namespace tapedeck::python::torch
