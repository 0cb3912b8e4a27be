#include "engine/python/modules/graph_module.h"

#include <pybind11/stl.h>

#include <set>

#include "engine/graph/calls.h"
#include "engine/graph/control.h"
#include "engine/graph/eager.h"
#include "engine/graph/functions.h"
#include "engine/graph/passes/fusion.h"
#include "engine/graph/passes/passes.h"
#include "engine/graph/repeat.h"
#include "engine/graph/run.h"
#include "engine/python/errors.h"
#include "engine/python/modules/graph_arrays.h"
#include "engine/python/modules/graph_calls.h"
#include "engine/python/modules/graph_function.h"
#include "engine/python/modules/host_function.h"
#include "engine/python/modules/program_graph.h"
#include "engine/python/modules/tape_object.h"
#include "engine/python/modules/traced_names.h"
#include "engine/python/op_function.h"
#include "engine/python/source_lines.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/symbolic.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::python {
namespace {

using graph::Executable;
using graph::Graph;
using graph::NodeKind;
using graph::Value;

/// A Python exception is set while it travels through the engine.
template <class Function>
auto through_graph(Function&& function) {
  try {
    return function();
  } catch (py::error_already_set& error) {
    error.restore();
    throw ForeignException{};
  }
}

Tensors tensors_of(const py::handle objects, const char* what) {
  Tensors tensors;
  for (const py::handle object : py::reinterpret_borrow<py::object>(objects))
    tensors.push_back(is_tensor_like(object.ptr()) ? tensor_like(object.ptr())
                                                   : required_tensor(object.ptr(), what));
  return tensors;
}

graph::ValueSpec spec_given(const std::string& name, const py::object& dtype, const py::object& shape) {
  const auto found = to_dtype(dtype.ptr(), {"trace_graph", "dtype"});
  if (!found) fail<TypeMismatchError>("trace_graph: ", name, " has no dtype");
  const auto [sample, unknown] = shape_given(shape.ptr());
  return {*found, sample, unknown};
}

/// A Python function of tensors, as the engine calls it.
graph::Step step_of(const py::object& function, const char* what) {
  return [&function, what](std::span<const Tensor> arguments) {
    return through_graph([&] {
      const py::object result = checked(PyObject_CallOneArg(function.ptr(), list_of(arguments).ptr()));
      return tensors_of(result, what);
    });
  };
}

py::object trace_function(const std::string& name, const py::sequence& parameters, const py::object& function,
                          const py::sequence& first_values) {
  graph::GraphTracer tracer(name, dynamic_cast<graph::GraphTracer*>(current_tracer()));
  tracer.set_locate(&location_in_program);
  Tensors arguments;
  for (const py::handle parameter : parameters) {
    const auto [text, dtype, shape] = py::cast<std::tuple<std::string, py::object, py::object>>(parameter);
    arguments.push_back(tracer.parameter(text, spec_given(text, dtype, shape)));
  }
  for (std::size_t i = 0; i < first_values.size(); ++i)
    if (const py::object value = first_values[i]; is_tensor_like(value.ptr()))
      if (const Tensor& tensor = tensor_like(value.ptr()); !tensor.is_symbolic())
        tracer.set_first_value(arguments.at(i), tensor);
  Tensors results;
  {
    const graph::TracedPartScope itself(nullptr);
    const TracedFramesScope frames;
    const StopRecording stopped;  // tapes that are active now see the calls of the function, not its trace
    const TracerScope scope(&tracer);
    results = step_of(function, "a result")(arguments);
  }
  Graph made = tracer.finish(results);
  py::list functions;
  own_host_functions(made, functions);
  py::object object = py::cast(std::make_unique<GraphFunction>(std::move(made)));
  object.attr("host_functions") = functions;
  return object;
}

/// The program's other threads run meanwhile, where that takes long enough to be worth it; host calls take
/// the lock. Observers and tracers ask Python where the program is.
Tensors run_unlocked(const Executable& executable, std::span<const Tensor> arguments) {
  constexpr double least_seconds = 2e-5;
  std::optional<HostUnlock> unlocked;
  if (executable.seconds() >= least_seconds && graph::is_unattended()) unlocked.emplace();
  return executable.call(arguments);
}

py::list call_graph(const GraphFunction& function, const py::sequence& arguments,
                    const py::object& captured) {
  Tensors given = tensors_of(arguments, "an argument");
  const Graph& graph = function.executable.graph();
  Tensors outer(graph.captured.begin(), graph.captured.end());
  if (!captured.is_none()) outer = tensors_of(captured, "a captured tensor");
  given.insert(given.end(), outer.begin(), outer.end());
  (is_tracing() ? function.trace->inlined : function.trace->calls).fetch_add(1, std::memory_order_relaxed);
  return list_of(run_unlocked(function.here(), given));
}

// ---- a graph as Python's data

py::tuple spec_object(const graph::ValueSpec& spec) {
  return py::make_tuple(checked(dtype_object(spec.dtype)),
                        checked(open_shape_object(spec.shape, spec.unknown)));
}

py::list specs_list(const Graph& graph, std::size_t first, std::size_t count) {
  py::list list;
  for (std::size_t i = first; i < first + count; ++i)
    list.append(spec_object(graph.value_spec({static_cast<std::int32_t>(i), 0})));
  return list;
}

py::object nodes_of(const Graph& graph);

/// A number that each run reads from an input is a text: "[%2, 1]".
py::object attribute_of(const Graph& graph, const graph::Node& node, std::size_t attribute) {
  if (!graph::is_late(node, attribute)) return attribute_object(node.attributes[attribute]);
  return py::str(graph::attribute_text(graph, node, attribute,
                                       [](Value value) { return "%" + std::to_string(value.node); }));
}

py::dict node_object(const Graph& graph, const graph::Node& node) {
  py::dict entry;
  entry["kind"] = kind_text(node.kind);
  entry["op"] = node.op ? py::object(py::str(node.op->name)) : py::none();
  entry["name"] = node.kind == NodeKind::host ? node.host->name
                  : node.variable             ? node.variable->name()
                                              : node.name;
  py::list inputs, results, graphs;
  for (const Value input : node.inputs) inputs.append(py::make_tuple(input.node, input.result));
  for (std::size_t i = 0; i < node.results.size(); ++i)
    results.append(spec_object({node.results[i].dtype, node.results[i].shape,
                                node.unknown.empty() ? UnknownShape{} : node.unknown[i]}));
  for (const auto& inner : node.graphs) graphs.append(nodes_of(*inner));
  py::dict attributes;
  for (std::size_t i = 0; node.op && i < node.attributes.size(); ++i)
    attributes[py::str(node.op->attributes[i].name)] = attribute_of(graph, node, i);
  const SourceLocation place = location_of(node.location);
  entry["inputs"] = inputs;
  entry["attributes"] = attributes;
  entry["results"] = results;
  entry["graphs"] = graphs;
  entry["file"] = place.cell.empty() ? place.file : place.cell;
  entry["line"] = place.line;
  entry["scope"] = scope_text(node.scope);
  return entry;
}

py::object nodes_of(const Graph& graph) {
  py::list list;
  for (const graph::Node& node : graph.nodes) list.append(node_object(graph, node));
  return list;
}

py::list results_of(const Graph& graph) {
  py::list list;
  for (const Value value : graph.results) list.append(spec_object(graph.value_spec(value)));
  return list;
}

py::list changes_of(const GraphFunction& function) {
  constexpr const char* names[] = {"folded", "merged", "removed", "fused"};
  py::list list;
  for (const graph::NamedPassed& pass : function.passes) {
    py::list changes;
    for (const graph::Change& change : pass.passed.changes)
      changes.append(py::make_tuple(names[static_cast<std::size_t>(change.kind)], change.node, change.into));
    list.append(py::make_tuple(pass.name, changes, pass.passed.graph.text()));
  }
  return list;
}

/// Tensors that the function found outside, each once.
void add_captured(const Graph& graph, std::set<std::uint64_t>& seen, std::uint64_t newest, py::list& list) {
  for (const graph::Node& node : graph.nodes) {
    if (node.kind == NodeKind::constant && node.constant.id() <= newest &&
        seen.insert(node.constant.id()).second)
      list.append(checked(wrap(node.constant)));
    for (const auto& inner : node.graphs) add_captured(*inner, seen, newest, list);
  }
}

void add_variables(const Graph& graph, std::set<std::uint64_t>& seen, py::list& list) {
  for (const graph::Node& node : graph.nodes) {
    if (node.variable && seen.insert(node.variable->id()).second) list.append(checked(wrap(*node.variable)));
    for (const auto& inner : node.graphs) add_variables(*inner, seen, list);
  }
}

// ---- control flow

py::list branch_object(const py::object& predicate, const py::object& if_true, const py::object& if_false) {
  const py::list nothing;
  const auto run = [&](const py::object& function) {
    return [&function] {
      return through_graph([&] { return tensors_of(checked(PyObject_CallNoArgs(function.ptr())), "cond"); });
    };
  };
  return list_of(graph::branch(required_tensor(predicate.ptr(), "cond: pred"), run(if_true), run(if_false)));
}

/// `shapes`: for each variable a shape, or None.
py::list loop_object(const py::sequence& variables, const py::object& condition, const py::object& body,
                     const py::sequence& shapes) {
  std::vector<graph::Invariant> invariants;
  for (const py::handle shape : shapes) {
    invariants.emplace_back();
    if (shape.is_none()) continue;
    const auto [sample, unknown] = shape_given(shape.ptr());
    invariants.back() = graph::ValueSpec{DType::float32, sample, unknown};
  }
  const graph::Step holds = step_of(condition, "while_loop: cond");
  const auto condition_of = [&](std::span<const Tensor> values) {
    const Tensors found = holds(values);
    if (found.size() != 1)
      fail<InvalidArgumentError>("while_loop: cond returns ", found.size(), " tensors; needs one");
    return found[0];
  };
  return list_of(graph::loop(tensors_of(variables, "while_loop: loop_vars"), condition_of,
                             step_of(body, "while_loop: body"), invariants));
}

py::list add_host_call(const std::string& name, const py::object& function, const py::sequence& tensors,
                       const py::sequence& results, bool differentiable) {
  std::vector<graph::ValueSpec> specs;
  for (const py::handle result : results) {
    const auto [dtype, shape] = py::cast<std::pair<py::object, py::object>>(result);
    specs.push_back(spec_given(name, dtype, shape));
  }
  return list_of(graph::host_call(host_call_of(name, function, !specs.empty(), differentiable), specs,
                                  tensors_of(tensors, name.c_str())));
}

// ---- what leads from tensors to others

/// What tf.gradients plays a tape over.
struct RepeatObject {
  explicit RepeatObject(graph::Repeat made)
      : executable(std::move(made.graph)),
        arguments(std::move(made.arguments)),
        free_sources(made.free_sources),
        places(std::move(made.places)) {}
  Executable executable;
  Tensors arguments;
  std::size_t free_sources;
  std::vector<std::vector<std::size_t>> places;
};

std::unique_ptr<RepeatObject> repeat_object(const py::sequence& targets, const py::sequence& sources,
                                            const py::sequence& held) {
  std::vector<Tape::Source> of;
  for (const py::handle source : sources) {
    if (is_variable(source.ptr()))
      of.push_back({{}, variable_of(source.ptr())});
    else
      of.push_back({required_tensor(source.ptr(), "gradients: xs"), {}});
  }
  return std::make_unique<RepeatObject>(
      graph::repeat(tensors_of(targets, "gradients: ys"), of, tensors_of(held, "gradients: stop_gradients")));
}

void bind_repeat(py::module_& module) {
  py::class_<RepeatObject>(module, "GraphRepeat",
                           "A part of a function, to be computed once more: graph_repeat makes it.")
      .def_property_readonly("arguments",
                             [](const RepeatObject& repeat) { return list_of(repeat.arguments); })
      .def_readonly("free_sources", &RepeatObject::free_sources,
                    "So many arguments come first that are sources.")
      .def_readonly("places", &RepeatObject::places, "For each source the results that it is.")
      .def("__call__", [](const RepeatObject& repeat, const py::sequence& arguments) {
        return list_of(repeat.executable(tensors_of(arguments, "an argument")));
      });
  module.def("graph_repeat", &repeat_object, py::arg("ys"), py::arg("xs"), py::arg("stop_gradients"),
             "What leads from xs to ys in the function that is being traced, to be called with `arguments` "
             "or others in "
             "their place: the results are ys, then xs.");
}

// ---- what a trace may do

/// While it is entered, ops run although a function is traced.
struct UntracedContext {
  std::optional<TracerScope> scope;
  std::optional<StopRecording> unrecorded;
};

struct CreationContext {
  explicit CreationContext(bool allowed) { rule.allowed = allowed; }
  CreationRule rule;
  CreationRule* before = nullptr;
};

void bind_contexts(py::module_& module) {
  py::class_<UntracedContext>(module, "Untraced",
                              "While it is entered, ops run, though a function is being traced.")
      .def(py::init<>())
      .def("__enter__",
           [](UntracedContext& context) {
             if (!is_tracing()) return;
             context.scope.emplace(nullptr);
             context.unrecorded.emplace();
           })
      .def("__exit__", [](UntracedContext& context, const py::args&) {
        context.unrecorded.reset();
        context.scope.reset();
      });
  py::class_<CreationContext>(module, "VariableCreation",
                              "While it is entered, functions that this thread traces may make variables, or "
                              "may not. made: how many they made.")
      .def(py::init<bool>(), py::arg("allowed"))
      .def_property_readonly("made", [](const CreationContext& context) { return context.rule.made; })
      .def(
          "__enter__",
          [](CreationContext& context) -> CreationContext& {
            context.before = set_creation_rule(&context.rule);
            return context;
          },
          py::return_value_policy::reference)
      .def("__exit__", [](CreationContext& context, const py::args&) { set_creation_rule(context.before); });
}

void bind_graph_function(py::module_& module) {
  py::class_<graph::TracedGraph, std::shared_ptr<graph::TracedGraph>>(
      module, "GraphTrace", "The graph of a function before and after passes.")
      .def_property_readonly(
          "calls", [](const graph::TracedGraph& trace) { return trace.calls.load(); },
          "How many calls ran it.");
  py::class_<GraphFunction>(module, "GraphFunction", py::dynamic_attr(),
                            "A function that was traced: trace_graph makes it.")
      .def("__call__", &call_graph, py::arg("tensors"), py::arg("captured") = py::none(),
           "The results for these tensors, lists both. captured: in place of symbolic_captures. "
           "InvalidArgumentError for other dtypes or shapes.")
      .def_readonly("trace", &GraphFunction::trace, "What debug.TracedFunction takes.")
      .def_property_readonly("text", [](const GraphFunction& f) { return f.executable.graph().text(); })
      .def_property_readonly(
          "traced_text", [](const GraphFunction& f) { return f.traced.text(); },
          "As text, before the passes.")
      .def_property_readonly(
          "nodes", [](const GraphFunction& f) { return nodes_of(f.executable.graph()); },
          "A dict for each node of the graph that runs.")
      .def_property_readonly("traced_nodes", [](const GraphFunction& f) { return nodes_of(f.traced); })
      .def_property_readonly(
          "passes", &changes_of,
          "(name, [(\"folded\", \"merged\", \"removed\" or \"fused\", node, into)], text) of each pass.")
      .def_property_readonly(
          "inputs", [](const GraphFunction& f) { return specs_list(f.traced, 0, f.traced.arguments); })
      .def_property_readonly("outputs", [](const GraphFunction& f) { return results_of(f.traced); })
      .def_property_readonly("captured",
                             [](const GraphFunction& f) {
                               py::list list;
                               std::set<std::uint64_t> seen;
                               add_captured(f.traced, seen, f.traced.watched_up_to, list);
                               return list;
                             })
      .def_property_readonly(
          "symbolic_captures", [](const GraphFunction& f) { return list_of(f.traced.captured); },
          "Tensors of the function around this one.")
      .def_property_readonly("variables", [](const GraphFunction& f) {
        py::list list;
        std::set<std::uint64_t> seen;
        add_variables(f.traced, seen, list);
        return list;
      });
}

}  // namespace

