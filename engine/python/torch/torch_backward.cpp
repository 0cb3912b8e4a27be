#include "engine/python/torch/torch_backward.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "engine/ops/core/observer.h"
#include "engine/protocol/foreign_tapes.h"
#include "engine/python/errors.h"
#include "engine/python/source_lines.h"
#include "engine/python/torch/torch_graph.h"
#include "engine/python/torch/torch_tensors.h"
#include "engine/python/torch/torch_variables.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/values/missing_values.h"

namespace tapedeck::python::torch {
namespace {

/// What is open on this thread.
struct Open {
  std::uint64_t record = 0;
  Observer* observer = nullptr;
  std::shared_ptr<const Forward> forward;  ///< of a node that runs
  std::vector<int> places;                 ///< of its edges (see places_of_edges())
  std::shared_ptr<const Forward> made;     ///< of a Function's forward()
  PyFrameObject* frame = nullptr;          ///< of a playback: what waits for it; only compared
  bool own = false;                        ///< backward() of a Function of the program
  bool keeps_graph = false;                ///< of a playback
  /// Of a playback: what it is asked for, which lives until it ends; nullptr for what has no id.
  std::vector<PyObject*> sources = {};
  std::unordered_map<PyObject*, Tensor> arrived = {};  ///< gradients that came to leaves, by the leaf
};

/// Guarded by Python's lock.
struct Graph {
  std::uint64_t tape = protocol::first_foreign_tape;
};

Graph& graph() {
  static auto* one = new Graph;
  return *one;
}

thread_local std::vector<Open> open;

/// The engine's tensors of a tuple's; undefined ones for None.
Tensors tensors_in(const py::handle tuple) {
  const WithoutFunctions no_functions;
  Tensors tensors;
  for (const py::handle item : py::reinterpret_borrow<py::object>(tuple)) {
    std::string problem;
    tensors.push_back(is_tensor(*library(), item.ptr()) ? tensor_of(item.ptr(), &problem) : Tensor());
    if (!problem.empty()) note_missing_value(tensors.back().id(), problem);
  }
  return tensors;
}

Open& push(Observer& observer, const Event& event) {
  Open added;
  added.record = observer.begin(event);
  added.observer = &observer;
  return open.emplace_back(std::move(added));
}

/// Ends what is open above `depth`.
void end_above(std::size_t depth, const char* error) {
  while (open.size() > depth) {
    const Open last = open.back();
    open.pop_back();
    last.observer->end(last.record, {}, error);
  }
}

/// Returns how many were open before it; -1 where nothing records.
std::int64_t begin_backward(const py::tuple& outputs, const py::tuple& sources, bool keeps_graph) {
  Observer* observer = current_observer();
  if (!observer) return -1;
  const Tensors targets = tensors_in(outputs);
  std::vector<std::uint64_t> ids;
  const Tensors values = tensors_in(sources);
  std::vector<PyObject*> objects;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const WithoutFunctions no_functions;
    PyObject* object = PyTuple_GET_ITEM(sources.ptr(), static_cast<Py_ssize_t>(i));
    objects.push_back(values[i] ? object : nullptr);
    if (values[i]) ids.push_back(variable_value(object, values[i]).id());
  }
  Event event;
  event.kind = EventKind::playback;
  event.name = "gradient";
  event.inputs = targets;
  event.tape = graph().tape;
  event.sources = ids;
  const auto depth = static_cast<std::int64_t>(open.size());
  if (!keeps_graph) observer->tape_used_up(event.tape);
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  Py_XDECREF(frame);  // it waits for the end of the playback
  Open& playback = push(*observer, event);
  playback.frame = frame;
  playback.keeps_graph = keeps_graph;
  playback.sources = std::move(objects);
  return depth;
}

/// One for each source that has an id. backward() returns none: what arrived at the leaves is its result.
Tensors results_of(const Open& playback, const Tensors& returned) {
  Tensors results;
  for (std::size_t i = 0; i < playback.sources.size(); ++i) {
    if (!playback.sources[i]) continue;
    const auto arrived = playback.arrived.find(playback.sources[i]);
    results.push_back(i < returned.size()                 ? returned[i]
                      : arrived != playback.arrived.end() ? arrived->second
                                                          : Tensor());
  }
  return results;
}

void end_backward(std::int64_t depth, const py::tuple& gradients, const std::string& error,
                  bool keeps_graph) {
  if (depth < 0 || static_cast<std::size_t>(depth) >= open.size()) return;
  end_above(static_cast<std::size_t>(depth) + 1,
            error.empty() ? "the backward pass ended without it" : error.c_str());
  const Open playback = std::move(open.back());
  open.pop_back();
  const Tensors results = error.empty() ? results_of(playback, tensors_in(gradients)) : Tensors();
  playback.observer->end(playback.record, results, error.empty() ? nullptr : error.c_str());
  if (!keeps_graph && open.empty()) ++graph().tape;
}

/// A node that no op has as its VJP: a write into a view.
const OpDef* own_row(const std::string& name) {
  return foreign_op("autograd::" + name + "(Tensor[] inputs) -> Tensor[]").row;
}

/// Whether the innermost backward pass keeps what its nodes saved.
bool graph_is_kept() {
  for (auto one = open.rbegin(); one != open.rend(); ++one)
    if (one->frame) return one->keeps_graph;
  return false;
}

/// What a node saved, as attributes of its VJP (see foreign_saved.h). Nodes of many steps save the same.
const Attributes& saved_attributes(const std::string& saved, bool kept) {
  constexpr std::size_t most_known = 1 << 14;
  static auto* known = new std::unordered_map<std::string, Attributes>[2];  // guarded by Python's lock
  auto& of_kind = known[kept ? 1 : 0];
  if (of_kind.size() >= most_known) of_kind.clear();
  const auto [found, is_new] = of_kind.try_emplace(saved);
  if (is_new) found->second = Attributes{saved, kept};
  return found->second;
}

/// Before a node runs that `made` is the record of. `places`: of its edges (see places_of_edges()). `name`:
/// of what it is instead of the op's VJP, or "". `code`: backward() of a Function of the program, with the
/// offset of an instruction on the line to show; or None. `saved`: lines of saved.py.
bool begin_node(const py::object& made, const py::tuple& cotangents, std::vector<int> places,
                const std::string& saved, const std::string& name, const py::object& code, int instruction) {
  Observer* observer = current_observer();
  std::shared_ptr<const Forward> forward = observer && !open.empty() ? forward_in(made) : nullptr;
  if (!forward) return false;
  const Tensors given = tensors_in(cotangents);
  const auto asked = std::make_unique<bool[]>(forward->inputs);
  std::fill_n(asked.get(), forward->inputs, false);
  for (const int place : places)
    if (place >= 0) asked[static_cast<std::size_t>(place)] = true;
  Event event;
  event.kind = EventKind::vjp;
  event.custom_gradient = forward->op == nullptr;
  event.op = event.custom_gradient || name.empty() ? forward->op : own_row(name);
  const std::string full_name = "autograd." + name;
  event.name = event.op ? std::string_view(event.op->name) : full_name;
  event.inputs = given;
  event.forward_record = forward->record;
  event.tape = graph().tape;
  event.wanted = {asked.get(), forward->inputs};
  const Attributes kept = saved.empty() ? Attributes() : saved_attributes(saved, graph_is_kept());
  event.attributes = &kept;
  const bool has_line = PyCode_Check(code.ptr()) && is_users(reinterpret_cast<PyCodeObject*>(code.ptr()));
  const LocationScope at_place(
      has_line ? line_in_code(reinterpret_cast<PyCodeObject*>(code.ptr()), instruction) : forward->site);
  Open& node = push(*observer, event);
  node.forward = std::move(forward);
  node.places = std::move(places);
  node.own = event.custom_gradient;
  return true;
}

void end_node(const py::tuple& gradients) {
  if (open.empty() || !open.back().forward) return;
  const Open vjp = open.back();
  open.pop_back();
  const Tensors found = tensors_in(gradients);
  Tensors results;
  for (std::uint32_t i = 0; i < vjp.forward->inputs; ++i) results.push_back(Tensor());
  for (std::size_t i = 0; i < found.size() && i < vjp.places.size(); ++i)
    if (vjp.places[i] >= 0) results[static_cast<std::size_t>(vjp.places[i])] = found[i];
  vjp.observer->end(vjp.record, results, nullptr);
}

/// PyTorch has no op of that name.
const Row& arrival_row() {
  static const Row* const row = [] {
    auto* made = new Row;
    made->op = &foreign_op("autograd::AccumulateGrad(Tensor variable, Tensor gradient) -> ()");
    return made;
  }();
  return *row;
}

/// A step that changed nothing is a record of its own, with the optimiser's parameters, so that it is there
/// to be seen.
void step_without_gradients(const py::list& parameters) {
  static const Row* const row = [] {
    auto* made = new Row;
    made->op = &foreign_op("optim::step_without_gradients(Tensor[] parameters) -> ()");
    return made;
  }();
  Observer* observer = current_observer();
  if (!observer) return;
  const Call call = [&] {
    const WithoutFunctions no_functions;
    return read_call(*row, py::make_tuple(parameters).ptr(), nullptr);
  }();
  Event event;
  event.op = row->op->row;
  event.name = event.op->name;
  event.inputs = call.inputs;
  event.attributes = &call.attributes;
  observer->end(observer->begin(event), {}, nullptr);
}

void note_arrival(PyObject* variable, const Tensor& gradient) {
  for (auto one = open.rbegin(); one != open.rend(); ++one)
    if (one->frame) {
      one->arrived.insert_or_assign(variable, gradient);
      return;
    }
}

/// Before AccumulateGrad runs, the end of a path: it adds to `variable.grad` or becomes it. No forward op has
/// it as its VJP: it is a record by itself, with the variable as it is and what comes to its `grad`.
void arrive(const py::object& variable, const py::tuple& gradients) {
  Observer* observer = current_observer();
  if (!observer || open.empty() || gradients.size() != 1 || gradients[0].is_none()) return;
  const Call call = [&] {
    const WithoutFunctions no_functions;
    return read_call(arrival_row(), py::make_tuple(variable, gradients[0]).ptr(), nullptr);
  }();
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (!call.problems[i].empty()) note_missing_value(call.inputs[i].id(), call.problems[i]);
  Event event;
  event.op = arrival_row().op->row;
  event.name = event.op->name;
  event.inputs = call.inputs;
  event.attributes = &call.attributes;
  event.custom_gradient = is_in_hook();
  const std::uint64_t record = observer->begin(event);
  note_arrival(variable.ptr(), call.inputs[1]);
  observer->end(record, {}, nullptr);
}

/// forward() of a Function of the program begins: its ops come inside. Returns what end_function() takes; -1
/// where nothing records.
std::int64_t begin_function(const std::string& name, const py::tuple& inputs, bool taped) {
  Observer* observer = current_observer();
  if (!observer) return -1;
  Tensors given = tensors_in(inputs);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const WithoutFunctions no_functions;
    PyObject* input = PyTuple_GET_ITEM(inputs.ptr(), static_cast<Py_ssize_t>(i));
    const py::object wanted = given[i] ? library()->requires_grad(input) : py::object();
    if (!wanted) PyErr_Clear();
    if (wanted && wanted.ptr() == Py_True) given[i] = variable_value(input, given[i]);
  }
  const std::string full_name = "autograd." + name;
  Forward forward{0, nullptr, capture_call_site(), static_cast<std::uint32_t>(given.size()), {}, false};
  static const Attributes none;
  Event event;
  event.kind = EventKind::custom;
  event.name = full_name;
  event.inputs = given;
  event.attributes = &none;
  if (taped) event.tape = graph_tape();
  const auto depth = static_cast<std::int64_t>(open.size());
  Open& function = push(*observer, event);
  forward.record = function.record;
  function.made = std::make_shared<const Forward>(std::move(forward));
  return depth;
}

