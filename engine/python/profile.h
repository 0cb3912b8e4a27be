// Operators as Python's profilers see them. The interpreter reports each call of a built-in function to
// profilers, but not a + b, whose code is in a slot of the type: the slot reports the op's function itself.
#pragma once

#include "engine/ops/core/op.h"
#include "engine/python/op_function.h"
#include "engine/python/python.h"

namespace tapedeck::python {

/// Whether cProfile, sys.setprofile or the like listens on this thread, and does not run right now.
inline bool profiler_listens() {
  const PyThreadState* state = _PyThreadState_UncheckedGet();
  return state->c_profilefunc != nullptr && state->tracing == 0;
}

/// Reports an event of `function`'s call (PyTrace_C_CALL, _C_RETURN or _C_EXCEPTION) to the profiler. False:
/// the profiler raised an exception, which is set.
bool tell_profiler(PyObject* function, int what);

/// Does the work of an operator, which runs the op; its result, or nullptr with an exception set, as a
/// built-in function's.
template <class Work>
PyObject* profiled(const OpDef& op, Work&& work) {
  if (!profiler_listens()) [[likely]]
    return work();
  PyObject* function = op_function_of(op);
  if (!tell_profiler(function, PyTrace_C_CALL)) return nullptr;
  PyObject* result = work();
  if (!tell_profiler(function, result ? PyTrace_C_RETURN : PyTrace_C_EXCEPTION)) Py_CLEAR(result);
  return result;
}

}  // namespace tapedeck::python
