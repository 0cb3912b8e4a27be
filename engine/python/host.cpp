#include "engine/python/host.h"

#include <cxxabi.h>
#include <unistd.h>

#include <mutex>
#include <thread>
#include <vector>

#include "engine/python/python.h"
#include "engine/tensor/error.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::python {

namespace {

std::thread::id main_thread;

void* release_lock() {
  if (!Py_IsInitialized() || !PyGILState_Check()) return nullptr;
  return PyEval_SaveThread();
}

void reacquire_lock(void* token) {
  if (!token) return;
  try {
    PyEval_RestoreThread(static_cast<PyThreadState*>(token));
  } catch (const abi::__forced_unwind&) {
    wait_for_exit();
  }
}

// Python delivers signals on its main thread only, so only there is something to ask.
bool interrupted() {
  if (std::this_thread::get_id() != main_thread || !Py_IsInitialized()) return false;
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool signalled = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return signalled;
}

/// To sys.stdout as print() does. A failing stream is no matter of the op's; an interrupt that came while it
/// wrote is, and comes at the next check instead.
void write_to_stdout(const std::string& line) {
  const py::error_scope raised_before;
  PyObject* stream = PySys_GetObject("stdout");  // borrowed
  if (!stream || stream == Py_None) return;
  const auto kept = py::reinterpret_borrow<py::object>(stream);
  const auto text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(line.data(), static_cast<Py_ssize_t>(line.size()), "replace"));
  if (text && PyFile_WriteObject(text.ptr(), stream, Py_PRINT_RAW) == 0) return;
  const bool signalled = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0;
  PyErr_Clear();
  if (signalled) PyErr_SetInterrupt();
}

void print_line(const std::string& line) {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  write_to_stdout(line + "\n");
  PyGILState_Release(state);
}

// References that were dropped on threads without Python's lock.
struct Pending {
  std::mutex mutex;
  std::vector<PyObject*> objects;
  bool scheduled = false;
};
Pending& pending() {
  static Pending instance;
  return instance;
}

int drop_pending(void*) {
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(pending().mutex);
    objects.swap(pending().objects);
    pending().scheduled = false;
  }
  for (PyObject* object : objects) Py_DECREF(object);
  return 0;
}

}  // namespace

void wait_for_exit() {
  for (;;) ::pause();
}

void install_host_hooks() {
  main_thread = std::this_thread::get_id();
  set_host_hooks({.release = release_lock,
                  .reacquire = reacquire_lock,
                  .interrupted = interrupted,
                  .print = print_line});
}

py::object checked(PyObject* new_reference) {
  if (!new_reference) throw ForeignException{};
  return py::reinterpret_steal<py::object>(new_reference);
}

void checked(int result) {
  if (result < 0) throw ForeignException{};
}

void SharedObject::drop(PyObject* object) {
  if (!object || !Py_IsInitialized()) return;
  if (PyGILState_Check()) {
    Py_DECREF(object);
    return;
  }
  Pending& waiting = pending();
  const std::lock_guard lock(waiting.mutex);
  waiting.objects.push_back(object);
  // Python's list of calls may be full: then the next reference tries again.
  if (!waiting.scheduled) waiting.scheduled = Py_AddPendingCall(drop_pending, nullptr) == 0;
}

}  // namespace tapedeck::python
