#include "engine/python/torch/torch_graph.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/python/errors.h"
#include "engine/python/python.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::python::torch {
namespace {

/// Of a thread, where records wait for a backward pass: some 100 MB.
constexpr std::size_t most_waiting = 1 << 20;
constexpr const char* forward_name = "tapedeck.Forward";

using SharedForward = std::shared_ptr<const Forward>;

/// The newest record of a thread that made a node.
struct Newest {
  Forward forward;
  /// `forward` is a clone, and this writes what it copied: PyTorch saves so what an op in place overwrites,
  /// where that op's gradient needs it. Its node is there already when the copy runs.
  std::optional<Forward> writer;
  std::uint64_t cloned = 0;              ///< what the clone copied; 0: it is none, or something came behind
  std::int64_t floor = -1, number = -1;  ///< its node's number is above `floor`, and `number` at most
  SharedForward shared;                  ///< once a node has it
};

/// What waits for a backward pass, of one thread.
struct Waiting {
  std::map<std::int64_t, Newest> records;  ///< by `number`
  std::int64_t forgotten = -1;             ///< nodes up to this number
};

struct ThreadGraph {
  Newest newest;
  std::shared_ptr<Waiting> waiting;
};

thread_local ThreadGraph thread_graph;

/// Guarded by Python's lock. Of all threads, those that have ended too: their graphs may live on.
std::vector<std::shared_ptr<Waiting>>& all_waiting() {
  static auto* all = new std::vector<std::shared_ptr<Waiting>>;
  return *all;
}

bool& nodes_are_reported() {
  static bool reported = false;
  return reported;
}

PyObject* metadata_key() {
  static PyObject* const key = PyUnicode_InternFromString("tapedeck.forward");
  return key;
}

std::int64_t newest_node() {
  const Library& torch = *library();
  if (!torch.sequence_number) return -1;
  const auto next = py::reinterpret_steal<py::object>(PyObject_CallNoArgs(torch.sequence_number));
  const std::int64_t number = next ? PyLong_AsLongLong(next.ptr()) : 0;
  if (PyErr_Occurred()) PyErr_Clear();
  return number - 1;
}

void forget_oldest(Waiting& waiting) {
  const std::size_t kept = most_waiting - most_waiting / 4;
  while (waiting.records.size() > kept) {
    waiting.forgotten = waiting.records.begin()->first;
    waiting.records.erase(waiting.records.begin());
  }
}

void let_wait(const Newest& newest) {
  std::shared_ptr<Waiting>& waiting = thread_graph.waiting;
  if (!waiting) all_waiting().push_back(waiting = std::make_shared<Waiting>());
  if (waiting->records.size() >= most_waiting) forget_oldest(*waiting);
  waiting->records.insert_or_assign(newest.number, newest);
}

py::object object_of(SharedForward forward) {
  PyObject* capsule = PyCapsule_New(new SharedForward(std::move(forward)), forward_name, [](PyObject* self) {
    delete static_cast<SharedForward*>(PyCapsule_GetPointer(self, forward_name));
  });
  return checked(capsule);
}

const SharedForward& shared(Newest& newest) {
  if (!newest.shared) newest.shared = std::make_shared<const Forward>(newest.forward);
  return newest.shared;
}

/// "MulBackward0" of aten.mul_.Tensor, "NllLossBackward0" of aten.nll_loss_forward: letters and digits of the
/// name, and "Backward".
bool is_named_after(std::string_view type, const OpDef& op) {
  std::string_view name = op.name;
  if (const std::size_t dot = name.find('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
  name = name.substr(0, name.find_first_of(".#"));
  constexpr std::string_view forward = "_forward";
  if (name.ends_with(forward)) name.remove_suffix(forward.size());
  std::size_t at = 0;
  for (const char letter : name) {
    if (letter == '_') continue;
    if (at >= type.size() || std::tolower(static_cast<unsigned char>(type[at])) != letter) return false;
    ++at;
  }
  return type.substr(at).starts_with("Backward");
}

/// Where two records may have made the node, its type says which.
void settle(Newest& newest, std::string_view type) {
  if (!newest.writer) return;
  if (!is_named_after(type, *newest.forward.op)) {
    newest.forward = std::move(*newest.writer);
    newest.shared.reset();
  }
  newest.writer.reset();
}

bool is_copy_slices(std::string_view type) {
  return type.ends_with("CopySlices");
}

/// Whether a node that this thread has just made is of its newest record. A write into a view makes a node of
/// its own (CopySlices), after the op has run, around that of the op. Nodes that are made for a view whose
/// base was written to come before the record of the op that reads it, and are none's.
bool is_newest(const Newest& newest, std::int64_t number, std::string_view type) {
  if (newest.forward.record == 0) return false;
  const Forward& forward = newest.writer ? *newest.writer : newest.forward;
  if (is_copy_slices(type)) return forward.writes && number == newest.number + 1;
  return number > newest.floor && number <= newest.number;
}

void note_in(PyObject* node, Newest& newest) {
  const auto metadata = checked(PyObject_GetAttr(node, library()->name_metadata));
  const py::object forward = object_of(shared(newest));
  if (PyDict_SetItem(metadata.ptr(), metadata_key(), forward.ptr()) != 0) throw ForeignException();
}

/// A hook of autograd's: each node that this thread makes.
PyObject* node_made(PyObject*, PyObject* node) {
  Newest& newest = thread_graph.newest;
  if (newest.forward.record == 0) Py_RETURN_NONE;
  const Library& torch = *library();
  const auto number =
      py::reinterpret_steal<py::object>(PyObject_CallMethodNoArgs(node, torch.name_sequence_nr));
  const std::int64_t known = number ? PyLong_AsLongLong(number.ptr()) : -1;
  if (PyErr_Occurred()) PyErr_Clear();  // that of AccumulateGrad is too large
  if (known < 0 || PyType_IsSubtype(Py_TYPE(node), torch.function_node)) Py_RETURN_NONE;
  if (!is_newest(newest, known, Py_TYPE(node)->tp_name)) Py_RETURN_NONE;
  settle(newest, Py_TYPE(node)->tp_name);
  return guarded([&]() -> PyObject* {
    note_in(node, newest);
    Py_RETURN_NONE;
  });
}

PyMethodDef node_made_method = {"node_made", &node_made, METH_O,
                                "Notes which record made a node of autograd's graph."};

Newest* waiting_for(Waiting& waiting, std::int64_t number, std::string_view type) {
  const bool copies = is_copy_slices(type);
  const auto found = waiting.records.lower_bound(copies ? number - 1 : number);
  if (found == waiting.records.end()) return nullptr;
  Newest& newest = found->second;
  if (!is_newest(newest, number, type)) return nullptr;
  const bool named =
      is_named_after(type, *newest.forward.op) || (newest.writer && is_named_after(type, *newest.writer->op));
  return copies || named ? &newest : nullptr;
}

Forward forward_made(const Row& row, const Call& call, std::uint64_t record) {
  return {record,         row.op->row,   capture_call_site(), static_cast<std::uint32_t>(call.inputs.size()),
          call.requiring, row.op->writes};
}

/// An op of lists makes a node for each of its tensors in some releases.
bool makes_one_node(const OpDef& op) {
  return !op.name.starts_with("aten._foreach");
}

/// (what made the node or None, whether that was known once). Numbers are a thread's own: what several
/// threads might have made is not known.
py::tuple forward_of(std::int64_t number, const std::string& type) {
  Newest* only = nullptr;
  Waiting* owner = nullptr;
  bool forgotten = false;
  std::size_t count = 0;
  for (const std::shared_ptr<Waiting>& waiting : all_waiting()) {
    forgotten = forgotten || number <= waiting->forgotten;
    if (Newest* newest = waiting_for(*waiting, number, type)) only = newest, owner = waiting.get(), ++count;
  }
  if (forgotten || count != 1) return py::make_tuple(py::none(), forgotten || count > 1);
  settle(*only, type);
  py::object found = object_of(shared(*only));
  if (makes_one_node(*only->forward.op)) owner->records.erase(only->number);
  return py::make_tuple(std::move(found), true);
}

}  // namespace

py::object forward_object(std::shared_ptr<const Forward> forward) {
  return object_of(std::move(forward));
}

std::shared_ptr<const Forward> forward_in(const py::handle object) {
  if (!PyCapsule_IsValid(object.ptr(), forward_name)) return {};
  return *static_cast<SharedForward*>(PyCapsule_GetPointer(object.ptr(), forward_name));
}

std::optional<std::vector<int>> places_of_edges(const Forward& forward, const std::vector<bool>& leads_on,
                                                bool copies) {
  std::vector<int> places(leads_on.size(), -1);
  if (!forward.op) {  // a Function has an edge for each of its tensors
    if (leads_on.size() != forward.inputs) return {};
    for (std::size_t i = 0; i < leads_on.size(); ++i)
      if (leads_on[i]) places[i] = static_cast<int>(i);
    return places;
  }
  std::size_t edge = 0;
  // Its first edge goes to the base of the view that was written to; the others are those of the op's node,
  // whose first one was that of the view.
  if (copies && !leads_on.empty()) {
    if (leads_on[0]) places[0] = 0;
    edge = 1;
  }
  for (const std::uint32_t input : forward.requiring) {
    if (copies && input == 0) continue;
    while (edge < leads_on.size() && !leads_on[edge]) ++edge;
    if (edge == leads_on.size()) return {};
    places[edge++] = static_cast<int>(input);
  }
  if (std::find(leads_on.begin() + static_cast<std::ptrdiff_t>(edge), leads_on.end(), true) != leads_on.end())
    return {};
  return places;
}

void note_forward(const Row& row, const Call& call, std::uint64_t record) {
  const std::int64_t number = newest_node();
  Newest& newest = thread_graph.newest;
  const bool follows = newest.forward.record != 0;
  const std::uint64_t first = call.inputs.empty() || !call.inputs[0] ? 0 : call.inputs[0].id();
  // An op that makes no node, as one that detaches what the op before saves of its results: the newest node
  // is that one's.
  if (follows && number <= newest.number) {
    if (!row.op->writes || newest.cloned == 0 || newest.cloned != first) return;
    newest.writer = forward_made(row, call, record);
    newest.cloned = 0;
  } else {
    newest.floor = follows ? newest.number : number - 1;  // behind ops that were not recorded
    newest.number = number;
    newest.shared.reset();
    newest.writer.reset();
    newest.cloned = row.op->row->name == "aten.clone" ? first : 0;
    newest.forward = forward_made(row, call, record);
  }
  if (!nodes_are_reported()) let_wait(newest);
}

void note_unrecorded() {
  thread_graph.newest.forward.record = 0;
}

void bind_graph(py::module_& torch) {
  torch.attr("node_made") = py::reinterpret_steal<py::object>(PyCFunction_New(&node_made_method, nullptr));
  torch.attr("FORWARD") = py::reinterpret_borrow<py::object>(metadata_key());
  torch.def(
      "nodes_are_reported", [] { nodes_are_reported() = true; }, "Each thread's nodes come to node_made().");
  torch.def("forward_of", &forward_of, py::arg("number"), py::arg("type"),
            "(which record made the node of that number and type, or None; whether it was known), where "
            "nodes are not reported.");
  torch.def(
      "places_of_edges",
      [](const py::object& made, const std::vector<bool>& leads_on, bool copies) {
        const std::shared_ptr<const Forward> forward = forward_in(made);
        return forward ? places_of_edges(*forward, leads_on, copies) : std::nullopt;
      },
      py::arg("made"), py::arg("leads_on"), py::arg("copies"),
      "For each edge of a node the place of its input, or -1; None: it is not known. made: its FORWARD.");
}

}  // namespace tapedeck::python::torch
