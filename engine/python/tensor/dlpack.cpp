// DLPack (https://dmlc.github.io/dlpack/latest/c_api.html), versions 0 and 1: tensors to and from other
// libraries. The structs are the standard's. From version 1 on a capsule can say that its memory is read
// only, as a tensor's is, but libraries exist that take such a capsule and write (PyTorch 2.15): so all get a
// copy but those who refuse one.
#include <cstring>
#include <memory>

#include "engine/ops/core/checks.h"
#include "engine/python/errors.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/symbolic.h"
#include "engine/python/tensor/tensor_object.h"

namespace tapedeck::python {

namespace {

struct DLDevice {
  std::int32_t device_type;
  std::int32_t device_id;
};
struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};
constexpr std::uint64_t flag_read_only = 1, flag_copied = 2;

/// Names of capsules: before and after a consumer took the tensor, and while a tensor of ours owns it.
template <class Managed>
struct CapsuleNames {
  static constexpr const char *fresh = "dltensor", *used = "used_dltensor", *kept = "used_dltensor_keeper";
};
template <>
struct CapsuleNames<DLManagedTensorVersioned> {
  static constexpr const char *fresh = "dltensor_versioned", *used = "used_dltensor_versioned",
                              *kept = "used_dltensor_versioned_keeper";
};

constexpr std::int32_t device_cpu = 1, device_cuda = 2;
constexpr std::uint8_t code_int = 0, code_unsigned = 1, code_float = 2, code_bfloat = 4, code_complex = 5,
                       code_bool = 6;

template <class Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
  Shape shape;
  Strides strides;
};

DLDataType dlpack_dtype(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * item_size(dtype));
  const std::uint8_t code = dtype == DType::bool_      ? code_bool
                            : dtype == DType::bfloat16 ? code_bfloat
                            : is_floating(dtype)       ? code_float
                            : is_complex(dtype)        ? code_complex
                            : is_unsigned(dtype)       ? code_unsigned
                                                       : code_int;
  return {code, bits, 1};
}

DType dtype_from_dlpack(const DLDataType& type) {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const DLDataType candidate = dlpack_dtype(static_cast<DType>(i));
    if (static_cast<DType>(i) != DType::string && candidate.code == type.code &&
        candidate.bits == type.bits && type.lanes == 1)
      return static_cast<DType>(i);
  }
  fail<TypeMismatchError>("from_dlpack: type code ", int{type.code}, " of ", int{type.bits}, " bits and ",
                          type.lanes,
                          " lanes; tensors are bool, integers up to 64 bits, real numbers of 16, 32 or "
                          "64 bits, or complex ones");
}

template <class Managed>
void delete_unused_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, CapsuleNames<Managed>::fresh)) return;  // a consumer took the tensor
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, CapsuleNames<Managed>::fresh));
  managed->deleter(managed);
}

template <class Managed>
std::unique_ptr<Exported<Managed>> exported(const Tensor& tensor) {
  if (tensor.dtype() == DType::string)
    fail<TypeMismatchError>("__dlpack__: DLPack has no strings; call .numpy()");
  auto result = std::make_unique<Exported<Managed>>();
  result->tensor = tensor;
  result->shape = tensor.shape();
  result->strides = tensor.strides();
  DLTensor& target = result->managed.dl_tensor;
  target.data = const_cast<std::byte*>(tensor.raw());
  target.device = {device_cpu, 0};
  target.ndim = tensor.rank();
  target.dtype = dlpack_dtype(tensor.dtype());
  target.shape = const_cast<std::int64_t*>(result->shape.begin());
  target.strides = const_cast<std::int64_t*>(result->strides.begin());
  target.byte_offset = 0;
  result->managed.manager_ctx = result.get();
  result->managed.deleter = [](Managed* managed) {
    delete static_cast<Exported<Managed>*>(managed->manager_ctx);
  };
  return result;
}

template <class Managed>
PyObject* in_capsule(std::unique_ptr<Exported<Managed>> held) {
  PyObject* capsule =
      checked(PyCapsule_New(&held->managed, CapsuleNames<Managed>::fresh, delete_unused_capsule<Managed>))
          .release()
          .ptr();
  held.release();
  return capsule;
}

