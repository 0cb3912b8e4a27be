#include "engine/python/torch/hidden_frames.h"

#include <string>

#include "engine/python/torch/wrapped_function.h"

namespace tapedeck::python::torch {
namespace {

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
  PyObject* const function = wrapped(self)->function;
  PyObject* result = PyObject_Call(function, arguments, named);
  if (!result) drop_frames(function);
  return result;
}

}  // namespace

void bind_hidden_frames(py::module_& torch) {
  static PyTypeObject* const type = wrapper_type(
      "tapedeck._engine.torch.without_frames",
      "Calls the function. Exceptions that pass through have no frames of the files in its folder, so that a "
      "program's traceback is the one that it has without a recorder.",
      unseen_call);
  torch.attr("without_frames") = py::handle(reinterpret_cast<PyObject*>(type));
}

}  // namespace tapedeck::python::torch
