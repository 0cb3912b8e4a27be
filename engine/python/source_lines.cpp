#include "engine/python/source_lines.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "engine/python/python.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::python {
namespace {

enum class Owner { cell, user, package };

/// What is known of one code object. It is held, so that its address stays its own.
struct Code {
  Owner owner = Owner::user;
  std::string cell, file;
  // By the offset of the instruction:
  std::unordered_map<int, std::uint32_t> locations;
  std::unordered_map<int, std::uint32_t> calls, lines;  ///< what is written there, from intern_call
};

struct Place {
  PyCodeObject* code = nullptr;
  int instruction = -1;
  CallSite site;
};

/// All of it is guarded by Python's lock.
struct Lines {
  std::string package;
  std::vector<std::string> skipped;  ///< folders of other frameworks
  bool files_are_cells = false;
  py::object written;  ///< tapedeck._debugging.written_calls.at, while lines are captured
  std::unordered_map<std::string, std::string> cells;  ///< cell by file name
  std::unordered_map<PyCodeObject*, Code> codes;
  std::array<Place, 1024>
      places;  ///< the latest decided by their innermost frame, at a hash of their address
};

Lines& lines() {
  static auto* all = new Lines;  // Python may end after the program's statics
  return *all;
}

Code& code_of(PyCodeObject* object) {
  const auto [found, is_new] = lines().codes.try_emplace(object);
  Code& code = found->second;
  if (!is_new) return code;
  Py_INCREF(object);
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object->co_filename, &size);
  if (text)
    code.file.assign(text, static_cast<std::size_t>(size));
  else
    PyErr_Clear();
  if (const auto cell = lines().cells.find(code.file); cell != lines().cells.end()) {
    code.owner = Owner::cell;
    code.cell = cell->second;
    code.file.clear();
  } else if ((!lines().package.empty() && code.file.starts_with(lines().package)) ||
             code.file.starts_with("<frozen ") ||
             std::any_of(lines().skipped.begin(), lines().skipped.end(),
                         [&](const std::string& folder) { return code.file.starts_with(folder); })) {
    code.owner = Owner::package;
  } else if (lines().files_are_cells) {
    code.cell = code.file;
  }
  return code;
}

std::uint32_t location_in(PyCodeObject* object, Code& code, int instruction) {
  const auto [found, is_new] = code.locations.try_emplace(instruction, 0);
  if (!is_new) return found->second;
  const int line = PyCode_Addr2Line(object, instruction);
  found->second = intern_location({code.cell, code.file, line > 0 ? static_cast<std::uint32_t>(line) : 0});
  return found->second;
}

/// Runs Python's code for it, of which the program is to notice nothing: not what it raises, nor in its
/// profile.
std::uint32_t find_call(PyCodeObject* object, int instruction, bool whole_line) {
  const py::object written = lines().written;
  if (!written) return 0;
  const py::error_scope raised_before;
  PyThreadState* const state = PyThreadState_Get();
  PyThreadState_EnterTracing(state);
  const auto found = py::reinterpret_steal<py::object>(PyObject_CallFunction(
      written.ptr(), "Oii", reinterpret_cast<PyObject*>(object), instruction, whole_line));
  PyThreadState_LeaveTracing(state);
  SourceCall call;
  if (found && PyTuple_Check(found.ptr())) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(found.ptr(), 0), &size);
    if (text) call = {{text, static_cast<std::size_t>(size)}, PyTuple_GET_ITEM(found.ptr(), 1) == Py_True};
  }
  // An interrupt that came meanwhile comes at the next check instead.
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
  PyErr_Clear();
  return intern_call(call);
}

/// Found once for each instruction.
std::uint32_t call_in(PyCodeObject* object, int instruction, bool whole_line = false) {
  const auto calls = whole_line ? &Code::lines : &Code::calls;
  Code& code = code_of(object);
  if (const auto known = (code.*calls).find(instruction); known != (code.*calls).end()) return known->second;
  const std::uint32_t call = find_call(object, instruction, whole_line);
  // Other threads ran meanwhile, and may have ended the capturing.
  if (const auto code_now = lines().codes.find(object); code_now != lines().codes.end())
    (code_now->second.*calls)[instruction] = call;
  return call;
}

/// The innermost frame of a cell; where there is none, the innermost of a file that is the user's.
CallSite search(py::object frame, Place& place) {
  py::object file_code;
  int file_instruction = -1;
  bool innermost = true;
  while (frame) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    PyCodeObject* object = PyFrame_GetCode(raw);
    const auto held = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(object));
    Code& code = code_of(object);
    const int instruction = PyFrame_GetLasti(raw);
    if (code.owner == Owner::cell || (code.owner == Owner::user && lines().cells.empty())) {
      const std::uint32_t location = location_in(object, code, instruction);
      const CallSite site{location, call_in(object, instruction)};
      if (innermost && lines().codes.contains(object)) place = {object, instruction, site};
      return site;
    }
    if (code.owner == Owner::user && !file_code) {
      file_code = held;
      file_instruction = instruction;
    }
    innermost = false;
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  if (!file_code) return {};
  auto* object = reinterpret_cast<PyCodeObject*>(file_code.ptr());
  const std::uint32_t location = location_in(object, code_of(object), file_instruction);
  return {location, call_in(object, file_instruction)};
}