Tensor copied(const Tensor& tensor) {
  const Tensor rows = ops::contiguous(tensor);
  Tensor copy = Tensor::allocate(tensor.dtype(), tensor.shape());
  if (tensor.bytes() > 0) std::memcpy(const_cast<std::byte*>(copy.raw()), rows.raw(), tensor.bytes());
  return copy;
}

/// max_version is (major, minor) or None: the consumer understands versioned capsules from 1 on.
bool takes_versions(PyObject* max_version) {
  if (max_version == Py_None) return false;
  const long major = PyTuple_Check(max_version) && PyTuple_GET_SIZE(max_version) == 2
                         ? PyLong_AsLong(PyTuple_GET_ITEM(max_version, 0))
                         : -1;
  if (major < 0) {
    PyErr_Clear();
    fail<TypeMismatchError>("__dlpack__: max_version is ", short_repr(max_version),
                            "; needs (major, minor) or None");
  }
  return major >= 1;
}

/// `versioned`: the capsule can say that the memory is read only.
bool is_copied(PyObject* copy, bool versioned) {
  if (copy == Py_None) return true;
  const int truth = PyUnicode_Check(copy) ? -1 : PyObject_IsTrue(copy);
  if (truth < 0) {
    PyErr_Clear();
    fail<TypeMismatchError>("__dlpack__: copy is ", short_repr(copy), "; needs True, False or None");
  }
  if (truth == 0 && !versioned) {
    PyErr_SetString(PyExc_BufferError,
                    "__dlpack__: copy is False, but a tensor's memory is read only, which capsules before "
                    "DLPack 1.0 cannot say; pass max_version=(1, 0), or leave copy out for a copy");
    throw ForeignException{};
  }
  return truth == 1;
}

/// Whether dl_device asks for the CPU; anything else is refused.
bool wants_cpu(PyObject* device, const Tensor& tensor) {
  if (device == Py_None) return false;
  const py::object cpu = checked(Py_BuildValue("(ii)", device_cpu, 0));
  const int equal = PyObject_RichCompareBool(device, cpu.ptr(), Py_EQ);
  if (equal == 1) return true;
  if (equal == 0)
    PyErr_Format(PyExc_BufferError, "__dlpack__: dl_device is %R; the tensor is on %s", device,
                 tensor.on_cpu() ? "(1, 0), the CPU"
                                 : (to_string(tensor.device()) + ", and goes to (1, 0), the CPU").c_str());
  throw ForeignException{};
}

/// A consumer of a GPU's memory would go on using it on a stream that the engine does not know.
Tensor brought_to_host(const Tensor& tensor, bool wants_cpu, PyObject* copy) {
  if (tensor.on_cpu()) return tensor;
  if (!wants_cpu || copy == Py_False) {
    PyErr_Format(PyExc_BufferError,
                 "__dlpack__: the tensor is on %s, whose memory is not given away; pass dl_device=(1, 0) for "
                 "a copy on the "
                 "CPU, or call .cpu() first",
                 to_string(tensor.device()).c_str());
    throw ForeignException{};
  }
  return tensor.on_host();
}

Tensor view_of(const DLTensor& source, PyObject* keeper) {
  const Shape shape(std::span<const std::int64_t>(source.shape, static_cast<std::size_t>(source.ndim)));
  const Strides strides =
      source.strides
          ? Strides(std::span<const std::int64_t>(source.strides, static_cast<std::size_t>(source.ndim)))
          : contiguous_strides(shape);
  const DType dtype = dtype_from_dlpack(source.dtype);
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  std::int64_t lowest = 0, highest = 0;  // of the view's elements, from the first one
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t reach = (shape[axis] - 1) * strides[axis];
    (reach < 0 ? lowest : highest) += reach;
  }
  const bool empty = element_count(shape) == 0;
  const std::int64_t elements = empty ? 0 : highest - lowest + 1;
  const auto* first = static_cast<const std::byte*>(source.data) + source.byte_offset;
  if (reinterpret_cast<std::uintptr_t>(first) % static_cast<std::uintptr_t>(item) != 0)
    fail<InvalidArgumentError>("from_dlpack: the data is not aligned to its ", item, "-byte elements");
  Py_INCREF(keeper);
  auto storage = StoragePointer::borrow(
      first + (empty ? 0 : lowest * item), static_cast<std::size_t>(elements * item),
      [](void* owner) { SharedObject::drop(static_cast<PyObject*>(owner)); }, keeper);
  return Tensor::view(std::move(storage), dtype, shape, strides, empty ? 0 : -lowest);
}

}  // namespace

