#include "engine/python/torch/torch_mode.h"

#include <algorithm>
#include <optional>
#include <string>

#include "engine/ops/core/observer.h"
#include "engine/python/errors.h"
#include "engine/python/source_lines.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/python/torch/hidden_frames.h"
#include "engine/python/torch/module_calls.h"
#include "engine/python/torch/torch_backward.h"
#include "engine/python/torch/torch_devices.h"
#include "engine/python/torch/torch_graph.h"
#include "engine/python/torch/torch_ops.h"
#include "engine/python/torch/torch_replay.h"
#include "engine/python/torch/torch_results.h"
#include "engine/python/torch/torch_tensors.h"
#include "engine/python/torch/torch_variables.h"
#include "engine/python/torch/wrapped_function.h"
#include "engine/record/values/missing_values.h"

namespace tapedeck::python::torch {
namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint64_t newest = 0;

std::string exception_text() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  std::string text = type ? reinterpret_cast<PyTypeObject*>(type)->tp_name : "an exception";
  const auto said = py::reinterpret_steal<py::object>(value ? PyObject_Str(value) : nullptr);
  const char* letters = said ? PyUnicode_AsUTF8(said.ptr()) : nullptr;
  if (letters && *letters) text += std::string(": ") + letters;
  if (!letters) PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  return text;
}

/// The results of a call, and what it wrote into, as the engine's tensors.
class Results {
 public:
  Results(const Row& row, const Call& call, std::uint64_t record) : row_(row), call_(call), record_(record) {}

  void take(PyObject* returned) {
    for (PyObject* tensor : call_.written) after_write(tensor);
    for_each_result(*row_.op, returned, [&](PyObject* value, const ForeignValue& result) {
      add(value, result.alias.empty(), result.written);
    });
    for (PyObject* tensor : call_.written)
      if (std::find(seen_.begin(), seen_.end(), tensor) == seen_.end()) add(tensor, false, true);
  }

  Tensors outputs;

 private:
  void add(PyObject* value, bool own, bool written) {
    seen_.push_back(value);
    const Made made{record_, own, !own && !written, row_.repeats[call_.is_elsewhere] == Repeats::no};
    std::string problem;
    outputs.push_back(value ? made_tensor(value, made, &problem) : Tensor());
    if (!problem.empty()) note_missing_value(outputs.back().id(), problem);
  }

  const Row& row_;
  const Call& call_;
  const std::uint64_t record_;
  std::vector<PyObject*> seen_;
};

/// What no other run would give again is held as a leaf.
void hold_as_leaves(Observer& observer, std::span<const Tensor> outputs) {
  for (const Tensor& output : outputs)
    if (output && output.storage()) observer.leaf(output, {});
}

/// Of batch normalisation, which leaves its running statistics alone otherwise.
bool is_training(const Row& row, const Call& call) {
  const auto place = row.op->row->find_place("training");
  return !place || *place >= call.attributes.size() || call.attributes[*place] != Attribute(false);
}

PyObject* run_recorded(Observer& observer, Row& row, PyObject* args, PyObject* kwargs) {
  Call call = read_call(row, args, kwargs);
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (!call.problems[i].empty()) note_missing_value(call.inputs[i].id(), call.problems[i]);
  Event event;
  event.op = row.op->row;
  event.name = row.op->row->name;
  event.inputs = call.inputs;
  event.attributes = &call.attributes;
  if (call.taped && !row.ends_graph) event.tape = graph_tape();
  event.custom_gradient = is_in_hook();
  const std::uint64_t record = observer.begin(event);
  newest = record;
  if (call.taped) note_forward(row, call, record);
  if (row.is_read && !call.inputs.empty() && call.inputs[0].storage()) observer.left(call.inputs[0]);
  const bool elsewhere = call.is_elsewhere;
  Repeats& repeats = row.repeats[elsewhere];
  const bool tries = repeats == Repeats::unknown;
  if (!tries) call.inputs.clear();  // so that nothing is copied for a write unless the recorder holds it
  for (PyObject* tensor : call.written) before_write(tensor);
  PyObject* returned = PyObject_Call(row.callable, args, kwargs);
  if (!returned) {
    const std::string text = exception_text();
    const py::error_scope raised;
    observer.end(record, {}, text.c_str());
    return nullptr;
  }
  auto result = py::reinterpret_steal<py::object>(returned);
  Results results(row, call, record);
  results.take(returned);
  if (tries) try_repetition(row, repeats, call, results.outputs);
  if (repeats != Repeats::yes) hold_as_leaves(observer, results.outputs);
  observer.end(record, results.outputs, nullptr);
  const bool has_written = !row.only_reads_in_evaluation || is_training(row, call);
  for (PyObject* tensor : call.written)
    has_written ? assign_written(observer, tensor) : keep_unwritten(observer, tensor);
  return result.release().ptr();
}

