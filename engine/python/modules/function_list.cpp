#include "engine/python/modules/function_list.h"

#include <pybind11/stl.h>

#include "engine/graph/functions.h"
#include "engine/python/source_lines.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::python {
namespace {

using graph::FunctionEntry;

/// (cause, argument, sentence)
using Reasons = std::vector<std::tuple<std::string, std::string, std::string>>;

protocol::TraceCause cause_named(const std::string& name) {
  const auto known = protocol::names(protocol::TraceCause{});
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i] == name) return static_cast<protocol::TraceCause>(i);
  throw py::value_error("TracedFunction.add: there is no cause '" + name + "'");
}

void add_trace(FunctionEntry& entry, const std::shared_ptr<graph::TracedGraph>& trace,
               const std::string& signature, const Reasons& reasons, std::uint64_t after) {
  graph::TraceNote note{signature, {}, after, location_in_program()};
  for (const auto& [cause, argument, text] : reasons)
    note.reasons.push_back({cause_named(cause), argument, text});
  entry.add(trace, std::move(note));
}

/// Where the code of a function begins.
std::uint32_t first_line_of(const std::string& filename, std::uint32_t line) {
  SourceLocation place{cell_of(filename), {}, line};
  if (place.cell.empty()) place.file = filename;
  return intern_location(place);
}

}  // namespace

void bind_function_list(py::module_& debug, Recorder* (*recorder)()) {
  py::class_<FunctionEntry, std::shared_ptr<FunctionEntry>>(
      debug, "TracedFunction",
      "TracedFunction(name, filename, line, code_lines=())\n"
      "A function of the user's, for views: they list it while it is alive. code_lines: those that have "
      "code, "
      "sorted.")
      .def(py::init([](const std::string& name, const std::string& filename, std::uint32_t line,
                       std::vector<std::uint32_t> code_lines) {
             return graph::new_function_entry(name, first_line_of(filename, line), std::move(code_lines));
           }),
           py::arg("name"), py::arg("filename"), py::arg("line"),
           py::arg("code_lines") = std::vector<std::uint32_t>())
      .def(
          "add",
          [recorder](FunctionEntry& entry, const std::shared_ptr<graph::TracedGraph>& trace,
                     const std::string& signature, const Reasons& reasons) {
            const Recorder* here = recorder();
            add_trace(entry, trace, signature, reasons, here ? here->trace().newest() : 0);
          },
          py::arg("trace"), py::arg("signature"), py::arg("reasons"),
          "A trace that was just made, and why: (cause, argument, sentence) of each difference.");
}

}  // namespace tapedeck::python