CallSite capture_site() {
  if (!PyGILState_Check()) return {};  // a thread of C++
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  if (!frame) return {};
  PyCodeObject* code = PyFrame_GetCode(frame);
  const int instruction = PyFrame_GetLasti(frame);
  Py_DECREF(code);  // the frame holds it
  const std::size_t address = reinterpret_cast<std::size_t>(code) >> 5;
  set_last_place(address << 20 ^ static_cast<std::uint64_t>(instruction));
  Place& place = lines().places[(address * 31 + static_cast<std::size_t>(instruction)) %
                                std::tuple_size_v<decltype(Lines::places)>];
  if (place.code == code && place.instruction == instruction) {
    const CallSite site = place.site;
    Py_DECREF(frame);
    return site;
  }
  return search(py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(frame)), place);
}

}  // namespace

std::uint32_t location_in_program() {
  static const std::string own = [] {
    const py::list folders(py::module_::import("tapedeck").attr("__path__"));
    return py::cast<std::string>(folders[0]) + "/";
  }();
  for (auto frame = py::reinterpret_steal<py::object>(
           reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
       frame; frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(
                  PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame.ptr()))))) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    const auto file = py::cast<std::string>(code.attr("co_filename"));
    if (file.starts_with(own) || file.starts_with("<frozen ")) continue;
    const int line = PyFrame_GetLineNumber(raw);
    const auto cell = lines().cells.find(file);
    const bool is_cell = cell != lines().cells.end();
    return intern_location({is_cell ? cell->second : std::string(), is_cell ? std::string() : file,
                            line > 0 ? static_cast<std::uint32_t>(line) : 0});
  }
  return 0;
}

void start_capturing_lines(const std::string& package) {
  lines().package = package.empty() || package.back() == '/' ? package : package + "/";
  lines().written = py::module_::import("tapedeck._debugging.written_calls").attr("at");
  set_capture_call_site(&capture_site);
}

void skip_lines_of(const std::string& folder) {
  const std::string inside = folder.empty() || folder.back() == '/' ? folder : folder + "/";
  if (inside.empty() ||
      std::find(lines().skipped.begin(), lines().skipped.end(), inside) != lines().skipped.end())
    return;
  lines().skipped.push_back(inside);
  for (auto& [unused, code] : lines().codes)
    if (code.file.starts_with(inside)) code.owner = Owner::package;
  lines().places.fill({});
}

void show_files_as_cells() {
  lines().files_are_cells = true;
}

void stop_capturing_lines() {
  lines().files_are_cells = false;
  set_capture_call_site(nullptr);
  lines().written = py::object();
  lines().places.fill({});
  auto codes = std::move(lines().codes);
  lines().codes.clear();
  for (const auto& [object, unused] : codes) Py_DECREF(object);
}

void name_cell(const std::string& cell, const std::string& filename) {
  if (cell.empty() || filename.empty()) return;
  const bool first = lines().cells.empty();
  lines().cells[filename] = cell;
  // Until now a file of the user's decided alone; a cell further out decides from now on.
  if (first) lines().places.fill({});
}

const std::string& cell_of_code(PyCodeObject* code) {
  return code_of(code).cell;
}

bool has_cell(const std::string& cell) {
  return lines().files_are_cells || std::any_of(lines().cells.begin(), lines().cells.end(),
                                                [&](const auto& known) { return known.second == cell; });
}

std::uint32_t location_in_code(PyCodeObject* code, int instruction) {
  return location_in(code, code_of(code), instruction);
}

CallSite line_in_code(PyCodeObject* code, int instruction) {
  const std::uint32_t location = location_in_code(code, instruction);
  return {location, call_in(code, instruction, true)};
}

bool is_users(PyCodeObject* code) {
  return code_of(code).owner != Owner::package;
}

bool users_code_runs_in(PyFrameObject* outer) {
  auto frame = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  while (frame && frame.ptr() != reinterpret_cast<PyObject*>(outer)) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    PyCodeObject* code = PyFrame_GetCode(raw);
    const bool found = is_users(code);
    Py_DECREF(code);
    if (found) return true;
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  return false;
}

bool is_of_cell(PyCodeObject* code) {
  return code_of(code).owner == Owner::cell;
}

std::string cell_of(const std::string& filename) {
  const auto found = lines().cells.find(filename);
  return found == lines().cells.end() ? std::string() : found->second;
}

}  // namespace tapedeck::python
