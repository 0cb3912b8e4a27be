#include "engine/python/torch/torch_look.h"

#include <cstdlib>

#include "engine/tensor/foreign_devices.h"

namespace tapedeck::python::torch {
namespace {

/// What some tensor was found to be, so that from then on all are asked before a call that would raise: the
/// exception takes longer than everything else here. Guarded by Python's lock.
struct Seen {
  bool negatives = false;
  bool undescribed = false;  ///< on the device `meta`, sparse
  bool inference = false;    ///< of inference_mode, which have no version
};

Seen met;

bool to_dims(const py::object& tuple, Dims& dims) {
  if (!tuple || !PyTuple_Check(tuple.ptr())) {
    PyErr_Clear();
    return false;
  }
  const Py_ssize_t rank = PyTuple_GET_SIZE(tuple.ptr());
  if (rank > max_rank) return false;
  for (Py_ssize_t i = 0; i < rank; ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple.ptr(), i);
    if (!PyLong_Check(item)) return false;
    dims.push_back(PyLong_AsLongLong(item));
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

/// "cuda:1" as the engine's device; nullopt for those without memory, and where there is no number for it.
std::optional<Device> device_of(const std::string& text) {
  if (text == "meta") return std::nullopt;
  const std::size_t colon = text.find(':');
  const int number = colon == std::string::npos ? 0 : std::atoi(text.c_str() + colon + 1);
  return foreign_device(text.substr(0, colon), number);
}

/// DLPack's kinds of devices, as PyTorch calls them. Other kinds are asked for by name.
std::optional<Device> device_of(const DescribedTensor& described) {
  switch (described.device_type) {
    case 1:
      return Device{};
    case 2:   // CUDA
    case 10:  // ROCm
      return foreign_device("cuda", described.device_number);
    default:
      return std::nullopt;
  }
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

std::int64_t version_of(const Library& torch, PyObject* tensor) {
  if (met.inference && is_true(torch.is_inference(tensor))) return 0;
  std::int64_t version = 0;
  if (to_number(torch.version(tensor), version)) return version;
  met.inference = true;
  return 0;
}

/// The dtype of DLPack's description; nullopt where the engine or DLPack has none.
std::optional<DType> described_dtype(const DescribedTensor& described) {
  if (described.lanes != 1) return std::nullopt;
  switch (described.dtype_code << 8 | described.bits) {
    case 0 << 8 | 8:
      return DType::int8;
    case 0 << 8 | 16:
      return DType::int16;
    case 0 << 8 | 32:
      return DType::int32;
    case 0 << 8 | 64:
      return DType::int64;
    case 1 << 8 | 8:
      return DType::uint8;
    case 1 << 8 | 16:
      return DType::uint16;
    case 1 << 8 | 32:
      return DType::uint32;
    case 1 << 8 | 64:
      return DType::uint64;
    case 2 << 8 | 16:
      return DType::float16;
    case 2 << 8 | 32:
      return DType::float32;
    case 2 << 8 | 64:
      return DType::float64;
    case 4 << 8 | 16:
      return DType::bfloat16;
    case 5 << 8 | 64:
      return DType::complex64;
    case 5 << 8 | 128:
      return DType::complex128;
    case 6 << 8 | 8:
      return DType::bool_;
    default:
      return std::nullopt;
  }
}

void find_computed_later(const Library& torch, PyObject* tensor, Look& look) {
  look.unresolved.conjugate = is_complex(look.dtype) && is_true(torch.is_conj(tensor));
  look.unresolved.negative = met.negatives && is_true(torch.is_neg(tensor));
}

/// False: the tensor has to be looked at attribute by attribute, which also finds out what is wrong with it.
bool describe(const Library& torch, PyObject* tensor, Look& look) {
  if (!torch.describe) return false;
  if (met.undescribed &&
      (!is_true(torch.is_cpu(tensor)) || torch.layout(tensor).ptr() != torch.strided_layout)) {
    PyErr_Clear();
    return false;
  }
  DescribedTensor described;
  if (torch.describe(tensor, &described) != 0) {
    PyErr_Clear();
    met.undescribed = true;
    return false;
  }
  const std::optional<DType> dtype = described_dtype(described);
  const std::optional<Device> device = device_of(described);
  if (!device || !dtype || described.rank > max_rank || !described.memory ||
      (described.rank > 0 && !described.strides))
    return false;
  look.dtype = *dtype;
  look.device = *device;
  const auto rank = static_cast<std::size_t>(described.rank);
  look.shape = Shape(std::span<const std::int64_t>(described.shape, rank));
  look.strides = Strides(std::span<const std::int64_t>(described.strides, rank));
  find_computed_later(torch, tensor, look);
  look.storage = storage_of(torch, tensor);
  if (look.storage == 0 || !to_number(torch.storage_offset(tensor), look.offset)) return false;
  look.version = version_of(torch, tensor);
  find_extent(look);
  if (look.is_elsewhere()) return true;
  look.memory = static_cast<const std::byte*>(described.memory) + described.byte_offset -
                look.offset * static_cast<std::int64_t>(item_size(look.dtype));
  return true;
}

void look_at_place(const Library& torch, PyObject* tensor, Look& look) {
  look.storage = storage_of(torch, tensor);
  if (look.storage == 0) {
    look.problem = "it has no memory of its own";
    return;
  }
  const auto strides =
      py::reinterpret_steal<py::object>(PyObject_CallMethodNoArgs(tensor, torch.name_stride));
  if (!to_dims(strides, look.strides) || !to_number(torch.storage_offset(tensor), look.offset)) {
    look.problem = "it has no strides";
    return;
  }
  look.version = version_of(torch, tensor);
  find_extent(look);
}

/// The device's text is only asked for where it is not the CPU.
void look_at_kind(const Library& torch, PyObject* tensor, Look& look) {
  const py::object dtype = torch.dtype_of(tensor);
  const auto known = dtype ? dtype_named(torch, dtype.ptr()) : std::nullopt;
  if (!dtype) PyErr_Clear();
  look.dtype = known.value_or(DType::uint8);
  if (!known) look.problem = (dtype ? text_of(dtype.ptr()) : "its dtype") + " is no dtype of Tapedeck's";
  if (!is_true(torch.is_cpu(tensor))) {
    const auto device = py::reinterpret_steal<py::object>(PyObject_GetAttr(tensor, torch.name_device));
    if (!device) PyErr_Clear();
    const std::string text = device ? text_of(device.ptr()) : "of unknown name";
    if (const auto found = device_of(text))
      look.device = *found;
    else if (look.problem.empty())
      look.problem = "it is on the device " + text;
  }
  if (look.problem.empty()) find_computed_later(torch, tensor, look);
}

}  // namespace

std::uintptr_t storage_of(const Library& torch, PyObject* tensor) {
  if (!torch.storages_are_objects) return address(torch.storage_address, tensor);
  // Its object lasts as long as the storage, whatever refers to it.
  const py::object storage = torch.untyped_storage(tensor);
  if (!storage) PyErr_Clear();
  return reinterpret_cast<std::uintptr_t>(storage.ptr());
}

const std::byte* memory_of(const Library& torch, PyObject* tensor, const Look& look) {
  return look.memory ? look.memory : memory_of_clone(torch, tensor, look);
}

const std::byte* memory_of_clone(const Library& torch, PyObject* tensor, const Look& look) {
  // _data_address reads the storage's address; data_ptr(), the tensor's, would end a lazy clone.
  const std::uintptr_t storage = torch.data_address ? address(torch.data_address, tensor) : 0;
  if (storage != 0) return reinterpret_cast<const std::byte*>(storage);
  const std::uintptr_t first = address(torch.data_pointer, tensor);
  if (first == 0) return nullptr;
  return reinterpret_cast<const std::byte*>(first) -
         look.offset * static_cast<std::int64_t>(item_size(look.dtype));
}

Look look_at(PyObject* tensor) {
  const Library& torch = *library();
  Look look;
  if (describe(torch, tensor, look)) return look;
  look = {};
  look_at_kind(torch, tensor, look);
  if (!to_dims(torch.shape(tensor), look.shape)) {
    look.shape = {};
    look.problem = "its shape is not known";
  }
  if (look.problem.empty()) look_at_place(torch, tensor, look);
  return look;
}

void note_negatives() {
  met.negatives = true;
}

}  // namespace tapedeck::python::torch
