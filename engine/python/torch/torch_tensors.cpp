#include "engine/python/torch/torch_tensors.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "engine/ops/core/observer.h"
#include "engine/python/torch/torch_parts.h"
#include "engine/tensor/error.h"

namespace tapedeck::python::torch {
namespace {

/// Up to here a copy takes less time than a lazy clone.
constexpr std::int64_t most_copied_at_once = 16 << 10;
constexpr std::size_t most_views = 64;  // of a storage that are told apart
constexpr std::size_t most_writes = 64;
/// Where storages are no objects, those that are gone are looked for after so many were added or copied.
constexpr std::size_t fewest_looked_for = 256;
constexpr std::uint64_t most_copied_between = 64 << 20;

/// One value: a view of the storage as it is now.
struct View {
  PyObject* object = nullptr;  ///< the torch.Tensor, which may be gone: only compared
  std::int64_t offset = 0, version = 0;
  DType dtype{};
  Shape shape;
  Strides strides;
  Tensor tensor;
  std::uint64_t maker = 0;  ///< the record that gave it its value, where the recorder has it as a leaf
};

/// What of a storage a record has made, or written into last: the bytes [low, high).
struct Write {
  std::int64_t low = 0, high = 0;
  std::uint64_t record = 0;
};

struct KnownStorage {
  PyObject* reference = nullptr;  ///< a weak one, whose callback forgets the storage
  /// Where storages are no objects: PyTorch's own weak reference, an int. While it is held, no other storage
  /// gets the address.
  PyObject* weak = nullptr;
  bool own = false;  ///< an op made it while it was recorded
  bool exported = false;
  std::vector<View> views;
  StorageParts parts;  ///< of what it was before
  std::vector<KnownVariable> variables;
  StoragePointer snapshot;
  std::vector<Write> writes;       ///< the oldest first; none where it changed in another way since
  std::int64_t low = 0, high = 0;  ///< the bytes of it that the snapshot has
};

struct KnownTensors {
  bool values = true;
  std::unordered_map<std::uintptr_t, KnownStorage> storages;
  std::unordered_map<PyObject*, std::uintptr_t> by_reference;
  std::size_t looked_for_at = fewest_looked_for;  ///< number of storages
  std::uint64_t copied = 0;                       ///< bytes, since they were looked for
  PyObject* callback = nullptr;
};

KnownTensors& tensors() {
  static auto* all = new KnownTensors;  // Python may end after the program's statics
  return *all;
}

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

py::object method(PyObject* object, PyObject* name) {
  return py::reinterpret_steal<py::object>(PyObject_CallMethodNoArgs(object, name));
}

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

KnownStorage& known_storage(const Library& torch, PyObject* tensor, const Look& look, bool own) {
  KnownTensors& all = tensors();
  if (const auto found = all.storages.find(look.storage); found != all.storages.end()) return found->second;
  if (!torch.storages_are_objects &&
      (all.storages.size() >= all.looked_for_at || all.copied >= most_copied_between))
    forget_gone(torch);
  KnownStorage& known = all.storages[look.storage];
  known.own = own;
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

void release_python(void* object) {
  SharedObject::drop(static_cast<PyObject*>(object));
}

/// A lazy clone shares the memory until one of the two is written to.
StoragePointer cloned(const Library& torch, PyObject* tensor, const Look& look, std::int64_t bytes) {
  PyObject* clone = PyObject_CallOneArg(torch.lazy_clone, tensor);
  if (!clone) {
    PyErr_Clear();
    return {};
  }
  const std::byte* memory = memory_of_clone(torch, clone, look);
  if (!memory) {
    Py_DECREF(clone);
    return {};
  }
  return StoragePointer::borrow(memory, static_cast<std::size_t>(bytes), &release_python, clone);
}

std::int64_t storage_bytes(const Library& torch, PyObject* tensor) {
  const py::object storage = torch.untyped_storage(tensor);
  std::int64_t bytes = 0;
  if (!storage) PyErr_Clear();
  return storage && to_number(method(storage.ptr(), torch.name_nbytes), bytes) ? bytes : 0;
}

/// A copy of the bytes from `low` on.
StoragePointer copied(const std::byte* memory, std::int64_t low, std::int64_t high) {
  const auto bytes = static_cast<std::size_t>(high - low);
  StoragePointer copy = StoragePointer::allocate(bytes);
  if (bytes > (std::size_t{1} << 20)) {
    const py::gil_scoped_release unlocked;  // the op's inputs live, and their program waits for this thread
    std::memcpy(copy->data(), memory + low, bytes);
  } else if (bytes > 0) {
    std::memcpy(copy->data(), memory + low, bytes);
  }
  return copy;
}

/// Sets the storage's snapshot to one that has the tensor's bytes.
void take_snapshot(const Library& torch, PyObject* tensor, const Look& look) {
  std::int64_t low = look.low, high = look.high;
  StoragePointer snapshot;
  KnownStorage* known = &tensors().storages[look.storage];
  const bool lazily = torch.lazy_clone && torch.data_address && known->own && !known->exported &&
                      high - low > most_copied_at_once;
  if (lazily) {
    const std::int64_t bytes = storage_bytes(torch, tensor);
    if (bytes >= high) snapshot = cloned(torch, tensor, look, bytes);
    if (snapshot) low = 0, high = bytes;
  }
  if (!snapshot) {
    const std::byte* memory = memory_of(torch, tensor, look);
    if (!memory && high > low) fail<FailedPreconditionError>("its memory cannot be read");
    snapshot = copied(memory, low, high);
    tensors().copied += static_cast<std::uint64_t>(high - low);
  }
  known = &tensors().storages[look.storage];  // Python's code may have come between
  known->snapshot = std::move(snapshot);
  known->low = low;
  known->high = high;
}

bool is_place(const View& view, const Look& look) {
  return view.offset == look.offset && view.dtype == look.dtype && view.shape == look.shape &&
         view.strides == look.strides;
}

/// Whether the memory still has the bytes of the snapshot.
bool is_unchanged(const Library& torch, PyObject* tensor, const Look& look, const KnownStorage& known) {
  if (!known.snapshot) return !tensors().values;
  if (look.low < known.low || look.high > known.high) return true;  // another part: it has no value yet
  if (look.high == look.low) return true;
  const std::byte* memory = memory_of(torch, tensor, look);
  if (!memory) return false;
  // A write in place raises the version only after it was recorded: then the snapshot is a lazy clone of what
  // it left, at the same address.
  const std::byte* now = memory + look.low;
  const std::byte* then = known.snapshot->data() + (look.low - known.low);
  return now == then || std::memcmp(now, then, static_cast<std::size_t>(look.high - look.low)) == 0;
}

void forget_values(KnownStorage& known) {
  const StoragePointer snapshot = std::move(known.snapshot);  // released last
  const std::vector<View> views = std::move(known.views);
  known.snapshot = {};
  known.views.clear();
}

Tensor without_storage(const Look& look) {
  Tensor tensor = Tensor::symbolic(look.dtype, look.shape);
  tensor.body()->device = look.device;
  return tensor;
}

/// The tensor as a view of the snapshot, under a new id.
Tensor view_of_snapshot(const Library& torch, PyObject* tensor, const Look& look, std::string* problem) {
  if (!tensors().values) return without_storage(look);
  try {
    KnownStorage* known = &tensors().storages[look.storage];
    if (!known->snapshot || look.low < known->low || look.high > known->high) {
      take_snapshot(torch, tensor, look);
      known = &tensors().storages[look.storage];
    }
    const auto size = static_cast<std::int64_t>(item_size(look.dtype));
    if ((look.offset * size - known->low) % size != 0) fail<UnimplementedError>("it is not aligned");
    return Tensor::view(known->snapshot, look.dtype, look.shape, look.strides,
                        (look.offset * size - known->low) / size);
  } catch (const std::exception& error) {
    if (problem) *problem = error.what();
    return without_storage(look);
  }
}

std::vector<MemoryPart> parts_of(const std::vector<View>& views) {
  std::vector<MemoryPart> parts;
  for (const View& view : views)
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

Tensor add_view(const Library& torch, PyObject* tensor, const Look& look, std::string* problem,
                std::uint64_t maker, bool made_here) {
  const Tensor made = view_of_snapshot(torch, tensor, look, problem);
  KnownStorage& known = tensors().storages[look.storage];
  std::erase_if(known.views, [&](const View& view) { return view.object == tensor && is_place(view, look); });
  if (!made_here) note_parts(known, made, look);
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
  known.views.push_back(
      {tensor, look.offset, look.version, look.dtype, look.shape, look.strides, made, maker});
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

Tensor tensor_of(PyObject* tensor, std::string* problem, std::uint64_t* writer) {
  const Library& torch = *library();
  const Look look = look_at(tensor);
  if (!look.problem.empty()) {
    if (problem) *problem = look.problem;
    return without_storage(look);
  }
  KnownStorage& known = known_storage(torch, tensor, look, false);
  if (View* view = find_view(known, tensor, look)) {
    const bool watched = known.exported || !known.own;
    const bool changed = view->version != look.version || watched;
    if (!changed || is_unchanged(torch, tensor, look, known)) {
      view->version = look.version;
      if (writer) *writer = view->maker;
      return view->tensor;
    }
    forget_values(known);
    known.writes.clear();
    known.parts.clear();
  } else if (!known.views.empty() && (known.exported || !known.own) &&
             !is_unchanged(torch, tensor, look, known)) {
    forget_values(known);
    known.writes.clear();
    known.parts.clear();
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
  return add_view(torch, tensor, look, problem, made.as_leaf ? made.record : 0, true);
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
  const Library& torch = *library();
  const Look look = look_at(tensor);
  if (!look.problem.empty()) fail<FailedPreconditionError>("a result has no value: ", look.problem);
  const std::byte* memory = memory_of(torch, tensor, look);
  if (!memory && look.high > look.low) fail<FailedPreconditionError>("a result's memory cannot be read");
  const auto size = static_cast<std::int64_t>(item_size(look.dtype));
  return Tensor::view(copied(memory, look.low, look.high), look.dtype, look.shape, look.strides,
                      look.offset - look.low / size);
}

}  // namespace tapedeck::python::torch
