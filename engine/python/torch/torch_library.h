// What is called of PyTorch: cached function objects and names. Its C++ headers are not used, so that one
// build of this module works with every release.
#pragma once

#include <optional>
#include <unordered_map>

#include "engine/python/python.h"
#include "engine/tensor/dtype.h"

namespace tapedeck::python::torch {

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
      nullptr;                       ///< the number of the thread's next node; nullptr: the release lacks it
  PyObject* grad_enabled = nullptr;  ///< torch.is_grad_enabled
  PyObject* inference_enabled = nullptr;        ///< torch.is_inference_mode_enabled
  std::unordered_map<PyObject*, DType> dtypes;  ///< those that the engine has
  // Interned names of attributes.
  PyObject *name_version, *name_shape, *name_stride, *name_dtype, *name_storage_offset, *name_untyped_storage,
      *name_nbytes, *name_layout, *name_device, *name_is_cpu, *name_is_conj, *name_is_neg,
      *name_requires_grad, *name_weak_ref, *name_op, *name_schema;
};

/// Throws ForeignException where the module lacks what every release from 2.1 on has.
void load_library(PyObject* module);
/// nullptr before load_library().
const Library* library();

inline bool is_tensor(const Library& torch, PyObject* object) {
  return Py_TYPE(object) == torch.tensor || PyType_IsSubtype(Py_TYPE(object), torch.tensor) != 0;
}
std::optional<DType> dtype_named(const Library& torch, PyObject* dtype);
/// torch.float32 for float32; borrowed. nullptr: PyTorch has none.
PyObject* dtype_object(const Library& torch, DType dtype);

}  // namespace tapedeck::python::torch
