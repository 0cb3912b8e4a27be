#include "engine/python/errors.h"

#include <new>

#include "engine/data/data_error.h"
#include "engine/record/lockstep/lockstep.h"
#include "engine/tensor/internal_error.h"
#include "engine/tensor/symbolic_error.h"

namespace tapedeck::python {

namespace {

struct ErrorClasses {
  PyObject* base = nullptr;
  PyObject* invalid_argument = nullptr;
  PyObject* type_mismatch = nullptr;
  PyObject* out_of_range = nullptr;
  PyObject* resource_exhausted = nullptr;
  PyObject* not_found = nullptr;
  PyObject* unimplemented = nullptr;
  PyObject* failed_precondition = nullptr;
  PyObject* symbolic_value = nullptr;
  PyObject* internal = nullptr;
  PyObject* data_loss = nullptr;
  PyObject* lockstep_difference = nullptr;
};
ErrorClasses classes;

/// A path in the text may hold bytes that are not UTF-8: they come as Python has them in paths.
py::object text_object(const std::string& text) {
  return checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

void raise(PyObject* type, const Error& error) {
  try {
    const py::object raised = py::handle(type)(text_object(error.what()));
    if (!error.op_name.empty()) raised.attr("op_name") = text_object(error.op_name);
    if (!error.argument.empty()) raised.attr("argument") = text_object(error.argument);
    PyErr_SetObject(type, raised.ptr());
  } catch (py::error_already_set& other) {  // no memory for it
    other.restore();
  } catch (const ForeignException&) {  // likewise, and it is set
  }
}

/// `parent`: the engine's class above it; none for the first one.
PyObject* make_class(py::module_& module, const char* name, const char* doc, PyObject* parent,
                     PyObject* built_in) {
  const std::string full_name = std::string("tapedeck.errors.") + name;
  const py::object bases = parent ? py::object(py::make_tuple(py::handle(parent), py::handle(built_in)))
                                  : py::reinterpret_borrow<py::object>(built_in);
  PyObject* made = PyErr_NewExceptionWithDoc(full_name.c_str(), doc, bases.ptr(), nullptr);
  if (!made) throw py::error_already_set();
  module.attr(name) = py::handle(made);
  return made;
}

// For functions that pybind11 wraps.
void translate_errors() {
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const ForeignException&) {
      set_python_error();
    } catch (const Error&) {
      set_python_error();
    }
  });
}

}  // namespace

void bind_errors(py::module_& module) {
  translate_errors();
  const auto make = [&](const char* name, const char* doc, PyObject* parent, PyObject* built_in) {
    return make_class(module, name, doc, parent, built_in);
  };
  PyObject* base = make("OpError", "What every error of the engine is.", nullptr, PyExc_Exception);
  PyObject* invalid = make("InvalidArgumentError", "An argument's value or shape is wrong; a ValueError.",
                           base, PyExc_ValueError);
  py::handle(base).attr("op_name") = py::none();   // the op that refused
  py::handle(base).attr("argument") = py::none();  // and which of its arguments, where the engine knows them
  classes.base = base;
  classes.invalid_argument = invalid;
  // TensorFlow raises an InvalidArgumentError for many of the next two: a handler of that catches them.
  classes.type_mismatch =
      make("TypeMismatchError", "An argument's dtype is wrong; a TypeError.", invalid, PyExc_TypeError);
  classes.out_of_range =
      make("OutOfRangeError", "An index is out of range; an IndexError.", invalid, PyExc_IndexError);
  classes.resource_exhausted =
      make("ResourceExhaustedError", "Not enough memory; a MemoryError.", base, PyExc_MemoryError);
  classes.not_found =
      make("NotFoundError", "A device that is not there; a RuntimeError.", base, PyExc_RuntimeError);
  classes.unimplemented =
      make("UnimplementedError", "No kernel for this dtype or device; a NotImplementedError.", base,
           PyExc_NotImplementedError);
  classes.failed_precondition =
      make("FailedPreconditionError",
           "The object is not in the state that the call needs (a used-up tape); a RuntimeError.", base,
           PyExc_RuntimeError);
  classes.symbolic_value = make_class(
      module, "OperatorNotAllowedInGraphError",
      "A tensor of a function that is being traced has no value that Python could read; a TypeError.",
      classes.failed_precondition, PyExc_TypeError);
  classes.internal = make(
      "InternalError",
      "A device failed, or the engine is at fault; a RuntimeError. A GPU that is lost gives it again for "
      "whatever is asked of it.",
      base, PyExc_RuntimeError);
  classes.data_loss =
      make("DataLossError", "What was read is damaged: a checksum that does not fit, a file cut off.", base,
           PyExc_RuntimeError);
  classes.lockstep_difference = make(
      "LockstepDifference",
      "Two runs that tf.debugging.lockstep compared differ; an AssertionError. Its attributes tell where.",
      base, PyExc_AssertionError);
}

PyObject* symbolic_value_error() {
  return classes.symbolic_value;
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (const ForeignException&) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "a C++ exception was lost");
  } catch (const Interrupted&) {
    if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
  } catch (const InvalidArgumentError& error) {
    raise(classes.invalid_argument, error);
  } catch (const TypeMismatchError& error) {
    raise(classes.type_mismatch, error);
  } catch (const OutOfRangeError& error) {
    raise(classes.out_of_range, error);
  } catch (const ResourceExhaustedError& error) {
    raise(classes.resource_exhausted, error);
  } catch (const NotFoundError& error) {
    raise(classes.not_found, error);
  } catch (const UnimplementedError& error) {
    raise(classes.unimplemented, error);
  } catch (const SymbolicValueError& error) {
    raise(classes.symbolic_value, error);
  } catch (const FailedPreconditionError& error) {
    raise(classes.failed_precondition, error);
  } catch (const InternalError& error) {
    raise(classes.internal, error);
  } catch (const data::DataLossError& error) {
    raise(classes.data_loss, error);
  } catch (const LockstepDifferenceError& error) {
    raise(classes.lockstep_difference, error);
  } catch (const Error& error) {
    raise(classes.base, error);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "an unknown C++ exception");
  }
}

std::string short_repr(PyObject* object) noexcept {
  constexpr std::size_t limit = 60;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  std::string text;
  if (PyObject* repr = PyObject_Repr(object)) {
    if (const char* utf8 = PyUnicode_AsUTF8(repr)) text = utf8;
    Py_DECREF(repr);
  }
  if (text.empty()) text = std::string("<") + Py_TYPE(object)->tp_name + " object>";
  if (text.size() > limit) {
    std::size_t end = limit - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
      --end;  // inside a UTF-8 sequence
    text = text.substr(0, end) + "...";
  }
  PyErr_Restore(type, value, traceback);
  return text;
}

}  // namespace tapedeck::python
