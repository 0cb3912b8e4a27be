#include "engine/python/host.h"

#include <mutex>
#include <thread>
#include <vector>

#include "engine/ops/interrupt.h"
#include "engine/python/python.h"
#include "engine/tensor/error.h"

namespace tapedeck::python {

namespace {

std::thread::id main_thread;

void* release_lock() {
  if (!Py_IsInitialized() || !PyGILState_Check()) return nullptr;
  return PyEval_SaveThread();
}

void reacquire_lock(void* token) {
  if (token) PyEval_RestoreThread(static_cast<PyThreadState*>(token));
}

// Python delivers signals on its main thread only, so only there is something to ask.
bool interrupted() {
  if (std::this_thread::get_id() != main_thread || !Py_IsInitialized()) return false;
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool pending = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return pending;
}

// References that were let go on threads without Python's lock.
std::mutex& pending_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::vector<PyObject*>& pending_objects() {
  static std::vector<PyObject*> objects;
  return objects;
}

int drop_pending(void*) {
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(pending_mutex());
    objects.swap(pending_objects());
  }
  for (PyObject* object : objects) Py_DECREF(object);
  return 0;
}

}  // namespace

void install_host_hooks() {
  main_thread = std::this_thread::get_id();
  set_host_hooks({.release = release_lock, .reacquire = reacquire_lock, .interrupted = interrupted});
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
  bool first;
  {
    const std::lock_guard lock(pending_mutex());
    first = pending_objects().empty();
    pending_objects().push_back(object);
  }
  if (first) Py_AddPendingCall(drop_pending, nullptr);
}

}  // namespace tapedeck::python
