#include "engine/python/profile.h"

namespace tapedeck::python {

bool tell_profiler(PyObject* function, int what) {
  PyThreadState* state = PyThreadState_Get();
  const Py_tracefunc listener = state->c_profilefunc;
  if (!listener) return true;  // it went away during the call
  PyFrameObject* frame = PyThreadState_GetFrame(state);
  if (!frame) return true;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);  // what the work raised
  const auto object = py::reinterpret_borrow<py::object>(state->c_profileobj);
  PyThreadState_EnterTracing(state);
  const int result = listener(object.ptr(), frame, what, function);
  PyThreadState_LeaveTracing(state);
  Py_DECREF(frame);
  if (result == 0) {
    PyErr_Restore(type, value, traceback);
    return true;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return false;
}

}  // namespace tapedeck::python
