#include "engine/python/torch/hidden_frames.h"

#include <cstddef>
#include <string>

#include "engine/python/errors.h"

namespace tapedeck::python::torch {
namespace {

/// Calls a Python function; a call from C has no frame, so no traceback names it.
struct Unseen {
  PyObject ob_base;
  PyObject* function;
  PyObject* attributes;  ///< its __dict__
};

Unseen* unseen(PyObject* object) {
  return reinterpret_cast<Unseen*>(object);
}

/// With the slash; frames of files there are this package's own.
std::string folder_of(const py::handle code) {
  const auto file = py::cast<std::string>(code.attr("co_filename"));
  return file.substr(0, file.rfind('/') + 1);
}

/// The traceback without the frames of files in `folder`; None where no other is left.
py::object without(const std::string& folder, py::object trace) {
  py::object first = py::none(), last;
  while (trace && !trace.is_none()) {
    const py::object next = trace.attr("tb_next");
    if (folder_of(trace.attr("tb_frame").attr("f_code")) != folder) {
      if (first.is_none())
        first = trace;
      else
        last.attr("tb_next") = trace;
      last = trace;
    }
    trace = next;
  }
  if (last) last.attr("tb_next") = py::none();
  return first;
}

/// Of the exception that is raised.
void drop_frames(PyObject* function) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  try {
    const py::object kept =
        without(folder_of(py::handle(function).attr("__code__")), py::reinterpret_borrow<py::object>(trace));
    PyException_SetTraceback(value, kept.ptr());
    Py_XDECREF(trace);
    trace = kept.is_none() ? nullptr : Py_NewRef(kept.ptr());
  } catch (const py::error_already_set&) {  // the exception matters more than what it passed through
  }
  PyErr_Restore(type, value, trace);
}

PyObject* unseen_call(PyObject* self, PyObject* arguments, PyObject* named) {
  PyObject* const function = unseen(self)->function;
  PyObject* result = PyObject_Call(function, arguments, named);
  if (!result) drop_frames(function);
  return result;
}

/// A method of its instances, as a Python function is.
PyObject* unseen_bind(PyObject* self, PyObject* object, PyObject*) {
  return !object || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

PyObject* unseen_new(PyTypeObject* type, PyObject* arguments, PyObject* named) {
  PyObject* function = nullptr;
  if (named && PyDict_Size(named) > 0) {
    PyErr_SetString(PyExc_TypeError, "without_frames takes a function");
    return nullptr;
  }
  if (!PyArg_ParseTuple(arguments, "O!:without_frames", &PyFunction_Type, &function)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  unseen(self)->function = Py_NewRef(function);
  // Its name, its text, and what it wraps.
  PyObject* const attributes = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  unseen(self)->attributes = attributes ? PyDict_Copy(attributes) : PyDict_New();
  for (const char* name : {"__name__", "__qualname__", "__doc__", "__module__"}) {
    const auto value = py::reinterpret_steal<py::object>(PyObject_GetAttrString(function, name));
    if (!unseen(self)->attributes || !value ||
        PyDict_SetItemString(unseen(self)->attributes, name, value.ptr()) < 0) {
      Py_DECREF(self);
      return nullptr;
    }
  }
  return self;
}

int unseen_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(unseen(self)->function);
  Py_VISIT(unseen(self)->attributes);
  return 0;
}

int unseen_clear(PyObject* self) {
  Py_CLEAR(unseen(self)->function);
  Py_CLEAR(unseen(self)->attributes);
  return 0;
}

void unseen_free(PyObject* self) {
  PyObject_GC_UnTrack(self);
  unseen_clear(self);
  Py_TYPE(self)->tp_free(self);
}

PyTypeObject* unseen_type() {
  static PyTypeObject* type = [] {
    static PyTypeObject made = blank_type();
    made.tp_name = "tapedeck._engine.torch.without_frames";
    made.tp_basicsize = sizeof(Unseen);
    made.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
    made.tp_doc =
        "Calls the function. Exceptions that pass through have no frames of the files in its folder, so that "
        "a "
        "program's traceback is the one that it has without a recorder.";
    made.tp_dictoffset = offsetof(Unseen, attributes);
    made.tp_getattro = PyObject_GenericGetAttr;
    made.tp_setattro = PyObject_GenericSetAttr;
    made.tp_call = unseen_call;
    made.tp_descr_get = unseen_bind;
    made.tp_new = unseen_new;
    made.tp_traverse = unseen_traverse;
    made.tp_clear = unseen_clear;
    made.tp_dealloc = unseen_free;
    made.tp_free = PyObject_GC_Del;
    checked(PyType_Ready(&made));
    return &made;
  }();
  return type;
}

}  // namespace

void bind_hidden_frames(py::module_& torch) {
  torch.attr("without_frames") = py::handle(reinterpret_cast<PyObject*>(unseen_type()));
}

}  // namespace tapedeck::python::torch
