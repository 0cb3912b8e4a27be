#include "engine/python/line_stops.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <bitset>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/ops/core/observer.h"
#include "engine/python/errors.h"
#include "engine/python/host.h"
#include "engine/python/program_names.h"
#include "engine/python/source_lines.h"
#include "engine/record/background_thread.h"
#include "engine/record/breakpoints/host_program.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::python {
namespace {

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
  int next_turn = -1;         ///< the instruction that a `for` begins each turn with
  int yields = -1;            ///< the one that leaves a generator for a while
  std::bitset<256> computes;  ///< instructions that may run an op
  /// The last line of what is computed on a line.
  std::map<std::pair<PyCodeObject*, int>, int> ends;
  std::uint64_t era = 0;  ///< how often lines began to be told of
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

int instruction_at(PyCodeObject* code, int offset) {
  const auto bytes = py::reinterpret_steal<py::object>(PyCode_GetCode(code));
  if (!bytes) {
    PyErr_Clear();
    return -1;
  }
  return static_cast<unsigned char>(PyBytes_AS_STRING(bytes.ptr())[offset]);
}

/// Where that ends which is computed on this line: a call's arguments may be on further lines, and a `with`
/// comes back when its block ends.
int end_of_line(PyCodeObject* code, int line) {
  const auto [known, is_new] = line_watch().ends.try_emplace({code, line}, line);
  if (!is_new) return known->second;
  const auto bytes = py::reinterpret_steal<py::object>(PyCode_GetCode(code));
  if (!bytes) {
    PyErr_Clear();
    return line;
  }
  constexpr int instruction_size = 2;
  const auto size = static_cast<int>(PyBytes_GET_SIZE(bytes.ptr()));
  for (int at = 0; at < size; at += instruction_size) {
    int first = 0, column = 0, last = 0, last_column = 0;
    if (!line_watch().computes[static_cast<unsigned char>(PyBytes_AS_STRING(bytes.ptr())[at])]) continue;
    if (PyCode_Addr2Location(code, at, &first, &column, &last, &last_column) && first == line)
      known->second = std::max(known->second, last);
  }
  return known->second;
}

/// Python comes back to a statement's first line when the lines below it have made the arguments, and when a
/// `with` ends. That is no new run of the line; the next turn of a `for` is.
bool continues_line(PyCodeObject* code, int instruction, int line, int line_before) {
  int first = 0, column = 0, last = 0, last_column = 0;
  if (line_before <= line || !PyCode_Addr2Location(code, instruction, &first, &column, &last, &last_column) ||
      line_before > last)
    return false;
  return instruction_at(code, instruction) != line_watch().next_turn;
}

/// Where this thread is in the functions whose lines are waited for, the innermost last.
struct FrameLine {
  PyFrameObject* frame = nullptr;
  int line = 0;
  PyCodeObject* code = nullptr;
  LineRun run;            ///< empty: nothing waits for its end
  int run_line = 0;       ///< its first
  std::uint64_t era = 0;  ///< in which the run began
};
std::vector<FrameLine>& frame_lines() {
  static thread_local std::vector<FrameLine> lines;
  return lines;
}

/// Its line is 0 where it is new.
FrameLine& line_of_frame(PyFrameObject* frame, PyCodeObject* code) {
  auto& lines = frame_lines();
  for (std::size_t i = lines.size(); i-- > 0;) {
    if (lines[i].frame != frame) continue;
    lines.resize(i + 1);
    lines[i].code = code;
    return lines[i];
  }
  lines.emplace_back().frame = frame;
  lines.back().code = code;
  return lines.back();
}

/// What the breakpoints of the frame's line write where it ran without an op. Lines that were not told of
/// meanwhile may have been any.
void leave_line(Recorder& recorder, FrameLine& of, bool suspended) {
  if (of.run.empty()) return;
  const LineRun run = std::exchange(of.run, {});
  if (of.era == line_watch().era) recorder.left_line(run, suspended);
}

/// Another frame may have its address later.
void leave_frame(Recorder* recorder, PyFrameObject* frame) {
  auto& lines = frame_lines();
  while (!lines.empty() && lines.back().frame == frame) {
    FrameLine left = std::move(lines.back());
    lines.pop_back();
    if (!recorder || left.run.empty()) continue;
    PyCodeObject* code = PyFrame_GetCode(frame);
    Py_DECREF(code);  // the frame holds it
    const int at = PyFrame_GetLasti(frame);
    leave_line(*recorder, left, at >= 0 && instruction_at(code, at) == line_watch().yields);
  }
}

/// A comprehension or a lambda within a line that runs: its ops are that line's.
bool is_within_run(PyCodeObject* code, int line) {
  const char* name = PyUnicode_AsUTF8(code->co_name);
  if (!name || name[0] != '<' || std::string_view(name) == "<module>") {
    PyErr_Clear();
    return false;
  }
  const auto& lines = frame_lines();
  return lines.size() > 1 && std::any_of(lines.begin(), lines.end() - 1, [&](const FrameLine& around) {
           return !around.run.empty() && around.era == line_watch().era && around.run_line <= line &&
                  line <= end_of_line(around.code, around.run_line) &&
                  cell_of_code(around.code) == cell_of_code(code);
         });
}

/// An exception is the program's from here on.
template <class Work>
int told_of_line(Work&& work) {
  try {
    work();
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

/// The frame comes to a line: leaves the one before it, where that is over.
void come_to_line(Recorder& recorder, PyFrameObject* frame, PyCodeObject* code, const WatchedCode& watched) {
  const std::uint32_t left = watched.cells ? recorder.gate().left_line() : 0;
  const int line = PyFrame_GetLineNumber(frame);
  FrameLine& of_frame = line_of_frame(frame, code);
  int before = std::exchange(of_frame.line, line);
  if (line <= 0) return;
  const int instruction = PyFrame_GetLasti(frame);
  const bool within =
      !of_frame.run.empty() && line > of_frame.run_line && line <= end_of_line(code, of_frame.run_line);
  const bool comes_back = line == of_frame.run_line && continues_line(code, instruction, line, before);
  if (!within && !comes_back) leave_line(recorder, of_frame, false);
  const bool waited_for = watched.lines && std::binary_search(watched.lines->begin(), watched.lines->end(),
                                                              static_cast<std::uint32_t>(line));
  if (!waited_for && left == 0) return;
  // The step began within a statement of this function, before Python told of lines.
  if (before == 0 && left != 0)
    if (const SourceLocation from = location_of(left); from.cell == cell_of_code(code))
      before = static_cast<int>(from.line);
  if (continues_line(code, instruction, line, before)) return;
  const bool inner = is_within_run(code, line);
  LineRun run = recorder.at_line(location_in_code(code, instruction));
  if (inner || run.empty()) return;
  // The program may have run other lines of this thread meanwhile, while it stood.
  FrameLine& now = line_of_frame(frame, code);
  leave_line(recorder, now, true);  // of what is around it: a `with`, a call whose arguments these are
  now.run = std::move(run);
  now.run_line = line;
  now.era = line_watch().era;
}

/// Python's line events, and the ends of functions.
int hear_line(PyObject*, PyFrameObject* frame, int what, PyObject*) {
  set_lines_are_told(true);
  Recorder* const recorder = line_watch().recorder;
  if (what == PyTrace_RETURN) return told_of_line([&] { leave_frame(recorder, frame); });
  if (what != PyTrace_LINE || !recorder) return 0;
  PyCodeObject* code = PyFrame_GetCode(frame);
  Py_DECREF(code);  // the frame holds it
  const WatchedCode watched = watched_in(code);
  if (!watched.lines && (!watched.cells || recorder->gate().left_line() == 0)) return 0;
  return told_of_line([&] { come_to_line(*recorder, frame, code, watched); });
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
  here.ends.clear();
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
  if (here.tracing && !traced) ++here.era;
  if (here.tracing && here.next_turn < 0) {
    const auto numbers = py::cast<std::map<std::string, int>>(py::module_::import("opcode").attr("opmap"));
    here.next_turn = numbers.at("FOR_ITER");
    here.yields = numbers.at("YIELD_VALUE");
    for (const auto& [name, number] : numbers)
      for (const std::string_view begin : {"CALL", "PRECALL", "BINARY_", "COMPARE_", "UNARY_", "LOAD_ATTR",
                                           "LOAD_METHOD", "STORE_SUBSCR", "CONTAINS_"})
        if (number >= 0 && number < 256 && name.starts_with(begin))
          here.computes.set(static_cast<std::size_t>(number));
  }
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

}  // namespace

void watch_program(Recorder& recorder) {
  line_watch().recorder = &recorder;
  line_watch().version = 0;
  set_host_program({&name_of_program, &look_soon, &look_here});
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
