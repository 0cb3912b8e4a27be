#include "engine/python/torch/torch_variables.h"

#include <algorithm>

#include "engine/ops/core/alias.h"
#include "engine/python/inspector.h"
#include "engine/python/source_lines.h"
#include "engine/python/torch/torch_tensors.h"

namespace tapedeck::python::torch {
namespace {

/// Far above the ids of the engine's own variables.
constexpr std::uint64_t first_variable = std::uint64_t{1} << 40;
constexpr Py_ssize_t most_names_looked_at = 4096;

std::uint64_t new_variable() {
  static std::uint64_t last = first_variable;
  return ++last;
}

/// The same value under a new id.
Tensor another(const Tensor& value) {
  if (value.storage()) return tapedeck::detail::alias(value);
  Tensor tensor = Tensor::symbolic(value.dtype(), value.shape());
  tensor.body()->device = value.device();
  return tensor;
}

bool gradients_are_on() {
  const auto on = py::reinterpret_steal<py::object>(PyObject_CallNoArgs(library()->grad_enabled));
  if (!on) PyErr_Clear();
  return on && on.ptr() == Py_True;
}

bool is_leaf(PyObject* tensor) {
  const auto leaf = py::reinterpret_steal<py::object>(PyObject_GetAttrString(tensor, "is_leaf"));
  if (!leaf) PyErr_Clear();
  return leaf && leaf.ptr() == Py_True;
}

/// The name by which the dict has it; empty: by none.
std::string name_among(const py::dict& names, PyObject* tensor) {
  PyObject *name = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  for (Py_ssize_t looked = 0; looked < most_names_looked_at && PyDict_Next(names.ptr(), &at, &name, &value);
       ++looked)
    if (value == tensor && PyUnicode_Check(name)) return py::cast<std::string>(py::handle(name));
  return {};
}

/// What functions and modules of the user's call it, from the innermost outwards.
std::string name_in_program(PyObject* tensor) {
  auto frame = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  while (frame) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    PyCodeObject* code = PyFrame_GetCode(raw);
    Py_DECREF(code);  // the frame holds it
    if (is_users(code)) {
      std::string name;
      if ((code->co_flags & CO_OPTIMIZED) != 0) name = name_among(frame_locals(py::handle(frame)), tensor);
      if (name.empty()) name = name_among(py::reinterpret_steal<py::dict>(PyFrame_GetGlobals(raw)), tensor);
      if (!name.empty()) return name;
    }
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
  return {};
}

bool is_at(const KnownVariable& known, const Look& look) {
  return known.offset == look.offset && known.dtype == look.dtype && known.shape == look.shape &&
         known.strides == look.strides;
}

/// Of the tensor's place, made anew where there is none. Valid until the storages change.
KnownVariable& variable_at(std::vector<KnownVariable>& variables, const Look& look) {
  for (KnownVariable& known : variables)
    if (is_at(known, look)) return known;
  KnownVariable& added = variables.emplace_back();
  added.offset = look.offset;
  added.dtype = look.dtype;
  added.shape = look.shape;
  added.strides = look.strides;
  return added;
}

/// Says that the variable has the value from now on; returns the tensor that it is known as.
Tensor assign(Observer& observer, PyObject* tensor, KnownVariable& known, const Tensor& value) {
  const Tensor leaf = another(value);
  known.value = leaf.id();
  const std::uint64_t id = known.id;
  const std::string name = known.name;
  replace_view(tensor, value.id(), leaf);
  observer.leaf(leaf, name);
  observer.assigned(leaf, value, id, value.id());  // may wait: `known` may be gone after it
  return leaf;
}

}  // namespace

void name_leaf(PyObject* tensor, const std::string& name) {
  const Look look = look_at(tensor);
  std::vector<KnownVariable>* variables = look.problem.empty() ? variables_of(tensor, true) : nullptr;
  if (!variables) return;
  KnownVariable& known = variable_at(*variables, look);
  known.name = name;
  known.given = true;
  if (known.id == 0) return;
  const Tensor value = newest_view(tensor, look);
  Observer* observer = current_observer();
  if (observer && value) observer->leaf(value, name);
}

bool has_name(PyObject* tensor) {
  const Look look = look_at(tensor);
  std::vector<KnownVariable>* variables = look.problem.empty() ? variables_of(tensor, false) : nullptr;
  return variables && std::ranges::any_of(*variables, [&](const KnownVariable& known) {
           return is_at(known, look) && known.given;
         });
}

void name_buffer(PyObject* tensor, const std::string& name) {
  Observer* observer = current_observer();
  const Look look = look_at(tensor);
  std::vector<KnownVariable>* variables = look.problem.empty() ? variables_of(tensor, true) : nullptr;
  if (!variables) return;
  KnownVariable& known = variable_at(*variables, look);
  known.name = name + " (buffer)";
  known.given = known.buffer = true;
  if (observer) buffer_value(tensor, tensor_of(tensor));
}

Tensor buffer_value(PyObject* tensor, const Tensor& now) {
  Observer* observer = current_observer();
  std::vector<KnownVariable>* variables = observer && now ? variables_of(tensor, false) : nullptr;
  if (!variables || std::ranges::none_of(*variables, &KnownVariable::buffer)) return now;
  const Look look = look_at(tensor);
  variables = look.problem.empty() ? variables_of(tensor, false) : nullptr;
  if (!variables) return now;
  for (KnownVariable& known : *variables) {
    if (!known.buffer || !is_at(known, look)) continue;
    if (known.value == now.id()) return now;
    if (known.id == 0) known.id = new_variable();
    return assign(*observer, tensor, known, now);
  }
  return now;
}

void keep_unwritten(Observer& observer, PyObject* tensor) {
  const Look look = look_at(tensor);
  const Tensor value = look.problem.empty() ? newest_view(tensor, look) : Tensor();
  std::vector<KnownVariable>* variables = value ? variables_of(tensor, false) : nullptr;
  if (!variables) return;
  for (KnownVariable& known : *variables) {
    if (known.id == 0 || known.value == value.id() || !is_at(known, look)) continue;
    const Tensor leaf = another(value);
    known.value = leaf.id();
    const std::string name = known.name;
    replace_view(tensor, value.id(), leaf);
    observer.leaf(leaf, name);
    return;
  }
}

Tensor variable_value(PyObject* tensor, const Tensor& now) {
  Observer* observer = current_observer();
  std::vector<KnownVariable>* variables = observer && now ? variables_of(tensor, false) : nullptr;
  if (!variables) return now;
  for (const KnownVariable& known : *variables)
    if (known.value == now.id()) return now;
  if (!is_leaf(tensor)) return now;
  const Look look = look_at(tensor);
  variables = look.problem.empty() ? variables_of(tensor, false) : nullptr;
  if (!variables) return now;
  const KnownVariable& before = variable_at(*variables, look);
  if (before.id != 0 && has_value(tensor, before.value)) return now;  // another tensor of the same memory
  std::string name = before.name;
  if (name.empty()) name = name_in_program(tensor);
  if (name.empty() && !gradients_are_on()) return now;  // a module makes it: its name comes later
  if (name.empty()) name = "leaf";
  variables = variables_of(tensor, false);
  if (!variables) return now;
  KnownVariable& known = variable_at(*variables, look);
  if (known.name.empty()) known.name = name;
  if (known.id == 0) known.id = new_variable();
  return assign(*observer, tensor, known, now);
}

void assign_written(Observer& observer, PyObject* tensor) {
  std::vector<KnownVariable>* variables = variables_of(tensor, false);
  if (!variables || variables->empty()) return;
  const Look look = look_at(tensor);
  const Tensor value = look.problem.empty() ? newest_view(tensor, look) : Tensor();
  variables = variables_of(tensor, false);
  if (!value || !variables) return;
  for (KnownVariable& known : *variables)
    if (known.id != 0 && known.value != value.id() && is_at(known, look)) {
      assign(observer, tensor, known, value);
      return;
    }
}

}  // namespace tapedeck::python::torch
