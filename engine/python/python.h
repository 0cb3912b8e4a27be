// Python's C API, pybind11 as a smart pointer and for what runs rarely.
#pragma once

#include <pybind11/pybind11.h>

#include "engine/python/python_3_10.h"

namespace tapedeck::python {

namespace py = pybind11;

/// What a static type object starts as; its slots are filled in before PyType_Ready.
inline PyTypeObject blank_type() {
  PyTypeObject type{};
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&type), 1);
  return type;
}

/// Takes a new reference; throws ForeignException where a Python function returned none (its exception is
/// set).
py::object checked(PyObject* new_reference);
void checked(int result);

/// A Python object that may be dropped on any thread: without Python's lock the decrement waits for a moment
/// in which it is held.
class SharedObject {
 public:
  explicit SharedObject(py::object object) : object_(object.release().ptr()) {}
  SharedObject(SharedObject&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  SharedObject(const SharedObject&) = delete;
  ~SharedObject() { drop(object_); }
  PyObject* get() const { return object_; }

  /// Gives one reference to `object` (may be nullptr) back, on any thread.
  static void drop(PyObject* object);

 private:
  PyObject* object_;
};

}  // namespace tapedeck::python
