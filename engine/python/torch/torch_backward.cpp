#include "engine/python/torch/torch_backward.h"

#include <atomic>
#include <memory>
#include <optional>
#include <unordered_map>

#include "engine/ops/core/observer.h"
#include "engine/protocol/foreign_tapes.h"
#include "engine/python/errors.h"
#include "engine/python/source_lines.h"
#include "engine/python/torch/torch_tensors.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/values/missing_values.h"

namespace tapedeck::python::torch {
namespace {

constexpr std::size_t most_forwards = 1 << 20;

/// The op that made a node.
struct Forward {
  std::uint64_t record = 0;
  const OpDef* op = nullptr;
  std::uint32_t location = 0;
  std::uint32_t inputs = 0;
  SmallVector<std::uint8_t, 6> floating;  ///< places of inputs that may have a gradient
};

/// What is open on this thread.
struct Open {
  std::uint64_t record = 0;
  Observer* observer = nullptr;
  std::optional<Forward> forward;  ///< of a node
};

/// Guarded by Python's lock.
struct Graph {
  std::uint64_t tape = protocol::first_foreign_tape;
  std::unordered_map<std::uint64_t, Forward> forwards;  ///< by key_of()
  std::uint64_t threads = 0;
};

Graph& graph() {
  static auto* one = new Graph;
  return *one;
}

thread_local std::vector<Open> open;

/// Numbers of nodes are a thread's own.
std::uint64_t key_of(std::uint64_t thread, std::int64_t node) {
  return thread << 48 | static_cast<std::uint64_t>(node);
}

std::uint64_t this_thread() {
  thread_local const std::uint64_t number = graph().threads++;
  return number;
}

std::int64_t newest_node() {
  const Library& torch = *library();
  if (!torch.sequence_number) return -1;
  const auto next = py::reinterpret_steal<py::object>(PyObject_CallNoArgs(torch.sequence_number));
  const std::int64_t number = next ? PyLong_AsLongLong(next.ptr()) : 0;
  if (PyErr_Occurred()) PyErr_Clear();
  return number - 1;
}

/// The engine's tensors of a tuple's; undefined ones for None.
Tensors tensors_in(const py::handle tuple) {
  Tensors tensors;
  for (const py::handle item : py::reinterpret_borrow<py::object>(tuple)) {
    std::string problem;
    tensors.push_back(is_tensor(*library(), item.ptr()) ? tensor_of(item.ptr(), &problem) : Tensor());
    if (!problem.empty()) note_missing_value(tensors.back().id(), problem);
  }
  return tensors;
}

void push(Observer& observer, const Event& event, const Forward* forward) {
  open.push_back({observer.begin(event), &observer, forward ? std::optional(*forward) : std::nullopt});
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
  for (const Tensor& source : tensors_in(sources))
    if (source) ids.push_back(source.id());
  Event event;
  event.kind = EventKind::playback;
  event.name = "gradient";
  event.inputs = targets;
  event.tape = graph().tape;
  event.sources = ids;
  const auto depth = static_cast<std::int64_t>(open.size());
  if (!keeps_graph) observer->tape_used_up(event.tape);
  push(*observer, event, nullptr);
  return depth;
}

void end_backward(std::int64_t depth, const py::tuple& gradients, const std::string& error,
                  bool keeps_graph) {
  if (depth < 0 || static_cast<std::size_t>(depth) >= open.size()) return;
  end_above(static_cast<std::size_t>(depth) + 1,
            error.empty() ? "the backward pass ended without it" : error.c_str());
  const Open playback = open.back();
  open.pop_back();
  const Tensors results = error.empty() ? tensors_in(gradients) : Tensors();
  playback.observer->end(playback.record, results, error.empty() ? nullptr : error.c_str());
  if (!keeps_graph && open.empty()) ++graph().tape;
}

/// The forward op of a node; nullptr where none was recorded.
const Forward* forward_of(std::int64_t node) {
  const Graph& all = graph();
  const std::uint64_t here = this_thread();
  if (const auto found = all.forwards.find(key_of(here, node)); found != all.forwards.end())
    return &found->second;
  for (std::uint64_t thread = 0; thread < all.threads; ++thread)  // a graph that another thread made
    if (const auto found = all.forwards.find(key_of(thread, node)); found != all.forwards.end())
      return &found->second;
  return nullptr;
}

/// The row of a Function of the program: no op of PyTorch's computes its VJP.
const OpDef* own_function(const std::string& name) {
  return foreign_op("autograd::" + name + "(Tensor[] inputs) -> Tensor[]").row;
}

/// Before a node runs. `wanted`: which of its edges lead on. `name`, `code`: of a Function of the program and
/// its backward(), which the VJP is, with the offset of an instruction on the line to show; "" and None for
/// PyTorch's own nodes.
bool begin_node(std::int64_t node, const py::tuple& cotangents, const std::vector<bool>& wanted,
                const std::string& name, const py::object& code, int instruction) {
  Observer* observer = current_observer();
  const Forward* forward = observer && !open.empty() ? forward_of(node) : nullptr;
  if (!forward) return false;
  const Forward copy = *forward;  // the map changes while the thread waits at the gate
  forward = &copy;
  const Tensors given = tensors_in(cotangents);
  const auto asked = std::make_unique<bool[]>(forward->inputs);
  std::fill_n(asked.get(), forward->inputs, false);
  for (std::size_t i = 0; i < wanted.size() && i < forward->floating.size(); ++i)
    asked[forward->floating[i]] = wanted[i];
  Event event;
  event.kind = EventKind::vjp;
  event.op = name.empty() ? forward->op : own_function(name);
  event.name = event.op->name;
  event.inputs = given;
  event.forward_record = forward->record;
  event.tape = graph().tape;
  event.wanted = {asked.get(), forward->inputs};
  const bool has_line = PyCode_Check(code.ptr()) && is_users(reinterpret_cast<PyCodeObject*>(code.ptr()));
  const LocationScope at_place(
      has_line ? location_in_code(reinterpret_cast<PyCodeObject*>(code.ptr()), instruction)
               : forward->location);
  push(*observer, event, forward);
  return true;
}

void end_node(const py::tuple& gradients) {
  if (open.empty() || !open.back().forward) return;
  const Open vjp = open.back();
  open.pop_back();
  const Tensors found = tensors_in(gradients);
  Tensors results;
  for (std::uint32_t i = 0; i < vjp.forward->inputs; ++i) results.push_back(Tensor());
  for (std::size_t i = 0; i < found.size() && i < vjp.forward->floating.size(); ++i)
    results[vjp.forward->floating[i]] = found[i];
  vjp.observer->end(vjp.record, results, nullptr);
}

}  // namespace

std::uint64_t graph_tape() {
  return graph().tape;
}

void note_forward(const Row& row, const Call& call, std::uint64_t record) {
  const std::int64_t node = newest_node();
  if (node < 0) return;
  Graph& all = graph();
  if (all.forwards.size() >= most_forwards) all.forwards.clear();
  const auto [found, is_new] = all.forwards.try_emplace(key_of(this_thread(), node));
  if (!is_new) return;  // an op that makes no node comes after one that did
  Forward& forward = found->second;
  forward = {record, row.op->row, capture_location(), static_cast<std::uint32_t>(call.inputs.size()), {}};
  for (std::size_t i = 0; i < call.inputs.size() && i < UINT8_MAX; ++i)
    if (call.input_objects[i] && (is_floating(call.inputs[i].dtype()) || is_complex(call.inputs[i].dtype())))
      forward.floating.push_back(static_cast<std::uint8_t>(i));
}

void bind_backward(py::module_& torch) {
  torch.def("begin_backward", &begin_backward, py::arg("outputs"), py::arg("sources"), py::arg("keeps_graph"),
            "A backward pass begins on this thread; returns what end_backward() takes.");
  torch.def("end_backward", &end_backward, py::arg("depth"), py::arg("gradients"), py::arg("error"),
            py::arg("keeps_graph"), "It ended; error: the exception's text, or \"\".");
  torch.def("begin_node", &begin_node, py::arg("node"), py::arg("cotangents"), py::arg("wanted"),
            py::arg("name") = "", py::arg("code") = py::none(), py::arg("instruction") = 0,
            "A node, by its number, is about to run. False: it has no record, and end_node() is not due.");
  torch.def("end_node", &end_node, py::arg("gradients"), "The node that began last has run.");
}

}  // namespace tapedeck::python::torch
