#include "engine/python/torch/torch_snapshots.h"

#include <complex>
#include <cstring>

#include "engine/python/torch/torch_devices.h"
#include "engine/tensor/error.h"
#include "engine/tensor/narrow.h"

namespace tapedeck::python::torch {
namespace {

/// Up to here a copy takes less time than a lazy clone.
constexpr std::int64_t most_copied_at_once = 16 << 10;

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
  const auto size = py::reinterpret_steal<py::object>(
      storage ? PyObject_CallMethodNoArgs(storage.ptr(), torch.name_nbytes) : nullptr);
  return to_number(size, bytes) ? bytes : 0;
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

struct Taken {
  Snapshot snapshot;
  bool is_lazy = false;
};

/// A clone on the device: lazy, of the whole storage, or a copy of the tensor's bytes.
Taken taken_there(const Library& torch, PyObject* tensor, const Look& look, bool lazily) {
  Snapshot snapshot{.memory = {}, .low = 0, .high = lazily ? storage_bytes(torch, tensor) : 0};
  if (snapshot.high >= look.high && lazily)
    snapshot.memory = cloned_there(tensor, look, 0, snapshot.high, true);
  if (snapshot.memory) return {std::move(snapshot), true};
  snapshot.low = look.low;
  snapshot.high = look.high;
  snapshot.memory = cloned_there(tensor, look, look.low, look.high, false);
  return {std::move(snapshot), false};
}

Taken taken_here(const Library& torch, PyObject* tensor, const Look& look, bool lazily) {
  Snapshot snapshot{.memory = {}, .low = 0, .high = 0};
  if (lazily && torch.data_address && look.high - look.low > most_copied_at_once) {
    snapshot.high = storage_bytes(torch, tensor);
    if (snapshot.high >= look.high) snapshot.memory = cloned(torch, tensor, look, snapshot.high);
    if (snapshot.memory) return {std::move(snapshot), true};
  }
  const std::byte* memory = memory_of(torch, tensor, look);
  if (!memory && look.high > look.low) fail<FailedPreconditionError>("its memory cannot be read");
  snapshot.low = look.low;
  snapshot.high = look.high;
  snapshot.memory = copied(memory, look.low, look.high);
  tensors().copied += static_cast<std::uint64_t>(look.high - look.low);
  return {std::move(snapshot), false};
}

/// Sets the storage's snapshot to one that has the tensor's bytes.
void take_snapshot(const Library& torch, PyObject* tensor, const Look& look) {
  const KnownStorage& before = tensors().storages[look.storage];
  // PyTorch refuses lazy clones of memory that others made (NumPy, DLPack, a mapped file).
  const bool lazily = torch.lazy_clone && !before.exported && (before.own || tensors().exports_are_known);
  Taken taken = (look.is_elsewhere() ? taken_there : taken_here)(torch, tensor, look, lazily);
  KnownStorage& known = tensors().storages[look.storage];  // Python's code may have come between
  known.snapshot = std::move(taken.snapshot);
  known.own = known.own || taken.is_lazy;
}

template <class T>
void negate(std::byte* bytes, std::int64_t count, std::int64_t first, std::int64_t step) {
  for (std::int64_t i = first; i < count; i += step) {
    T number;
    std::memcpy(&number, bytes + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    number = static_cast<T>(-number);
    std::memcpy(bytes + i * static_cast<std::int64_t>(sizeof(T)), &number, sizeof(T));
  }
}

/// The sign's bit, of formats that C++ has no type for.
void flip_signs(std::byte* bytes, std::int64_t count, std::size_t size) {
  for (std::int64_t i = 0; i < count; ++i)
    bytes[static_cast<std::size_t>(i) * size + size - 1] ^= std::byte{0x80};
}

/// Changes the elements of a copy of [low, high) to what PyTorch would compute of them.
void resolve(std::byte* bytes, const Look& look) {
  const std::size_t size = item_size(look.dtype);
  const auto count = (look.high - look.low) / static_cast<std::int64_t>(size);
  if (look.unresolved.conjugate && look.dtype == DType::complex64) negate<float>(bytes, 2 * count, 1, 2);
  if (look.unresolved.conjugate && look.dtype == DType::complex128) negate<double>(bytes, 2 * count, 1, 2);
  if (!look.unresolved.negative) return;
  if (look.dtype == DType::complex64) return negate<float>(bytes, 2 * count, 0, 1);
  if (look.dtype == DType::complex128) return negate<double>(bytes, 2 * count, 0, 1);
  if (is_floating(look.dtype)) return flip_signs(bytes, count, size);
  if (has_partial_support(look.dtype) || look.dtype == DType::bool_)
    fail<UnimplementedError>("it is a negative of ", dtype_name(look.dtype),
                             " that PyTorch has not computed yet");
  visit_dtype(look.dtype, [&](auto tag) { negate<typename decltype(tag)::type>(bytes, count, 0, 1); });
}

/// As PyTorch would compute it, from memory whose first byte is the storage's byte `low`.
Tensor resolved(const std::byte* memory, std::int64_t low, const Look& look) {
  StoragePointer numbers = copied(memory, look.low - low, look.high - low);
  resolve(numbers->data(), look);
  const auto size = static_cast<std::int64_t>(item_size(look.dtype));
  return Tensor::view(std::move(numbers), look.dtype, look.shape, look.strides,
                      look.offset - look.low / size);
}

}  // namespace

Tensor without_storage(const Look& look) {
  Tensor tensor = Tensor::symbolic(look.dtype, look.shape);
  tensor.body()->device = look.device;
  return tensor;
}

Tensor view_of_snapshot(const Library& torch, PyObject* tensor, const Look& look, std::string* problem) {
  if (!tensors().values) return without_storage(look);
  try {
    if (!tensors().storages[look.storage].snapshot.has(look)) take_snapshot(torch, tensor, look);
    const Snapshot& snapshot = tensors().storages[look.storage].snapshot;
    const auto size = static_cast<std::int64_t>(item_size(look.dtype));
    if ((look.offset * size - snapshot.low) % size != 0) fail<UnimplementedError>("it is not aligned");
    if (look.unresolved.any() && !look.is_elsewhere())
      return resolved(snapshot.memory->data(), snapshot.low, look);
    const Tensor view = Tensor::view(snapshot.memory, look.dtype, look.shape, look.strides,
                                     (look.offset * size - snapshot.low) / size);
    return look.unresolved.any() ? resolved_there(view, look.unresolved) : view;
  } catch (const std::exception& error) {
    if (problem) *problem = error.what();
    return without_storage(look);
  }
}

bool is_unchanged(const Library& torch, PyObject* tensor, const Look& look, const KnownStorage& known) {
  if (!known.snapshot.memory) return !tensors().values;
  if (!known.snapshot.has(look)) return true;  // another part: it has no value yet
  if (look.high == look.low) return true;
  if (look.is_elsewhere()) return is_same_there(tensor, look, known.snapshot.memory, known.snapshot.low);
  const std::byte* memory = memory_of(torch, tensor, look);
  if (!memory) return false;
  // A write in place raises the version only after it was recorded: then the snapshot is a lazy clone of what
  // it left, at the same address.
  const std::byte* now = memory + look.low;
  const std::byte* then = known.snapshot.memory->data() + (look.low - known.snapshot.low);
  return now == then || std::memcmp(now, then, static_cast<std::size_t>(look.high - look.low)) == 0;
}

Tensor copy_of(const Library& torch, PyObject* tensor, const Look& look) {
  if (!look.problem.empty()) fail<FailedPreconditionError>("a result has no value: ", look.problem);
  if (look.is_elsewhere()) return copy_there(tensor, look);
  const std::byte* memory = memory_of(torch, tensor, look);
  if (!memory && look.high > look.low) fail<FailedPreconditionError>("a result's memory cannot be read");
  return resolved(memory, 0, look);
}

}  // namespace tapedeck::python::torch
