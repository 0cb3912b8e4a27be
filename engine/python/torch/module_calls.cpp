#include "engine/python/torch/module_calls.h"

#include <vector>

#include "engine/ops/core/observer.h"
#include "engine/python/torch/wrapped_function.h"

namespace tapedeck::python::torch {
namespace {

/// A module whose call has not ended.
struct Called {
  PyObject* module = nullptr;  ///< its caller has it
  bool entered = false;        ///< its scope is open
};

thread_local std::vector<Called> calls;

// What opens and closes a module's scope. Guarded by Python's lock.
PyObject* enter_scope = nullptr;
PyObject* leave_scope = nullptr;

/// An exception in there is not the program's.
void run(PyObject* callback, PyObject* module) {
  const py::error_scope raised;
  const auto done = py::reinterpret_steal<py::object>(PyObject_CallOneArg(callback, module));
  if (!done) PyErr_WriteUnraisable(callback);
}

/// Of modules that were called before something recorded, too: the outermost gives the others their paths.
void enter_open_modules() {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].entered) continue;
    calls[i].entered = true;
    run(enter_scope, calls[i].module);
  }
}

PyObject* call_module(PyObject* self, PyObject* arguments, PyObject* named) {
  PyObject* const function = wrapped(self)->function;
  if (!enter_scope || PyTuple_GET_SIZE(arguments) == 0) return PyObject_Call(function, arguments, named);
  PyObject* const module = PyTuple_GET_ITEM(arguments, 0);
  const std::size_t depth = calls.size();
  calls.push_back({module, false});
  if (current_observer()) enter_open_modules();
  PyObject* result = PyObject_Call(function, arguments, named);
  const bool entered = calls[depth].entered;
  calls.resize(depth);
  if (entered && leave_scope) run(leave_scope, module);
  return result;
}

}  // namespace

void bind_module_calls(py::module_& torch) {
  static PyTypeObject* const type = wrapper_type(
      "tapedeck._engine.torch.module_calls",
      "Calls nn.Module's _call_impl, with the module's scope around it while ops are recorded.", call_module);
  torch.attr("module_calls") = py::handle(reinterpret_cast<PyObject*>(type));
  torch.def(
      "set_scopes",
      [](const py::object& enter, const py::object& leave) {
        const auto place = [](PyObject*& callback, const py::object& now) {
          Py_XDECREF(callback);
          callback = now.is_none() ? nullptr : py::object(now).release().ptr();
        };
        place(enter_scope, enter);
        place(leave_scope, leave);
      },
      py::arg("enter"), py::arg("leave"), "What module_calls calls with a module; None: nothing.");
}

}  // namespace tapedeck::python::torch
