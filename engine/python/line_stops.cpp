#include "engine/python/line_stops.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/ops/core/observer.h"
#include "engine/python/errors.h"
#include "engine/python/host.h"
#include "engine/python/inspector.h"
#include "engine/python/source_lines.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/record/background_thread.h"
#include "engine/record/breakpoints/host_program.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::python {
namespace {

using protocol::NameError;
using protocol::NameValue;

using LineNumbers = std::vector<std::uint32_t>;  // sorted

struct WatchedCode {
  const LineNumbers* lines = nullptr;  ///< nullptr: no breakpoint waits for one
  bool cells = false;                  ///< a notebook's: steps to another line stop in it
};

/// All of it is guarded by Python's lock.
struct LineWatch {
  Recorder* recorder = nullptr;
  std::uint64_t version = 0;  ///< of the breakpoints' lines that are here
  bool tracing = false;
  bool stepping = false;                               ///< to another line
  std::unordered_map<std::string, LineNumbers> lines;  ///< by cell
  /// source_lines.h holds the code, so that its address stays its own.
  std::unordered_map<PyCodeObject*, WatchedCode> codes;
  PyCodeObject* last_code = nullptr;
  WatchedCode last_watched;
  int next_turn = -1;  ///< the instruction that a `for` begins each turn with
};

LineWatch& line_watch() {
  static auto* one = new LineWatch;  // Python may end after the program's statics
  return *one;
}

WatchedCode watched_in(PyCodeObject* code) {
  LineWatch& here = line_watch();
  if (code == here.last_code) return here.last_watched;
  const auto [known, is_new] = here.codes.try_emplace(code);
  if (is_new) {
    const std::string& cell = cell_of_code(code);
    const auto found = here.lines.find(cell);
    if (found != here.lines.end()) known->second.lines = &found->second;
    known->second.cells = is_of_cell(code);
  }
  here.last_code = code;
  return here.last_watched = known->second;
}

/// Python comes back to a statement's first line when the lines below it have made the arguments, and when a
/// `with` ends. That is no new run of the line; the next turn of a `for` is.
bool continues_line(PyCodeObject* code, int instruction, int line, int line_before) {
  int first = 0, column = 0, last = 0, last_column = 0;
  if (line_before <= line || !PyCode_Addr2Location(code, instruction, &first, &column, &last, &last_column) ||
      line_before > last)
    return false;
  const auto bytes = py::reinterpret_steal<py::object>(PyCode_GetCode(code));
  if (!bytes) {
    PyErr_Clear();
    return true;
  }
  return static_cast<unsigned char>(PyBytes_AS_STRING(bytes.ptr())[instruction]) != line_watch().next_turn;
}

/// Where this thread is in the functions whose lines are waited for, the innermost last.
struct FrameLine {
  PyFrameObject* frame = nullptr;
  int line = 0;
};
std::vector<FrameLine>& frame_lines() {
  static thread_local std::vector<FrameLine> lines;
  return lines;
}

/// The line before in this frame; 0: there was none.
int exchange_line(PyFrameObject* frame, int line) {
  auto& lines = frame_lines();
  for (std::size_t i = lines.size(); i-- > 0;) {
    if (lines[i].frame != frame) continue;
    lines.resize(i + 1);
    return std::exchange(lines[i].line, line);
  }
  lines.push_back({frame, line});
  return 0;
}

/// Another frame may have its address later.
void forget_frame(PyFrameObject* frame) {
  auto& lines = frame_lines();
  while (!lines.empty() && lines.back().frame == frame) lines.pop_back();
}

/// Python's line events, and the ends of functions.
int hear_line(PyObject*, PyFrameObject* frame, int what, PyObject*) {
  set_lines_are_told(true);
  if (what == PyTrace_RETURN) forget_frame(frame);
  if (what != PyTrace_LINE) return 0;
  PyCodeObject* code = PyFrame_GetCode(frame);
  Py_DECREF(code);  // the frame holds it
  Recorder* const recorder = line_watch().recorder;
  if (!recorder) return 0;
  const WatchedCode watched = watched_in(code);
  const std::uint32_t left = watched.cells ? recorder->gate().left_line() : 0;
  if (!watched.lines && left == 0) return 0;
  const int line = PyFrame_GetLineNumber(frame);
  int before = exchange_line(frame, line);
  if (line <= 0) return 0;
  const bool waited_for = watched.lines && std::binary_search(watched.lines->begin(), watched.lines->end(),
                                                              static_cast<std::uint32_t>(line));
  if (!waited_for && left == 0) return 0;
  // The step began within a statement of this function, before Python told of lines.
  if (before == 0 && left != 0)
    if (const SourceLocation from = location_of(left); from.cell == cell_of_code(code))
      before = static_cast<int>(from.line);
  const int instruction = PyFrame_GetLasti(frame);
  if (continues_line(code, instruction, line, before)) return 0;
  try {
    recorder->at_line(location_in_code(code, instruction));
    return 0;
  } catch (const abi::__forced_unwind&) {
    wait_for_exit();
  } catch (const Interrupted&) {
    if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return -1;
}

/// For a thread that begins while lines are told: threading.settrace() has it called there.
py::object hear_new_thread(const py::args&) {
  PyEval_SetTrace(&hear_line, nullptr);
  return py::none();
}

const py::object& thread_hook() {
  static auto* hook = new py::object(py::cpp_function(&hear_new_thread));
  return *hook;
}

void trace_new_threads(bool on) {
  const py::module_ threading = py::module_::import("threading");
  const py::object now = threading.attr("gettrace")();
  if (on ? !now.is_none() : !now.is(thread_hook())) return;
  threading.attr("settrace")(on ? thread_hook() : py::object(py::none()));
}

/// Threads that another tool traces are left to it.
void trace_threads(bool on) {
  const auto ours = [](const PyThreadState* thread) {
    return thread->c_tracefunc == nullptr || thread->c_tracefunc == &hear_line;
  };
  PyThreadState* const here = PyThreadState_Get();
  PyInterpreterState* const interpreter = PyThreadState_GetInterpreter(here);
  bool all_ours = true;
  for (PyThreadState* thread = PyInterpreterState_ThreadHead(interpreter); thread;
       thread = PyThreadState_Next(thread)) {
    all_ours = all_ours && ours(thread);
#if PY_VERSION_HEX < 0x030C0000
    if (ours(thread) && _PyEval_SetTrace(thread, on ? &hear_line : nullptr, nullptr) < 0) PyErr_Clear();
#endif
  }
#if PY_VERSION_HEX >= 0x030C0000
  if (all_ours)
    PyEval_SetTraceAllThreads(on ? &hear_line : nullptr, nullptr);
  else if (ours(here))
    PyEval_SetTrace(on ? &hear_line : nullptr, nullptr);
#endif
  (void)all_ours;
  trace_new_threads(on);
}

void set_line_stops(std::vector<std::pair<std::string, std::uint32_t>> wanted, bool stepping) {
  LineWatch& here = line_watch();
  here.stepping = stepping;
  here.codes.clear();
  here.last_code = nullptr;
  here.last_watched = {};
  here.lines.clear();
  std::sort(wanted.begin(), wanted.end());
  for (auto& [cell, line] : wanted) here.lines[cell].push_back(line);
  const bool traced = here.tracing;
  // A cell that has not run yet has no code that could be watched.
  here.tracing = stepping || std::any_of(here.lines.begin(), here.lines.end(),
                                         [](const auto& one) { return has_cell(one.first); });
  if (!traced && !here.tracing) return;
  if (!here.tracing) set_lines_are_told(false);
  if (here.tracing && here.next_turn < 0)
    here.next_turn = py::cast<int>(py::module_::import("opcode").attr("opmap")["FOR_ITER"]);
  trace_threads(here.tracing);
}

/// Whatever another tool's audit of sys.settrace says, the program goes on.
void look_here() {
  if (!Py_IsInitialized() || !PyGILState_Check()) return;
  const py::error_scope raised_before;
  try {
    look_for_line_stops();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("tapedeck: breakpoints on lines");
  }
}

/// The server's threads must not wait for Python's lock.
void look_soon() {
  if (!Py_IsInitialized()) return;
  start_background_thread([] {
    try {
      const py::gil_scoped_acquire locked;
      look_here();
    } catch (const abi::__forced_unwind&) {
      wait_for_exit();
    }
  }).detach();
}

bool lists_name(PyObject* names, PyObject* name) {
  if (!names) {
    PyErr_Clear();
    return false;
  }
  const auto list = py::reinterpret_steal<py::object>(names);
  return PySequence_Contains(list.ptr(), name) == 1;
}

/// The name in a function's own variables: only where the function has one of that name are they looked at.
py::object local_value(PyFrameObject* frame, PyCodeObject* code, const py::str& name) {
  const bool function = (code->co_flags & CO_OPTIMIZED) != 0;
  if (function && !lists_name(PyCode_GetVarnames(code), name.ptr()) &&
      !lists_name(PyCode_GetCellvars(code), name.ptr()) && !lists_name(PyCode_GetFreevars(code), name.ptr()))
    return {};
  const py::object locals = function ? frame_locals(py::handle(reinterpret_cast<PyObject*>(frame)))
                                     : py::reinterpret_steal<py::object>(PyFrame_GetLocals(frame));
  if (!locals || !PyDict_Check(locals.ptr())) return {};
  return py::reinterpret_borrow<py::object>(PyDict_GetItemWithError(locals.ptr(), name.ptr()));
}

py::object held_by_name(const std::string& text) {
  const py::str name(text);
  auto frame = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  while (frame) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    PyCodeObject* code = PyFrame_GetCode(raw);
    Py_DECREF(code);
    if (is_users(code)) {
      if (py::object found = local_value(raw, code, name)) return found;
      const auto globals = py::reinterpret_steal<py::object>(PyFrame_GetGlobals(raw));
      if (PyObject* found = PyDict_GetItemWithError(globals.ptr(), name.ptr()))
        return py::reinterpret_borrow<py::object>(found);
    }
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  throw NameError("There is no Python name \"" + text + "\" here.");
}

[[noreturn]] void refuse_name(const std::string& name, const std::string& held) {
  throw NameError("The Python name \"" + name + "\" holds " + held +
                  ": a condition compares numbers, strings and booleans.");
}

double held_number(const std::string& name, const py::handle value) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number != -1 || !PyErr_Occurred()) return number;
  PyErr_Clear();
  refuse_name(name, "what is no finite number of 64 bits");
}

