#include "engine/graph/program_graph.h"

#include <pybind11/stl.h>

#include <memory>
#include <stack>

#include "engine/python/errors.h"
#include "engine/python/modules/graph_module.h"
#include "engine/python/modules/program_graph.h"
#include "engine/python/source_lines.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/symbolic.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::python {
namespace {

using graph::ProgramGraph;

/// A graph, and how often it is entered: scopes end in the reverse order.
struct ProgramGraphObject {
  ProgramGraph graph;
  std::stack<std::unique_ptr<TracerScope>> entered;

  ProgramGraphObject() { graph.tracer().set_locate(&location_in_program); }
};

/// What Session.run keeps of a part.
struct PartObject {
  py::object function;
  std::vector<std::int32_t> nodes, unfed;
  py::list needed, assigned;
};

Tensor tensor_given(const py::handle object, const char* what) {
  return is_tensor_like(object.ptr()) ? tensor_like(object.ptr()) : required_tensor(object.ptr(), what);
}

py::list variables_of(std::span<const Variable> variables) {
  py::list list;
  for (const Variable& variable : variables) list.append(checked(wrap(variable)));
  return list;
}

PartObject part_of_graph(ProgramGraphObject& object, const py::sequence& feeds, const py::sequence& fetches,
                         const std::vector<std::int32_t>& also) {
  std::vector<std::pair<std::string, Tensor>> fed;
  for (const py::handle feed : feeds) {
    const auto [name, tensor] = py::cast<std::pair<std::string, py::object>>(feed);
    fed.emplace_back(name, tensor_given(tensor, "feed_dict"));
  }
  Tensors fetched;
  for (const py::handle fetch : fetches) fetched.push_back(tensor_given(fetch, "fetches"));
  ProgramGraph::Part part = object.graph.part(fed, fetched, also);
  PartObject made{py::none(), std::move(part.nodes), std::move(part.unfed), variables_of(part.needed),
                  variables_of(part.assigned)};
  if (made.unfed.empty()) made.function = function_of(std::move(part.graph));
  return made;
}

/// (kind, op, name, scope, [(node, result)] of the inputs, how many results, file or cell, line).
py::tuple described(const ProgramGraphObject& object, std::int32_t number) {
  if (number < 0 || number >= object.graph.size())
    fail<InvalidArgumentError>("graph: there is no node ", number, " of ", object.graph.size());
  const graph::Node& node = object.graph.tracer().so_far().nodes[static_cast<std::size_t>(number)];
  py::list inputs;
  for (const graph::Value input : node.inputs) inputs.append(py::make_tuple(input.node, input.result));
  const std::string name = node.host ? node.host->name : node.variable ? node.variable->name() : node.name;
  const SourceLocation place = location_of(node.location);
  return py::make_tuple(kind_text(node.kind), node.op ? py::object(py::str(node.op->name)) : py::none(), name,
                        scope_text(node.scope), inputs,
                        node.kind == graph::NodeKind::constant ? 1 : node.results.size(),
                        place.cell.empty() ? place.file : place.cell, place.line);
}

py::object place_of(const ProgramGraphObject& object, const py::handle tensor) {
  const auto found = object.graph.tracer().find(tensor_given(tensor, "graph: tensor"));
  return found ? py::object(py::make_tuple(found->node, found->result)) : py::none();
}

py::object tensor_at(const ProgramGraphObject& object, std::int32_t node, std::int32_t result) {
  const Tensor tensor = object.graph.tracer().tensor_at({node, result});
  return tensor ? checked(wrap(tensor)) : py::none();
}

py::object placeholder(ProgramGraphObject& object, const std::string& name, const py::object& dtype,
                       const py::object& shape) {
  const auto found = to_dtype(dtype.ptr(), {"placeholder", "dtype"});
  if (!found) fail<TypeMismatchError>("placeholder: dtype is None");
  const auto [sample, unknown] = shape_given(shape.ptr());
  return checked(wrap(object.graph.tracer().parameter(name, {*found, sample, unknown})));
}

}  // namespace

void bind_program_graph(py::module_& module) {
  py::class_<PartObject>(module, "ProgramGraphPart",
                         "What a session runs for some fetches: ProgramGraph.part makes it.")
      .def_readonly("function", &PartObject::function,
                    "A GraphFunction of the feeds; None where some are missing.")
      .def_readonly("nodes", &PartObject::nodes, "Numbers of its nodes.")
      .def_readonly("unfed", &PartObject::unfed,
                    "Numbers of placeholders that it needs and that are not fed.")
      .def_readonly("needed", &PartObject::needed, "Variables that it reads before it assigns to them.")
      .def_readonly("assigned", &PartObject::assigned, "Variables that it may assign to.");
  py::class_<ProgramGraphObject>(
      module, "ProgramGraph",
      "The graph that a program of TensorFlow 1 builds. While it is entered, ops of this "
      "thread become its nodes.")
      .def(py::init<>())
      .def("enter",
           [](ProgramGraphObject& object) {
             object.entered.push(std::make_unique<TracerScope>(&object.graph.tracer()));
           })
      .def("leave",
           [](ProgramGraphObject& object) {
             if (!object.entered.empty()) object.entered.pop();
           })
      .def_property_readonly("size", [](const ProgramGraphObject& object) { return object.graph.size(); })
      .def_property_readonly(
          "number", [](const ProgramGraphObject& object) { return object.graph.tracer().number(); },
          "What trace_number() tells while it is entered.")
      .def("placeholder", &placeholder, py::arg("name"), py::arg("dtype"), py::arg("shape"))
      .def("described", &described, py::arg("node"),
           "(kind, op, name, scope, [(node, result)] of its inputs, count of results, file, line).")
      .def("place", &place_of, py::arg("tensor"), "(node, result), or None for a tensor that is not in it.")
      .def("tensor", &tensor_at, py::arg("node"), py::arg("result"), "The node's result, or None.")
      .def(
          "depend",
          [](ProgramGraphObject& object, std::int32_t first, std::int32_t last,
             const std::vector<std::int32_t>& before) { object.graph.depend(first, last, before); },
          py::arg("first"), py::arg("last"), py::arg("before"), "Nodes first … last - 1 run behind these.")
      .def(
          "effects",
          [](const ProgramGraphObject& object, std::int32_t first, std::int32_t last) {
            return object.graph.effects(first, last);
          },
          py::arg("first"), py::arg("last"), "Those of the nodes that assign, print or call Python.")
      .def("part", &part_of_graph, py::arg("feeds"), py::arg("fetches"), py::arg("also"),
           "What gives the fetches and runs the nodes `also`; feeds: (name, tensor).");
  module.def("is_in_program_graph", &is_in_program_graph,
             "Whether ops of this thread become part of the graph of a program of TensorFlow 1.");
}

}  // namespace tapedeck::python
