// What is called of PyTorch: cached function objects and names. Its C++ headers are not used, so that one
// build of this module works with every release.
#pragma once

#include <optional>
#include <unordered_map>

#include "engine/python/python.h"
#include "engine/tensor/dtype.h"

namespace tapedeck::python::torch {

/// A property of torch.Tensor, or a method without arguments, that PyTorch has in C: it is called without
/// being looked up in the tensor's class.
struct Reader {
  PyObject* name = nullptr;  ///< for a release that has it in Python
  bool is_method = false;
  getter get = nullptr;
  void* closure = nullptr;
  PyCFunction call = nullptr;

  /// Empty, with an exception set, where it raises.
  py::object operator()(PyObject* tensor) const {
    PyObject* found = get         ? get(tensor, closure)
                      : call      ? call(tensor, nullptr)
                      : is_method ? PyObject_CallMethodNoArgs(tensor, name)
                                  : PyObject_GetAttr(tensor, name);
    return py::reinterpret_steal<py::object>(found);
  }
};

/// How DLPack describes a tensor (DLTensor, version 1).
struct DescribedTensor {
  void* memory;
  std::int32_t device_type, device_number, rank;
  std::uint8_t dtype_code, bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

/// All of it is borrowed from the module `torch`, which stays imported. Guarded by Python's lock.
struct Library {
  PyObject* module = nullptr;
  PyTypeObject* tensor = nullptr;       ///< torch.Tensor
  PyTypeObject* overload = nullptr;     ///< torch._ops.OpOverload
  PyTypeObject* dtype = nullptr;        ///< torch.dtype
  PyObject* storage_address = nullptr;  ///< torch._C._storage_address or _storage_id; never nullptr
  PyObject* data_address = nullptr;     ///< torch._C._data_address; nullptr: the release lacks it
  PyObject* data_pointer = nullptr;     ///< Tensor.data_ptr as PyTorch has it, which notes no export
  PyObject* lazy_clone = nullptr;       ///< torch._lazy_clone; nullptr: the release lacks it
  /// Whether a storage has one Python object as long as it lives, whose weak references tell when it is gone.
  /// Otherwise (up to 2.1) each untyped_storage() makes another one.
  bool storages_are_objects = true;
  PyObject* storage_expired = nullptr;    ///< UntypedStorage._expired
  PyObject* free_weak_storage = nullptr;  ///< UntypedStorage._free_weak_ref
  PyObject* sequence_number =
      nullptr;  ///< the number of the thread's next node; nullptr: the release lacks it
  PyTypeObject* function_node = nullptr;  ///< torch._C._FunctionBase: nodes of Functions of the program
  PyObject* grad_enabled = nullptr;       ///< torch.is_grad_enabled
  PyObject* inference_enabled = nullptr;  ///< torch.is_inference_mode_enabled
  PyObject* function_modes = nullptr;     ///< torch._C._len_torch_function_stack
  PyObject* no_functions = nullptr;       ///< torch._C.DisableTorchFunction
  /// Of torch._C._const_dlpack_exchange_api: describes a torch.Tensor as long as it lives, and ends no lazy
  /// clone. Not 0: it raised. nullptr: the release lacks it.
  int (*describe)(void* tensor, DescribedTensor* described) = nullptr;
  PyObject* strided_layout = nullptr;           ///< torch.strided
  std::unordered_map<PyObject*, DType> dtypes;  ///< those that the engine has
  Reader version, shape, dtype_of, layout, is_cpu, is_conj, is_neg, is_inference, requires_grad,
      storage_offset, untyped_storage;
  // Interned names of attributes.
  PyObject *name_stride, *name_untyped_storage, *name_nbytes, *name_device, *name_weak_ref, *name_op,
      *name_schema, *name_sequence_nr, *name_metadata, *name_enter, *name_exit;
};

/// Throws ForeignException where the module lacks what every release from 2.1 on has.
void load_library(PyObject* module);
/// nullptr before load_library().
const Library* library();

/// While it lives, nothing that this thread does calls a `__torch_function__` of the program's: neither of
/// its modes nor of its subclasses of torch.Tensor. What is read of tensors for a record is no call of the
/// program's.
class WithoutFunctions {
 public:
  WithoutFunctions();
  ~WithoutFunctions();
  WithoutFunctions(const WithoutFunctions&) = delete;

 private:
  py::object scope_;
};
/// Whether the program has entered a TorchFunctionMode on this thread that would see a call now.
bool has_function_mode();

/// Clears the exception of what raised.
inline bool is_true(const py::object& object) {
  if (!object) {
    PyErr_Clear();
    return false;
  }
  return object.ptr() == Py_True;
}

/// False, with no exception set, where it is not a whole number.
inline bool to_number(const py::object& object, std::int64_t& number) {
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

inline bool is_tensor(const Library& torch, PyObject* object) {
  return Py_TYPE(object) == torch.tensor || PyType_IsSubtype(Py_TYPE(object), torch.tensor) != 0;
}
std::optional<DType> dtype_named(const Library& torch, PyObject* dtype);
/// torch.float32 for float32; borrowed. nullptr: PyTorch has none.
PyObject* dtype_object(const Library& torch, DType dtype);

}  // namespace tapedeck::python::torch
