#include "engine/python/program_names.h"

#include "engine/ops/core/observer.h"
#include "engine/python/errors.h"
#include "engine/python/host.h"
#include "engine/python/inspector.h"
#include "engine/python/source_lines.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"

namespace tapedeck::python {
namespace {

using protocol::NameError;
using protocol::NameValue;

bool lists_name(PyObject* names, PyObject* name) {
  if (!names) {
    PyErr_Clear();
    return false;
  }
  const auto list = py::reinterpret_steal<py::object>(names);
  return PySequence_Contains(list.ptr(), name) == 1;
}

/// The name in a function's own variables: only where the function has one of that name are they looked at.
py::object local_value(PyFrameObject* frame, PyCodeObject* code, const py::str& name) {
  const bool function = (code->co_flags & CO_OPTIMIZED) != 0;
  if (function && !lists_name(PyCode_GetVarnames(code), name.ptr()) &&
      !lists_name(PyCode_GetCellvars(code), name.ptr()) && !lists_name(PyCode_GetFreevars(code), name.ptr()))
    return {};
  const py::object locals = function ? frame_locals(py::handle(reinterpret_cast<PyObject*>(frame)))
                                     : py::reinterpret_steal<py::object>(PyFrame_GetLocals(frame));
  if (!locals || !PyDict_Check(locals.ptr())) return {};
  return py::reinterpret_borrow<py::object>(PyDict_GetItemWithError(locals.ptr(), name.ptr()));
}

py::object held_by_name(const std::string& text) {
  const py::str name(text);
  auto frame = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  while (frame) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    PyCodeObject* code = PyFrame_GetCode(raw);
    Py_DECREF(code);
    if (is_users(code)) {
      if (py::object found = local_value(raw, code, name)) return found;
      const auto globals = py::reinterpret_steal<py::object>(PyFrame_GetGlobals(raw));
      if (PyObject* found = PyDict_GetItemWithError(globals.ptr(), name.ptr()))
        return py::reinterpret_borrow<py::object>(found);
    }
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  throw NameError("There is no Python name \"" + text + "\" here.");
}

[[noreturn]] void refuse_name(const std::string& name, const std::string& held) {
  throw NameError("The Python name \"" + name + "\" holds " + held +
                  ": a condition compares numbers, strings and booleans.");
}

double held_number(const std::string& name, const py::handle value) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number != -1 || !PyErr_Occurred()) return number;
  PyErr_Clear();
  refuse_name(name, "what is no finite number of 64 bits");
}

bool is_scalar_of_numpy(const py::handle value) {
  const py::object numpy = py::reinterpret_steal<py::object>(PyImport_GetModule(py::str("numpy").ptr()));
  if (!numpy) return false;
  if (is_numpy_array(value.ptr())) return py::cast<int>(value.attr("ndim")) == 0;
  return PyObject_IsInstance(value.ptr(), py::object(numpy.attr("generic")).ptr()) == 1;
}

NameValue name_value(const std::string& name, const py::handle value, bool once = false) {
  PyObject* object = value.ptr();
  if (PyBool_Check(object)) return object == Py_True;
  if (PyFloat_Check(object) || PyLong_Check(object)) return held_number(name, value);
  if (PyUnicode_Check(object)) return py::cast<std::string>(value);
  if (is_tensor_like(object)) {
    const Tensor tensor = is_tensor(object) ? tensor_of(object) : variable_of(object).peek();
    if (tensor.shape().rank() != 0) refuse_name(name, "a tensor of shape " + to_string(tensor.shape()));
    if (tensor.dtype() == DType::string || is_complex(tensor.dtype()))
      refuse_name(name, "a tensor of dtype " + std::string(dtype_name(tensor.dtype())));
    return held_number(name, value);
  }
  if (!once && is_scalar_of_numpy(value)) return name_value(name, value.attr("item")(), true);
  refuse_name(name, value.is_none() ? std::string("None")
                                    : "a value of type " + std::string(Py_TYPE(object)->tp_name));
}

}  // namespace

protocol::NameValue name_of_program(const std::string& name) {
  if (!Py_IsInitialized() || !PyGILState_Check())
    throw NameError("There is no Python name \"" + name + "\" here: this thread runs no Python.");
  const py::error_scope raised_before;
  const QuietScope quiet;
  try {
    return name_value(name, held_by_name(name));
  } catch (const py::error_already_set& error) {
    throw NameError("The Python name \"" + name + "\" can't be read: " + error.what() + ".");
  } catch (const ForeignException&) {
    PyErr_Clear();
    throw NameError("The Python name \"" + name + "\" can't be read.");
  }
}

}  // namespace tapedeck::python
