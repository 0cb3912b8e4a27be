#include "engine/python/torch/torch_tensors.h"

#include <algorithm>

#include "engine/python/torch/torch_devices.h"
#include "engine/python/torch/torch_snapshots.h"
#include "engine/python/torch/torch_storages.h"

namespace tapedeck::python::torch {
namespace {

constexpr std::size_t most_views = 64;  // of a storage that are told apart

bool is_place(const View& view, const Look& look) {
  return view.offset == look.offset && view.dtype == look.dtype && view.shape == look.shape &&
         view.strides == look.strides && view.unresolved == look.unresolved;
}

/// Those whose numbers are the memory's.
std::vector<MemoryPart> parts_of(const std::vector<View>& views) {
  std::vector<MemoryPart> parts;
  for (const View& view : views)
    if (!view.unresolved.any())
      parts.push_back({view.tensor.id(), {view.dtype, view.offset, view.shape, view.strides}});
  return parts;
}

/// A tensor that no op made here: what it was made of, where that was seen.
void note_parts(const KnownStorage& known, const Tensor& made, const Look& look) {
  if (known.parts.empty() && known.views.empty()) return;
  SharedPlace shared =
      known.parts.below({look.dtype, look.offset, look.shape, look.strides}, parts_of(known.views));
  if (!shared.parts.empty()) note_shared_place(made.id(), std::move(shared));
}

Tensor add_view(const Library& torch, PyObject* tensor, const Look& look, std::string* problem,
                std::uint64_t maker, bool made_here) {
  const Tensor made = view_of_snapshot(torch, tensor, look, problem);
  KnownStorage& known = tensors().storages[look.storage];
  std::erase_if(known.views, [&](const View& view) { return view.object == tensor && is_place(view, look); });
  if (!made_here && !look.unresolved.any()) note_parts(known, made, look);
  if (known.views.size() >= most_views) {
    // The value of a variable stays: it would count as assigned anew.
    const auto other = std::ranges::find_if(known.views, [&](const View& view) {
      return std::ranges::find(known.variables, view.tensor.id(), &KnownVariable::value) ==
             known.variables.end();
    });
    const auto oldest = other == known.views.end() ? known.views.begin() : other;
    known.parts.end_generation(parts_of({*oldest}));
    known.views.erase(oldest);
  }
  known.views.push_back({tensor, look.offset, look.version, look.unresolved, look.dtype, look.shape,
                         look.strides, made, maker, false});
  return made;
}

/// The newest view at that place, of this torch.Tensor where there is one.
View* find_view(KnownStorage& known, PyObject* tensor, const Look& look) {
  View* best = nullptr;
  for (View& view : known.views)
    if (is_place(view, look) && (!best || view.object == tensor || best->object != tensor)) best = &view;
  return best;
}

}  // namespace

void keep_torch_values(bool on) {
  tensors().values = on;
  for (auto& [unused, known] : tensors().storages) {
    known.writes.clear();  // of the last recorder
    for (KnownVariable& variable : known.variables) variable.id = variable.value = 0;
    known.parts.clear();
    forget_values(known);
  }
}

void exports_are_known() {
  tensors().exports_are_known = true;
}

Tensor tensor_of(PyObject* tensor, std::string* problem, std::uint64_t* writer) {
  const Library& torch = *library();
  const Look look = look_at(tensor);
  if (!look.problem.empty()) {
    if (problem) *problem = look.problem;
    return without_storage(look);
  }
  KnownStorage& known = known_storage(torch, tensor, look, false);
  // On a device the bytes are compared only where others got the address, because it waits for the device.
  const bool watched = known.exported || (!known.own && !look.is_elsewhere());
  if (View* view = find_view(known, tensor, look)) {
    const bool raised = view->written && look.is_elsewhere() && look.version == view->version + 1;
    const bool may_differ = (view->version != look.version && !raised) || watched;
    if (!may_differ || is_unchanged(torch, tensor, look, known)) {
      view->version = look.version;
      view->written = false;
      if (writer) *writer = view->maker;
      return view->tensor;
    }
    forget_history(known);
  } else if (!known.views.empty() && watched && !is_unchanged(torch, tensor, look, known)) {
    forget_history(known);
  }
  const std::uint64_t maker = newest_write(known, look);
  if (writer) *writer = maker;
  return add_view(torch, tensor, look, problem, maker, false);
}

Tensor made_tensor(PyObject* tensor, const Made& made, std::string* problem) {
  const Library& torch = *library();
  const Look look = look_at(tensor);
  if (!look.problem.empty()) {
    if (problem) *problem = look.problem;
    return without_storage(look);
  }
  KnownStorage& known = known_storage(torch, tensor, look, made.own);
  if (!made.as_view) note_write(known, look, made.record);
  if (is_captured() && look.is_elsewhere()) known.exported = true;  // a graph writes at its address later
  const Tensor result = add_view(torch, tensor, look, problem, made.as_leaf ? made.record : 0, true);
  if (!made.own && !made.as_view) tensors().storages[look.storage].views.back().written = true;
  return result;
}

void before_write(PyObject* tensor) {
  const std::uintptr_t storage = storage_of(*library(), tensor);
  const auto found = tensors().storages.find(storage);
  if (found == tensors().storages.end()) return;
  found->second.parts.end_generation(parts_of(found->second.views));
  forget_values(found->second);
}

void after_write(PyObject* tensor) {
  before_write(tensor);
}

std::vector<KnownVariable>* variables_of(PyObject* tensor, bool made) {
  const Library& torch = *library();
  KnownTensors& all = tensors();
  const auto found = all.storages.find(storage_of(torch, tensor));
  if (found != all.storages.end()) return &found->second.variables;
  if (!made) return nullptr;
  const Look look = look_at(tensor);
  return look.problem.empty() ? &known_storage(torch, tensor, look, false).variables : nullptr;
}

void replace_view(PyObject* tensor, std::uint64_t id, const Tensor& now) {
  const auto found = tensors().storages.find(storage_of(*library(), tensor));
  if (found == tensors().storages.end()) return;
  for (View& view : found->second.views)
    if (view.tensor.id() == id) view.tensor = now;
}

bool has_value(PyObject* tensor, std::uint64_t id) {
  const auto found = tensors().storages.find(storage_of(*library(), tensor));
  return found != tensors().storages.end() &&
         std::ranges::any_of(found->second.views, [&](const View& view) { return view.tensor.id() == id; });
}

Tensor newest_view(PyObject* tensor, const Look& look) {
  const auto found = tensors().storages.find(look.storage);
  const View* view = found == tensors().storages.end() ? nullptr : find_view(found->second, tensor, look);
  return view ? view->tensor : Tensor();
}

void note_export(PyObject* tensor) {
  const Library& torch = *library();
  const Look look = look_at(tensor);
  if (look.storage != 0) known_storage(torch, tensor, look, false).exported = true;
}

std::uint64_t known_id(PyObject* tensor) {
  const Look look = look_at(tensor);
  const auto found = tensors().storages.find(look.storage);
  if (!look.problem.empty() || found == tensors().storages.end()) return 0;
  const View* view = find_view(found->second, tensor, look);
  return view ? view->tensor.id() : 0;
}

Tensor copy_of(PyObject* tensor) {
  return copy_of(*library(), tensor, look_at(tensor));
}

}  // namespace tapedeck::python::torch
