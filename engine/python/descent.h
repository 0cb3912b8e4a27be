// How deep nested sequences are followed: they may hold themselves.
#pragma once

#include <Python.h>

#include "engine/python/errors.h"

namespace tapedeck::python {

/// One level of a walk through nested sequences. Throws what stands for Python's RecursionError at Python's
/// own limit.
struct Descent {
  Descent() {
    if (Py_EnterRecursiveCall(" while a sequence becomes a tensor") != 0) throw ForeignException{};
  }
  ~Descent() { Py_LeaveRecursiveCall(); }
  Descent(const Descent&) = delete;
  Descent& operator=(const Descent&) = delete;
};

}  // namespace tapedeck::python
