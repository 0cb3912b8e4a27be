#include "engine/python/torch/torch_storages.h"

#include <algorithm>

#include "engine/ops/core/observer.h"

namespace tapedeck::python::torch {
namespace {

constexpr std::size_t most_writes = 64;
/// Where storages are no objects, those that are gone are looked for after so many were added or copied.
constexpr std::size_t fewest_looked_for = 256;
constexpr std::uint64_t most_copied_between = 64 << 20;

void say_gone(const std::vector<KnownVariable>& variables) {
  Observer* observer = tapedeck::detail::observer.load(std::memory_order_acquire);
  for (const KnownVariable& variable : variables)
    if (observer && variable.id != 0) observer->variable_gone(variable.id);
}

/// A weak reference's callback.
PyObject* storage_gone(PyObject*, PyObject* reference) {
  KnownTensors& all = tensors();
  if (const auto found = all.by_reference.find(reference); found != all.by_reference.end()) {
    // What is released may run code that comes back here: the maps are consistent first.
    KnownStorage gone;
    if (const auto known = all.storages.find(found->second);
        known != all.storages.end() && known->second.reference == reference) {
      gone = std::move(known->second);
      all.storages.erase(known);
    }
    all.by_reference.erase(found);
    say_gone(gone.variables);
    Py_DECREF(reference);
  }
  Py_RETURN_NONE;
}

PyMethodDef storage_gone_method = {"storage_gone", &storage_gone, METH_O, nullptr};

bool is_gone(const Library& torch, PyObject* weak) {
  const auto gone = py::reinterpret_steal<py::object>(PyObject_CallOneArg(torch.storage_expired, weak));
  return is_true(gone);
}

void release_weak(const Library& torch, PyObject* weak) {
  const auto done = py::reinterpret_steal<py::object>(PyObject_CallOneArg(torch.free_weak_storage, weak));
  if (!done) PyErr_Clear();
  Py_DECREF(weak);
}

/// Forgets the storages whose memory PyTorch has released: they have no callback.
void forget_gone(const Library& torch) {
  KnownTensors& all = tensors();
  std::vector<std::pair<std::uintptr_t, PyObject*>> weak;
  for (const auto& [storage, known] : all.storages)
    if (known.weak) weak.emplace_back(storage, known.weak);
  std::vector<KnownStorage> gone;  // what is released may run code that comes back here: last
  for (const auto& [storage, reference] : weak) {
    if (!is_gone(torch, reference)) continue;
    const auto found = all.storages.find(storage);
    if (found == all.storages.end() || found->second.weak != reference) continue;
    gone.push_back(std::move(found->second));
    all.storages.erase(found);
  }
  all.looked_for_at = std::max(fewest_looked_for, 2 * all.storages.size());
  all.copied = 0;
  for (const KnownStorage& each : gone) {
    say_gone(each.variables);
    release_weak(torch, each.weak);
  }
}

/// Keeps the storage's address from being another one's.
void hold_address(const Library& torch, PyObject* storage, const Look& look) {
  PyObject* weak = PyObject_CallMethodNoArgs(storage, torch.name_weak_ref);
  if (!weak) return PyErr_Clear();
  KnownStorage& known = tensors().storages[look.storage];
  known.weak = weak;
}

}  // namespace

KnownTensors& tensors() {
  static auto* all = new KnownTensors;  // Python may end after the program's statics
  return *all;
}

KnownStorage* find_storage(std::uintptr_t storage) {
  const auto found = tensors().storages.find(storage);
  return found == tensors().storages.end() ? nullptr : &found->second;
}

KnownStorage& known_storage(const Library& torch, PyObject* tensor, const Look& look, bool own) {
  KnownTensors& all = tensors();
  if (const auto found = all.storages.find(look.storage); found != all.storages.end()) return found->second;
  if (!torch.storages_are_objects &&
      (all.storages.size() >= all.looked_for_at || all.copied >= most_copied_between))
    forget_gone(torch);
  KnownStorage& known = all.storages[look.storage];
  known.own = own;
  known.elsewhere = look.is_elsewhere();
  if (!torch.storages_are_objects) {
    if (const py::object storage = torch.untyped_storage(tensor))
      hold_address(torch, storage.ptr(), look);
    else
      PyErr_Clear();
    KnownStorage& again = all.storages[look.storage];
    if (!again.weak) again.own = false;  // another storage may come to this address: its bytes are compared
    return again;
  }
  if (!all.callback) all.callback = PyCFunction_New(&storage_gone_method, nullptr);
  const py::object storage = torch.untyped_storage(tensor);
  PyObject* reference = storage ? PyWeakref_NewRef(storage.ptr(), all.callback) : nullptr;
  if (!reference) {
    PyErr_Clear();
    known.own = false;  // as above
    return known;
  }
  // The map may have moved meanwhile: nothing here keeps an iterator across Python's code.
  KnownStorage& again = all.storages[look.storage];
  again.reference = reference;
  all.by_reference.emplace(reference, look.storage);
  return again;
}

void forget_values(KnownStorage& known) {
  const Snapshot snapshot = std::move(known.snapshot);
  const std::vector<View> views = std::move(known.views);
  known.snapshot = {};
  known.views.clear();
}

void forget_history(KnownStorage& known) {
  forget_values(known);
  known.writes.clear();
  known.parts.clear();
}

void note_write(KnownStorage& known, const Look& look, std::uint64_t record) {
  std::erase_if(known.writes,
                [&](const Write& write) { return look.low <= write.low && write.high <= look.high; });
  if (known.writes.size() >= most_writes) known.writes.erase(known.writes.begin());
  known.writes.push_back({look.low, look.high, record});
}

/// The record that wrote last into these bytes; 0: none is known.
std::uint64_t newest_write(const KnownStorage& known, const Look& look) {
  const auto found = std::find_if(known.writes.rbegin(), known.writes.rend(), [&](const Write& write) {
    return write.low < look.high && look.low < write.high;
  });
  return found == known.writes.rend() ? 0 : found->record;
}

}  // namespace tapedeck::python::torch