/// Returns what its node is to have (FORWARD), or None.
py::object end_function(std::int64_t depth, const py::tuple& results, const std::string& error) {
  if (depth < 0 || static_cast<std::size_t>(depth) >= open.size()) return py::none();
  end_above(static_cast<std::size_t>(depth) + 1,
            error.empty() ? "forward() ended without it" : error.c_str());
  const Open function = open.back();
  open.pop_back();
  const Tensors made = error.empty() ? tensors_in(results) : Tensors();
  function.observer->end(function.record, made, error.empty() ? nullptr : error.c_str());
  return forward_object(function.made);
}

}  // namespace

std::uint64_t graph_tape() {
  return graph().tape;
}

bool is_in_hook() {
  if (open.empty() || open.back().own) return false;
  for (std::size_t i = open.size(); i-- > 0;)
    if (open[i].frame) return users_code_runs_in(open[i].frame);
  return false;
}

bool is_in_playback() {
  return !open.empty();
}

void bind_backward(py::module_& torch) {
  torch.def("begin_backward", &begin_backward, py::arg("outputs"), py::arg("sources"), py::arg("keeps_graph"),
            "A backward pass begins on this thread; returns what end_backward() takes.");
  torch.def("end_backward", &end_backward, py::arg("depth"), py::arg("gradients"), py::arg("error"),
            py::arg("keeps_graph"), "It ended; error: the exception's text, or \"\".");
  torch.def(
      "begin_node", &begin_node, py::arg("made"), py::arg("cotangents"), py::arg("places"), py::arg("saved"),
      py::arg("name") = "", py::arg("code") = py::none(), py::arg("instruction") = 0,
      "A node is about to run; made: its FORWARD. False: it gets no record, and end_node() is not due.");
  torch.def("end_node", &end_node, py::arg("gradients"), "The node that began last has run.");
  torch.def("arrive", &arrive, py::arg("variable"), py::arg("gradients"),
            "The gradient is about to come to the variable's `grad`.");
  torch.def("step_without_gradients", &step_without_gradients, py::arg("parameters"),
            "An optimiser's step ran no op: none of its parameters had a gradient.");
  torch.def("begin_function", &begin_function, py::arg("name"), py::arg("inputs"), py::arg("taped"),
            "forward() of a Function of the program begins; returns what end_function() takes.");
  torch.def("end_function", &end_function, py::arg("depth"), py::arg("results"), py::arg("error"),
            "It ended; error: the exception's text, or \"\". Returns what its node is to have as FORWARD.");
}

}  // namespace tapedeck::python::torch