bool is_scalar_of_numpy(const py::handle value) {
  const py::object numpy = py::reinterpret_steal<py::object>(PyImport_GetModule(py::str("numpy").ptr()));
  if (!numpy) return false;
  if (is_numpy_array(value.ptr())) return py::cast<int>(value.attr("ndim")) == 0;
  return PyObject_IsInstance(value.ptr(), py::object(numpy.attr("generic")).ptr()) == 1;
}

NameValue name_value(const std::string& name, const py::handle value, bool once = false) {
  PyObject* object = value.ptr();
  if (PyBool_Check(object)) return object == Py_True;
  if (PyFloat_Check(object) || PyLong_Check(object)) return held_number(name, value);
  if (PyUnicode_Check(object)) return py::cast<std::string>(value);
  if (is_tensor_like(object)) {
    const Tensor tensor = is_tensor(object) ? tensor_of(object) : variable_of(object).peek();
    if (tensor.shape().rank() != 0) refuse_name(name, "a tensor of shape " + to_string(tensor.shape()));
    if (tensor.dtype() == DType::string || is_complex(tensor.dtype()))
      refuse_name(name, "a tensor of dtype " + std::string(dtype_name(tensor.dtype())));
    return held_number(name, value);
  }
  if (!once && is_scalar_of_numpy(value)) return name_value(name, value.attr("item")(), true);
  refuse_name(name, value.is_none() ? std::string("None")
                                    : "a value of type " + std::string(Py_TYPE(object)->tp_name));
}

