#include "engine/python/torch/torch_tensors.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "engine/python/torch/torch_parts.h"
#include "engine/tensor/error.h"

namespace tapedeck::python::torch {
namespace {

/// Up to here a copy takes less time than a lazy clone.
constexpr std::int64_t most_copied_at_once = 16 << 10;
constexpr std::size_t most_views = 64;  // of a storage that are told apart
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
  StoragePointer snapshot;
  std::uint64_t writer = 0;  ///< the record that wrote into it last; 0: none, or it changed in another way
  std::int64_t low = 0, high = 0;  ///< the bytes of it that the snapshot has
};

struct KnownTensors {
  bool values = true;
  bool has_negatives = false;
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
    Py_DECREF(reference);
  }
  Py_RETURN_NONE;
}

PyMethodDef storage_gone_method = {"storage_gone", &storage_gone, METH_O, nullptr};

py::object method(PyObject* object, PyObject* name) {
  return py::reinterpret_steal<py::object>(PyObject_CallMethodNoArgs(object, name));
}

py::object attribute(PyObject* object, PyObject* name) {
  return py::reinterpret_steal<py::object>(PyObject_GetAttr(object, name));
}

/// False, with no exception set, where it is no whole number.
bool to_number(const py::object& object, std::int64_t& number) {
  if (!object) {
    PyErr_Clear();
    return false;
  }
  number = PyLong_AsLongLong(object.ptr());
  if (number == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  return true;
}

bool to_dims(const py::object& tuple, Dims& dims) {
  if (!tuple || !PyTuple_Check(tuple.ptr())) {
    PyErr_Clear();
    return false;
  }
  const Py_ssize_t rank = PyTuple_GET_SIZE(tuple.ptr());
  if (rank > max_rank) return false;
  for (Py_ssize_t i = 0; i < rank; ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple.ptr(), i);
    const std::int64_t extent = PyLong_Check(item) ? PyLong_AsLongLong(item) : -1;
    if (!PyLong_Check(item)) return false;
    dims.push_back(extent);
  }
  return true;
}

std::uintptr_t address(PyObject* function, PyObject* tensor) {
  const auto found = py::reinterpret_steal<py::object>(PyObject_CallOneArg(function, tensor));
  if (!found) {
    PyErr_Clear();
    return 0;
  }
  const auto number = static_cast<std::uintptr_t>(PyLong_AsUnsignedLongLong(found.ptr()));
  if (PyErr_Occurred()) PyErr_Clear();
  return number;
}

std::string text_of(PyObject* object) {
  const auto text = py::reinterpret_steal<py::object>(PyObject_Str(object));
  const char* letters = text ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  if (!letters) PyErr_Clear();
  return letters ? letters : "?";
}

bool is_true(const py::object& object) {
  if (!object) {
    PyErr_Clear();
    return false;
  }
  return object.ptr() == Py_True;
}

/// "cuda:1" as the engine's device.
Device device_of(const std::string& text) {
  if (!text.starts_with("cuda")) return {};
  const int number = text.size() > 5 ? std::atoi(text.c_str() + 5) : 0;
  return {DeviceKind::gpu, static_cast<std::uint8_t>(number)};
}

void find_extent(Look& look) {
  const auto size = static_cast<std::int64_t>(item_size(look.dtype));
  std::int64_t first = look.offset, last = look.offset;
  for (int axis = 0; axis < look.shape.rank(); ++axis) {
    if (look.shape[axis] == 0) {
      look.low = look.high = look.offset * size;
      return;
    }
    (look.strides[axis] < 0 ? first : last) += look.strides[axis] * (look.shape[axis] - 1);
  }
  look.low = first * size;
  look.high = (last + 1) * size;
}

void look_at_place(const Library& torch, PyObject* tensor, Look& look) {
  look.storage = address(torch.storage_address, tensor);
  if (look.storage == 0) {
    look.problem = "it has no memory of its own";
    return;
  }
  if (!to_dims(method(tensor, torch.name_stride), look.strides) ||
      !to_number(method(tensor, torch.name_storage_offset), look.offset)) {
    look.problem = "it has no strides";
    return;
  }
  // Tensors of inference_mode have no version.
  if (!to_number(attribute(tensor, torch.name_version), look.version)) look.version = 0;
  find_extent(look);
}

/// The device's text is only asked for where it is not the CPU.
void look_at_kind(const Library& torch, PyObject* tensor, Look& look) {
  const py::object dtype = attribute(tensor, torch.name_dtype);
  const auto known = dtype ? dtype_named(torch, dtype.ptr()) : std::nullopt;
  if (!dtype) PyErr_Clear();
  look.dtype = known.value_or(DType::uint8);
  if (!known) look.problem = (dtype ? text_of(dtype.ptr()) : "its dtype") + " is no dtype of Tapedeck's";
  if (!is_true(attribute(tensor, torch.name_is_cpu))) {
    const py::object device = attribute(tensor, torch.name_device);
    if (!device) PyErr_Clear();
    const std::string text = device ? text_of(device.ptr()) : "of unknown name";
    look.device = device_of(text);
    look.problem = "it is on the device " + text;
  }
  if (look.problem.empty() && is_complex(look.dtype) && is_true(method(tensor, torch.name_is_conj)))
    look.problem = "it is a conjugate that PyTorch has not computed yet";
  if (look.problem.empty() && tensors().has_negatives && is_true(method(tensor, torch.name_is_neg)))
    look.problem = "it is a negative that PyTorch has not computed yet";
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
  for (const KnownStorage& each : gone) release_weak(torch, each.weak);
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
    if (const py::object storage = method(tensor, torch.name_untyped_storage))
      hold_address(torch, storage.ptr(), look);
    else
      PyErr_Clear();
    KnownStorage& again = all.storages[look.storage];
    if (!again.weak) again.own = false;  // another storage may come to this address: its bytes are compared
    return again;
  }
  if (!all.callback) all.callback = PyCFunction_New(&storage_gone_method, nullptr);
  const py::object storage = method(tensor, torch.name_untyped_storage);
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