/// __torch_dispatch__(self, func, types, args=(), kwargs=None).
PyObject* dispatch(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count < 2 || count > 4 || (count > 2 && !PyTuple_Check(arguments[2]))) {
    PyErr_SetString(PyExc_TypeError, "__torch_dispatch__ takes (func, types, args=(), kwargs=None)");
    return nullptr;
  }
  PyObject* overload = arguments[0];
  const auto none = count > 2 ? py::object() : py::object(py::tuple());
  PyObject* args = count > 2 ? arguments[2] : none.ptr();
  PyObject* kwargs = count > 3 && arguments[3] != Py_None ? arguments[3] : nullptr;
  Observer* observer = current_observer();
  return guarded([&]() -> PyObject* {
    Row* row = row_of(overload);
    if (!row || !observer) note_unrecorded();
    if (!row) return PyObject_Call(overload, args, kwargs);
    if (!observer) return PyObject_Call(row->callable, args, kwargs);
    // Autograd's engine calls its ops from C++, where modes of functions do not see them.
    std::optional<WithoutFunctions> no_functions;
    if (is_in_playback() && has_function_mode()) no_functions.emplace();
    return run_recorded(*observer, *row, args, kwargs);
  });
}

/// As an op does that gives Python a number.
void note_read(PyObject* tensor) {
  Observer* observer = library() ? current_observer() : nullptr;
  if (!observer || !is_tensor(*library(), tensor)) return;
  std::string problem;
  const Tensor value = tensor_of(tensor, &problem);
  if (problem.empty() && value.storage()) observer->left(value);
}

PyMethodDef mode_methods[] = {
    {"__torch_dispatch__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&dispatch)),
     METH_FASTCALL, "Runs one op of PyTorch, and makes its record."},
    {nullptr, nullptr, 0, nullptr}};

PyTypeObject* mode_type() {
  static PyTypeObject* const type = ready_type(
      "tapedeck._engine.torch.Dispatch", sizeof(PyObject),
      "What a TorchDispatchMode needs to make records: a base class of one.", [](PyTypeObject& made) {
        made.tp_flags |= Py_TPFLAGS_BASETYPE;
        made.tp_methods = mode_methods;
        made.tp_new = PyType_GenericNew;
      });
  return type;
}

}  // namespace

std::uint64_t newest_record() {
  return newest;
}

void bind_torch(py::module_& module) {
  py::module_ torch = module.def_submodule("torch", "PyTorch's ops as records.");
  torch.attr("Dispatch") = py::handle(reinterpret_cast<PyObject*>(mode_type()));
  torch.def(
      "load",
      [](const py::handle library, const std::string& folder, bool is_new) {
        load_library(library.ptr());
        if (is_new) exports_are_known();
        install_replay();
        install_devices();
        skip_lines_of(folder);
      },
      py::arg("torch"), py::arg("folder"), py::arg("is_new"),
      "Prepares for the module `torch`; lines of files in `folder` are not the user's. is_new: no program "
      "has "
      "used it yet.");
  torch.def(
      "note_export", [](const py::handle tensor) { note_export(tensor.ptr()); }, py::arg("tensor"),
      "Something beside PyTorch has the address of the tensor's memory from now on.");
  torch.def(
      "name_leaf",
      [](const py::handle tensor, const std::string& name) {
        const WithoutFunctions no_functions;
        name_leaf(tensor.ptr(), name);
      },
      py::arg("tensor"), py::arg("name"), "What records call the tensor, where it is a leaf of autograd.");
  torch.def(
      "name_buffer",
      [](const py::handle tensor, const std::string& name) {
        const WithoutFunctions no_functions;
        name_buffer(tensor.ptr(), name);
      },
      py::arg("tensor"), py::arg("name"),
      "What records call a buffer of a module, which is a variable, too.");
  torch.def(
      "note_read", [](const py::handle tensor) { note_read(tensor.ptr()); }, py::arg("tensor"),
      "Python is about to read the tensor's numbers.");
  torch.def(
      "has_name",
      [](const py::handle tensor) {
        const WithoutFunctions no_functions;
        return has_name(tensor.ptr());
      },
      py::arg("tensor"), "Whether name_leaf() gave it one.");
  torch.def(
      "known_id", [](const py::handle tensor) { return library() ? known_id(tensor.ptr()) : 0; },
      py::arg("tensor"), "The id of the value that a tensor has now in records; 0: no record has it.");
  torch.def(
      "value_of",
      [](const py::handle tensor) -> py::tuple {
        if (!library()) return py::make_tuple(py::none(), "PyTorch's ops are not recorded");
        try {
          return py::make_tuple(checked(wrap(copy_of(tensor.ptr()))), "");
        } catch (const Error& error) {
          return py::make_tuple(py::none(), error.what());
        }
      },
      py::arg("tensor"), "(a copy as the engine's tensor, \"\"), or (None, why there is none).");
  torch.def("newest_record", &newest_record,
            "The number of this thread's newest record of PyTorch; 0: none.");
  bind_hidden_frames(torch);
  bind_module_calls(torch);
  bind_backward(torch);
  bind_graph(torch);
  bind_devices(torch);
}

}  // namespace tapedeck::python::torch
