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
  std::unordered_map<int, std::uint32_t> locations;  ///< by the offset of the instruction
};

struct Place {
  PyCodeObject* code = nullptr;
  int instruction = -1;
  std::uint32_t location = 0;
};

/// All of it is guarded by Python's lock.
struct Lines {
  std::string package;
  std::vector<std::string> skipped;  ///< folders of other frameworks
  bool files_are_cells = false;
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

/// The innermost frame of a cell; where there is none, the innermost of a file that is the user's.
std::uint32_t search(py::object frame, Place& place) {
  std::uint32_t in_file = 0;
  bool innermost = true;
  while (frame) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    PyCodeObject* object = PyFrame_GetCode(raw);
    Code& code = code_of(object);
    Py_DECREF(object);
    const int instruction = PyFrame_GetLasti(raw);
    const bool decides = code.owner == Owner::cell || (code.owner == Owner::user && lines().cells.empty());
    if (decides || (code.owner == Owner::user && in_file == 0)) {
      const std::uint32_t location = location_in(object, code, instruction);
      if (decides && innermost) place = {object, instruction, location};
      if (decides) return location;
      in_file = location;
    }
    innermost = false;
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  return in_file;
}

std::uint32_t capture_line() {
  if (!PyGILState_Check()) return 0;  // a thread of C++
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  if (!frame) return 0;
  PyCodeObject* code = PyFrame_GetCode(frame);
  const int instruction = PyFrame_GetLasti(frame);
  Py_DECREF(code);  // the frame holds it
  const std::size_t address = reinterpret_cast<std::size_t>(code) >> 5;
  set_last_place(address << 20 ^ static_cast<std::uint64_t>(instruction));
  Place& place = lines().places[(address * 31 + static_cast<std::size_t>(instruction)) %
                                std::tuple_size_v<decltype(Lines::places)>];
  if (place.code == code && place.instruction == instruction) {
    const std::uint32_t location = place.location;
    Py_DECREF(frame);
    return location;
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
  set_capture_location(&capture_line);
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
  set_capture_location(nullptr);
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
