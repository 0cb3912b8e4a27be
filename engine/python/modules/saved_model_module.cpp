#include "engine/python/modules/saved_model_module.h"

#include <pybind11/stl.h>

#include "engine/python/errors.h"
#include "engine/python/modules/graph_function.h"
#include "engine/python/modules/graph_module.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/saved_model/model.h"

namespace tapedeck::python {
namespace {

using SignatureParts = std::tuple<std::size_t, std::vector<std::string>, std::vector<std::string>>;

void write_saved_model(const std::string& folder, const py::sequence& variables, const py::sequence& graphs,
                       const std::map<std::string, SignatureParts>& signatures, const std::string& objects) {
  saved_model::Model model;
  for (const py::handle variable : variables) model.variables.push_back(variable_of(variable.ptr()));
  for (const py::handle function : graphs) model.graphs.push_back(py::cast<GraphFunction&>(function).traced);
  for (const auto& [name, parts] : signatures)
    model.signatures[name] = {std::get<0>(parts), std::get<1>(parts), std::get<2>(parts)};
  model.objects = objects;
  saved_model::write_model(folder, model);
}

py::tuple read_saved_model(const std::string& folder) {
  saved_model::Model model = saved_model::read_model(folder);
  py::list variables, graphs;
  for (const Variable& variable : model.variables) variables.append(checked(wrap(variable)));
  for (graph::Graph& graph : model.graphs) graphs.append(function_of(std::move(graph)));
  py::dict signatures;
  for (const auto& [name, signature] : model.signatures)
    signatures[py::str(name)] = py::make_tuple(signature.graph, signature.inputs, signature.outputs);
  return py::make_tuple(variables, graphs, signatures, model.objects);
}

}  // namespace

void bind_saved_model(py::module_& module) {
  module.def("write_saved_model", &write_saved_model, py::arg("folder"), py::arg("variables"),
             py::arg("graphs"), py::arg("signatures"), py::arg("objects"),
             "Writes a saved model: graphs are GraphFunctions; signatures {name: (graph's number, names of "
             "inputs, names of outputs)}; objects is JSON.");
  module.def("read_saved_model", &read_saved_model, py::arg("folder"),
             "(variables, GraphFunctions, signatures, objects) of a saved model, as write_saved_model takes "
             "them.");
}

}  // namespace tapedeck::python