const char* kind_text(NodeKind kind) {
  constexpr const char* names[] = {"parameter", "constant",   "read",      "assign",     "op",
                                   "branch",    "loop",       "unwind",    "absent",     "custom",
                                   "host",      "tape_start", "tape_stop", "tape_watch", "gradient"};
  return names[static_cast<std::size_t>(kind)];
}

py::object function_of(graph::Graph graph) {
  return py::cast(std::make_unique<GraphFunction>(std::move(graph)));
}

void bind_graph(py::module_& module) {
  bind_graph_function(module);
  bind_graph_calls(module);
  bind_graph_arrays(module);
  bind_contexts(module);
  bind_repeat(module);
  bind_program_graph(module);
  module.def(
      "trace_graph", &trace_function, py::arg("name"), py::arg("parameters"), py::arg("function"),
      py::arg("first_values") = py::tuple(),
      "The graph of function(list of tensors), which returns a list of tensors. parameters: (name, dtype, "
      "shape) of each; first_values: tensors, or None, that they are in the call for which it is traced, on "
      "which first values of variables may depend.");
  module.def("graph_branch", &branch_object, py::arg("pred"), py::arg("true_fn"), py::arg("false_fn"));
  module.def("graph_loop", &loop_object, py::arg("variables"), py::arg("cond"), py::arg("body"),
             py::arg("shapes") = py::tuple());
  module.def(
      "graph_host_call", &add_host_call, py::arg("name"), py::arg("function"), py::arg("tensors"),
      py::arg("results") = py::tuple(), py::arg("differentiable") = false,
      "What function(list of tensors) returns when the graph that is being traced runs: a list of tensors "
      "of these (dtype, shape). differentiable: whether tapes see its ops.");
  module.def(
      "carrier_of", [](const py::object& object) { return checked(wrap(carrier_of(object))); },
      py::arg("object"), "An int64 scalar tensor that keeps the object alive.");
  module.def(
      "carried_by",
      [](const py::handle tensor) { return carried_by(required_tensor(tensor.ptr(), "carried_by")); },
      py::arg("tensor"), "The object of a tensor that carrier_of made.");
  module.def(
      "graph_failure",
      [] {
        const SourceLocation place = location_of(graph::take_failed_location());
        return py::make_tuple(place.cell.empty() ? place.file : place.cell, place.line);
      },
      "(file or cell, line) of what made a graph of this thread fail; line 0: it is not known. Asked once.");
  module.def(
      "trace_number",
      [] {
        const auto* tracer = dynamic_cast<graph::GraphTracer*>(current_tracer());
        return tracer ? tracer->number() : std::uint64_t{0};
      },
      "Of the graph, a branch's or a loop's too, that ops of this thread become part of; 0: of none.");
  module.def("check_creation", &check_creation,
             "Counts an object with a state that a function which is being traced makes. ValueError where it "
             "may not.");
  module.def("functions_run_eagerly", &graph::functions_run_eagerly,
             "Whether calls of graph functions run the functions as they are.");
  module.def("set_functions_run_eagerly", &graph::set_functions_run_eagerly, py::arg("on"));
  module.def("least_fused", &graph::least_fused, "Chains of fewer elements run op by op.");
  module.def("set_least_fused", &graph::set_least_fused, py::arg("elements"),
             "Of what is traced from now on. For tests, which want chains of any size.");
  module.def("is_tracing", &is_tracing, "Whether ops of this thread become part of a graph.");
  module.def(
      "is_symbolic",
      [](const py::handle value) { return is_tensor(value.ptr()) && tensor_of(value.ptr()).is_symbolic(); },
      py::arg("value"), "Whether it is a tensor of a graph function that is or was traced.");
  module.def(
      "known_value",
      [](const py::handle value) -> py::object {
        const Tensor& tensor = required_tensor(value.ptr(), "known_value: tensor");
        if (tensor.is_symbolic() && !has_known_value(tensor)) return py::none();
        return checked(wrap(readable(tensor, "known_value")));
      },
      py::arg("tensor"),
      "The tensor, or its value where that follows from shapes and constants alone; None for others.");
}

}  // namespace tapedeck::python
