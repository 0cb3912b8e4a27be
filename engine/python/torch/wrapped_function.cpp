#include "engine/python/torch/wrapped_function.h"

#include <cstddef>

namespace tapedeck::python::torch {
namespace {

/// A method of its instances, as a Python function is.
PyObject* wrapped_bind(PyObject* self, PyObject* object, PyObject*) {
  return !object || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

PyObject* wrapped_new(PyTypeObject* type, PyObject* arguments, PyObject* named) {
  PyObject* function = nullptr;
  if (named && PyDict_Size(named) > 0) {
    PyErr_Format(PyExc_TypeError, "%s takes a function", type->tp_name);
    return nullptr;
  }
  if (!PyArg_ParseTuple(arguments, "O!", &PyFunction_Type, &function)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  wrapped(self)->function = Py_NewRef(function);
  // Its name, its text, and what it wraps.
  PyObject* const attributes = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  wrapped(self)->attributes = attributes ? PyDict_Copy(attributes) : PyDict_New();
  for (const char* name : {"__name__", "__qualname__", "__doc__", "__module__"}) {
    const auto value = py::reinterpret_steal<py::object>(PyObject_GetAttrString(function, name));
    if (!wrapped(self)->attributes || !value ||
        PyDict_SetItemString(wrapped(self)->attributes, name, value.ptr()) < 0) {
      Py_DECREF(self);
      return nullptr;
    }
  }
  return self;
}

int wrapped_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(wrapped(self)->function);
  Py_VISIT(wrapped(self)->attributes);
  return 0;
}

int wrapped_clear(PyObject* self) {
  Py_CLEAR(wrapped(self)->function);
  Py_CLEAR(wrapped(self)->attributes);
  return 0;
}

void wrapped_free(PyObject* self) {
  PyObject_GC_UnTrack(self);
  wrapped_clear(self);
  Py_TYPE(self)->tp_free(self);
}

}  // namespace

PyTypeObject* wrapper_type(const char* name, const char* doc, ternaryfunc call) {
  return ready_type(name, sizeof(WrappedFunction), doc, [&](PyTypeObject& type) {
    type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type.tp_dictoffset = offsetof(WrappedFunction, attributes);
    type.tp_getattro = PyObject_GenericGetAttr;
    type.tp_setattro = PyObject_GenericSetAttr;
    type.tp_call = call;
    type.tp_descr_get = wrapped_bind;
    type.tp_new = wrapped_new;
    type.tp_traverse = wrapped_traverse;
    type.tp_clear = wrapped_clear;
    type.tp_dealloc = wrapped_free;
    type.tp_free = PyObject_GC_Del;
  });
}

}  // namespace tapedeck::python::torch