NameValue read_name(const std::string& name) {
  if (!Py_IsInitialized() || !PyGILState_Check())
    throw NameError("There is no Python name \"" + name + "\" here: this thread runs no Python.");
  const py::error_scope raised_before;
  const QuietScope quiet;
  try {
    return name_value(name, held_by_name(name));
  } catch (const py::error_already_set& error) {
    throw NameError("The Python name \"" + name + "\" can't be read: " + error.what() + ".");
  } catch (const ForeignException&) {
    PyErr_Clear();
    throw NameError("The Python name \"" + name + "\" can't be read.");
  }
}

}  // namespace

void watch_program(Recorder& recorder) {
  line_watch().recorder = &recorder;
  line_watch().version = 0;
  set_host_program({&read_name, &look_soon, &look_here});
}

void leave_program() {
  set_host_program({});
  line_watch().recorder = nullptr;
  set_line_stops({}, false);
}

void look_for_line_stops(bool cells) {
  LineWatch& here = line_watch();
  if (!here.recorder) return;
  const std::uint64_t version = here.recorder->breakpoints().lines_version();
  const bool stepping = here.recorder->gate().steps_to_line();
  if (version == here.version && stepping == here.stepping && (!cells || here.lines.empty())) return;
  here.version = version;
  set_line_stops(here.recorder->breakpoints().lines(), stepping);
}

}  // namespace tapedeck::python
