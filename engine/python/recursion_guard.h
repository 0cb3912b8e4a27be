// Limits the depth of walks through nested sequences, which may contain themselves.
#pragma once

#include <Python.h>

#include "engine/python/errors.h"

namespace tapedeck::python {

/// One level of a walk through nested sequences. At Python's recursion limit the constructor throws
/// ForeignException with Python's RecursionError set.
struct RecursionGuard {
  RecursionGuard() {
    if (Py_EnterRecursiveCall(" while a sequence becomes a tensor") != 0) throw ForeignException{};
  }
  ~RecursionGuard() { Py_LeaveRecursiveCall(); }
  RecursionGuard(const RecursionGuard&) = delete;
  RecursionGuard& operator=(const RecursionGuard&) = delete;
};

}  // namespace tapedeck::python
