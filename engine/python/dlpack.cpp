// DLPack (https://dmlc.github.io/dlpack/latest/c_api.html), version 0: tensors to and from other libraries
// without a copy. The structs are the standard's.
#include <memory>

#include "engine/python/convert.h"
#include "engine/python/errors.h"
#include "engine/python/tensor_object.h"

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

constexpr std::int32_t device_cpu = 1;
constexpr std::uint8_t code_int = 0, code_unsigned = 1, code_float = 2, code_bfloat = 4, code_bool = 6;

struct Exported {
  DLManagedTensor managed;
  Tensor tensor;
  Shape shape;
  Strides strides;
};

DLDataType dlpack_dtype(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * item_size(dtype));
  const std::uint8_t code = dtype == DType::bool_      ? code_bool
                            : dtype == DType::bfloat16 ? code_bfloat
                            : is_floating(dtype)       ? code_float
                            : is_unsigned(dtype)       ? code_unsigned
                                                       : code_int;
  return {code, bits, 1};
}

DType dtype_from_dlpack(const DLDataType& type) {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const DLDataType candidate = dlpack_dtype(static_cast<DType>(i));
    if (candidate.code == type.code && candidate.bits == type.bits && type.lanes == 1)
      return static_cast<DType>(i);
  }
  fail<TypeMismatchError>(
      "from_dlpack: type code ", int{type.code}, " of ", int{type.bits}, " bits and ", type.lanes,
      " lanes; tensors are bool, whole numbers up to int64 and uint32, or real numbers of 16, 32 or 64 bits");
}

void delete_unused_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // somebody took the tensor
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  managed->deleter(managed);
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
  static const char* names[] = {"stream", nullptr};
  PyObject* stream = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$O:__dlpack__", const_cast<char**>(names), &stream))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor tensor = leaving(tensor_like(self));
    if (stream != Py_None)
      fail<InvalidArgumentError>("__dlpack__: a CPU tensor has no stream; pass stream=None");
    if (tensor.device().kind != DeviceKind::cpu)
      fail<InvalidArgumentError>("__dlpack__: the tensor is on ", to_string(tensor.device()),
                                 "; call .cpu() first");
    auto exported = std::make_unique<Exported>();
    exported->tensor = tensor;
    exported->shape = tensor.shape();
    exported->strides = tensor.strides();
    DLTensor& target = exported->managed.dl_tensor;
    target.data = const_cast<std::byte*>(tensor.raw());
    target.device = {device_cpu, 0};
    target.ndim = tensor.rank();
    target.dtype = dlpack_dtype(tensor.dtype());
    target.shape = const_cast<std::int64_t*>(exported->shape.begin());
    target.strides = const_cast<std::int64_t*>(exported->strides.begin());
    target.byte_offset = 0;
    exported->managed.manager_ctx = exported.get();
    exported->managed.deleter = [](DLManagedTensor* managed) {
      delete static_cast<Exported*>(managed->manager_ctx);
    };
    PyObject* capsule =
        checked(PyCapsule_New(&exported->managed, "dltensor", delete_unused_capsule)).release().ptr();
    exported.release();
    return capsule;
  });
}

PyObject* dlpack_device(PyObject*, PyObject*) {
  return Py_BuildValue("(ii)", device_cpu, 0);
}

Tensor tensor_from_dlpack(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor"))
    fail<InvalidArgumentError>("from_dlpack: ", short_repr(capsule), " is no unused DLPack capsule");
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  const DLTensor& source = managed->dl_tensor;
  if (source.device.device_type != device_cpu)
    fail<InvalidArgumentError>("from_dlpack: the data is on device type ", source.device.device_type,
                               "; only CPU memory (1) can be used");
  if (source.ndim > max_rank)
    fail<InvalidArgumentError>("from_dlpack: ", source.ndim, " axes; tensors have at most ", max_rank);
  const py::object keeper = checked(PyCapsule_New(managed, "used_dltensor_keeper", nullptr));
  Tensor tensor = view_of(source, keeper.ptr());
  // From here on the tensor owns what the capsule owned.
  checked(PyCapsule_SetName(capsule, "used_dltensor"));
  checked(PyCapsule_SetDestructor(keeper.ptr(), [](PyObject* kept) {
    auto* owned = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(kept, "used_dltensor_keeper"));
    if (owned && owned->deleter) owned->deleter(owned);
  }));
  announce_leaf(tensor);
  return tensor;
}

}  // namespace tapedeck::python
