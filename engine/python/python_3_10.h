// What Python 3.10 lacks of the C API that the module uses; Python 3.11 has all of it. Included by python.h.
#pragma once

#include <Python.h>

#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>

// NOLINTBEGIN: names of Python's own
inline PyObject* PyFrame_GetLocals(PyFrameObject* frame) {
  return PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_locals");
}
inline PyObject* PyFrame_GetGlobals(PyFrameObject* frame) {
  return PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_globals");
}
/// In bytes, as from 3.11 on; the frame counts instructions of two.
inline int PyFrame_GetLasti(PyFrameObject* frame) {
  return frame->f_lasti < 0 ? -1 : 2 * frame->f_lasti;
}
inline PyObject* PyCode_GetCode(PyCodeObject* code) {
  return Py_NewRef(code->co_code);
}
inline PyObject* PyCode_GetVarnames(PyCodeObject* code) {
  return Py_NewRef(code->co_varnames);
}
inline PyObject* PyCode_GetCellvars(PyCodeObject* code) {
  return Py_NewRef(code->co_cellvars);
}
inline PyObject* PyCode_GetFreevars(PyCodeObject* code) {
  return Py_NewRef(code->co_freevars);
}
/// 3.10 knows lines alone: a call whose arguments are on further lines ends on its first.
inline int PyCode_Addr2Location(PyCodeObject* code, int instruction, int* first, int* column, int* last,
                                int* last_column) {
  *first = *last = PyCode_Addr2Line(code, instruction);
  *column = *last_column = 0;
  return *first > 0;
}
inline void PyThreadState_EnterTracing(PyThreadState* state) {
  ++state->tracing;
  state->cframe->use_tracing = 0;
}
inline void PyThreadState_LeaveTracing(PyThreadState* state) {
  --state->tracing;
  state->cframe->use_tracing = state->c_tracefunc != nullptr || state->c_profilefunc != nullptr;
}
// NOLINTEND
#endif

namespace tapedeck::python {
/// "outer.<locals>.inner", borrowed; Python 3.10 has the last part alone.
inline PyObject* qualified_name(PyCodeObject* code) {
#if PY_VERSION_HEX < 0x030B0000
  return code->co_name;
#else
  return code->co_qualname;
#endif
}
}  // namespace tapedeck::python