PyObject* dlpack_capsule(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *max_version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO:__dlpack__", const_cast<char**>(names), &stream,
                                   &max_version, &device, &copy))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor own = leaving(readable(tensor_like(self), "DLPack"));
    const Tensor tensor = brought_to_host(own, wants_cpu(device, own), copy);
    if (stream != Py_None)
      fail<InvalidArgumentError>("__dlpack__: a CPU tensor has no stream; pass stream=None");
    const bool versioned_capsule = takes_versions(max_version);
    const bool copies = is_copied(copy, versioned_capsule);
    const Tensor given = copies ? copied(tensor) : tensor;
    if (!versioned_capsule) return in_capsule(exported<DLManagedTensor>(given));
    auto versioned = exported<DLManagedTensorVersioned>(given);
    versioned->managed.version = {1, 0};
    versioned->managed.flags = copies ? flag_copied : flag_read_only;
    return in_capsule(std::move(versioned));
  });
}

PyObject* dlpack_device(PyObject* self, PyObject*) {
  if (is_tensor(self) && tensor_of(self).is_symbolic())
    return guarded([&] {
      readable(tensor_of(self), "DLPack");
      return Py_BuildValue("(ii)", device_cpu, 0);
    });
  const Device device = is_tensor(self) ? tensor_of(self).device() : variable_of(self).device();
  return Py_BuildValue("(ii)", device.kind == DeviceKind::cpu ? device_cpu : device_cuda, int{device.index});
}

namespace {

template <class Managed>
Tensor taken(PyObject* capsule) {
  using Names = CapsuleNames<Managed>;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Names::fresh));
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>)
    if (managed->version.major != 1)
      fail<InvalidArgumentError>("from_dlpack: the capsule has version ", managed->version.major, ".",
                                 managed->version.minor, " of DLPack; 0 and 1 can be read");
  const DLTensor& source = managed->dl_tensor;
  if (source.device.device_type != device_cpu)
    fail<InvalidArgumentError>("from_dlpack: the data is on device type ", source.device.device_type,
                               "; only CPU memory (1) can be used");
  if (source.ndim > max_rank)
    fail<InvalidArgumentError>("from_dlpack: ", source.ndim, " axes; tensors have at most ", max_rank);
  const py::object keeper = checked(PyCapsule_New(managed, Names::kept, nullptr));
  Tensor tensor = view_of(source, keeper.ptr());
  // From here on the tensor owns what the capsule owned.
  checked(PyCapsule_SetName(capsule, Names::used));
  checked(PyCapsule_SetDestructor(keeper.ptr(), [](PyObject* kept) {
    auto* owned = static_cast<Managed*>(PyCapsule_GetPointer(kept, Names::kept));
    if (owned && owned->deleter) owned->deleter(owned);
  }));
  announce_leaf(tensor);
  return tensor;
}

}  // namespace

Tensor tensor_from_dlpack(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, CapsuleNames<DLManagedTensor>::fresh))
    return taken<DLManagedTensor>(capsule);
  if (PyCapsule_IsValid(capsule, CapsuleNames<DLManagedTensorVersioned>::fresh))
    return taken<DLManagedTensorVersioned>(capsule);
  fail<InvalidArgumentError>("from_dlpack: ", short_repr(capsule), " is not an unused DLPack capsule");
}

}  // namespace tapedeck::python