/// Of the storage's first byte. _data_address reads it; data_ptr() would end a lazy clone.
const std::byte* memory_of(const Library& torch, PyObject* tensor, const Look& look) {
  const std::uintptr_t storage = torch.data_address ? address(torch.data_address, tensor) : 0;
  if (storage != 0) return reinterpret_cast<const std::byte*>(storage);
  const std::uintptr_t first = address(torch.data_pointer, tensor);
  if (first == 0) return nullptr;
  return reinterpret_cast<const std::byte*>(first) -
         look.offset * static_cast<std::int64_t>(item_size(look.dtype));
}

/// A lazy clone shares the memory until one of the two is written to.
StoragePointer cloned(const Library& torch, PyObject* tensor, const Look& look, std::int64_t bytes) {
  PyObject* clone = PyObject_CallOneArg(torch.lazy_clone, tensor);
  if (!clone) {
    PyErr_Clear();
    return {};
  }
  const std::byte* memory = memory_of(torch, clone, look);
  if (!memory) {
    Py_DECREF(clone);
    return {};
  }
  return StoragePointer::borrow(memory, static_cast<std::size_t>(bytes), &release_python, clone);
}

std::int64_t storage_bytes(const Library& torch, PyObject* tensor) {
  const py::object storage = method(tensor, torch.name_untyped_storage);
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
  const std::byte* memory = memory_of(torch, tensor, look);
  return look.high == look.low ||
         (memory && std::memcmp(known.snapshot->data() + (look.low - known.low), memory + look.low,
                                static_cast<std::size_t>(look.high - look.low)) == 0);
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

Tensor add_view(const Library& torch, PyObject* tensor, const Look& look, std::string* problem,
                bool made_here) {
  const Tensor made = view_of_snapshot(torch, tensor, look, problem);
  KnownStorage& known = tensors().storages[look.storage];
  std::erase_if(known.views, [&](const View& view) { return view.object == tensor && is_place(view, look); });
  if (!made_here) note_parts(known, made, look);
  if (known.views.size() >= most_views) {
    known.parts.end_generation(parts_of({known.views.front()}));
    known.views.erase(known.views.begin());
  }
  known.views.push_back({tensor, look.offset, look.version, look.dtype, look.shape, look.strides, made});
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

Look look_at(PyObject* tensor) {
  const Library& torch = *library();
  Look look;
  look_at_kind(torch, tensor, look);
  if (!to_dims(attribute(tensor, torch.name_shape), look.shape)) {
    look.shape = {};
    look.problem = "its shape is not known";
  }
  if (look.problem.empty()) look_at_place(torch, tensor, look);
  return look;
}

void note_negatives() {
  tensors().has_negatives = true;
}

void keep_torch_values(bool on) {
  tensors().values = on;
  for (auto& [unused, known] : tensors().storages) {
    known.writer = 0;  // of the last recorder
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
      return view->tensor;
    }
    forget_values(known);
    known.parts.clear();
    known.writer = 0;
  } else if (!known.views.empty() && (known.exported || !known.own) &&
             !is_unchanged(torch, tensor, look, known)) {
    forget_values(known);
    known.parts.clear();
    known.writer = 0;
  }
  if (writer && known.writer) *writer = known.writer;
  return add_view(torch, tensor, look, problem, false);
}

Tensor made_tensor(PyObject* tensor, bool own, std::string* problem) {
  const Library& torch = *library();
  const Look look = look_at(tensor);
  if (!look.problem.empty()) {
    if (problem) *problem = look.problem;
    return without_storage(look);
  }
  known_storage(torch, tensor, look, own);
  return add_view(torch, tensor, look, problem, true);
}

void before_write(PyObject* tensor) {
  const std::uintptr_t storage = address(library()->storage_address, tensor);
  const auto found = tensors().storages.find(storage);
  if (found == tensors().storages.end()) return;
  found->second.parts.end_generation(parts_of(found->second.views));
  forget_values(found->second);
}

void after_write(PyObject* tensor, std::uint64_t record) {
  const std::uintptr_t storage = address(library()->storage_address, tensor);
  const auto found = tensors().storages.find(storage);
  if (found == tensors().storages.end()) return;
  forget_values(found->second);
  // What is released may have run code that comes back here.
  if (const auto again = tensors().storages.find(storage); again != tensors().storages.end())
    again->second.writer = record;
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
