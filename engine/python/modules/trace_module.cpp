#include "engine/python/modules/trace_module.h"

#include <pybind11/stl.h>

#include <tuple>
#include <vector>

#include "engine/python/source_lines.h"
#include "engine/record/trace_file/save.h"

namespace tapedeck::python {
namespace {

using CellText = std::tuple<std::string, std::string>;

/// Ctrl-C ends it at the next part that is written.
py::dict save_trace_of(Recorder& recorder, const protocol::SaveTrace& request) {
  CancelFlag cancel{false};
  bool signalled = false;
  protocol::TraceSaved saved;
  std::string problem;
  {
    const py::gil_scoped_release unlocked;
    try {
      saved = trace_file::save(recorder, request, &cancel, [&](std::uint64_t, std::uint64_t) {
        const py::gil_scoped_acquire locked;
        signalled = signalled || PyErr_CheckSignals() != 0;
        if (signalled) cancel = true;
      });
    } catch (const trace_file::TraceFileError& error) {
      problem = error.what();
    } catch (const Cancelled&) {
    }
  }
  if (signalled) throw py::error_already_set();
  if (!problem.empty()) {
    PyErr_SetString(PyExc_OSError, problem.c_str());
    throw py::error_already_set();
  }
  py::dict result;
  result["path"] = saved.path;
  result["bytes"] = saved.bytes;
  result["records"] = saved.first && saved.last ? *saved.last - *saved.first + 1 : 0;
  result["values"] = saved.values;
  return result;
}

}  // namespace

void bind_trace(py::module_& debug, Recorder& (*recorder)()) {
  debug.def(
      "save_trace",
      [recorder](const std::string& path, const std::string& title, const std::string& notebook,
                 const std::vector<CellText>& cells) {
        protocol::SaveTrace request;
        request.path = path;
        request.title = title;
        request.notebook = protocol::if_there(notebook);
        for (const auto& [cell, text] : cells) request.sources.push_back({cell, "", text});
        return save_trace_of(recorder(), request);
      },
      py::arg("path"), py::arg("title") = "", py::arg("notebook") = "",
      py::arg("cells") = std::vector<CellText>(),
      "Writes the records so far, and the values that are held, to a trace file, while other threads go on. "
      "`title`: the program or notebook; `notebook`: its JSON text; `cells`: pairs of a cell's id and text. "
      "Returns path, bytes, records and values as a dict. OSError where it cannot be written: an older file "
      "of that path stays as it was.");
  debug.def(
      "check_trace_place",
      [](const std::string& path) {
        try {
          trace_file::check_place(path);
        } catch (const trace_file::TraceFileError& error) {
          PyErr_SetString(PyExc_OSError, error.what());
          throw py::error_already_set();
        }
      },
      py::arg("path"),
      "OSError where save_trace() would not write to that path: a folder, a file that is no trace.");
  debug.def("cell_of", &cell_of, py::arg("filename"),
            "Id of the notebook cell that was compiled under that name; empty: none.");
}

}  // namespace tapedeck::python
