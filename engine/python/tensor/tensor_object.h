// Python's tensor: a C type on the hot path, so no pybind11 here.
#pragma once

#include <optional>

#include "engine/ops/core/observer.h"
#include "engine/ops/core/op.h"
#include "engine/python/python.h"
#include "engine/tape/variable.h"

namespace tapedeck::python {

struct TensorObject {
  PyObject_HEAD Tensor tensor;
  PyObject* weak_references;
};
extern PyTypeObject tensor_type;
extern PyTypeObject variable_part_type;  ///< a tensor that was read as variable[…]; see variable_part.cpp

/// How tensors behave as in TensorFlow 1.5, for the whole process: == and != compare identity, repr shows the
/// id.
struct V1Behavior {
  bool identity_equality = false;
  bool repr_with_id = false;
};
extern V1Behavior v1_behavior;

inline bool is_tensor(PyObject* object) {
  return Py_TYPE(object) == &tensor_type || Py_TYPE(object) == &variable_part_type;
}
inline const Tensor& tensor_of(PyObject* object) {
  return reinterpret_cast<TensorObject*>(object)->tensor;
}

/// The tensor of an object that must be one: TypeMismatchError otherwise, which begins with `what`, as
/// "encode_png: image".
const Tensor& required_tensor(PyObject* object, const char* what);

/// A new reference to a Python tensor; None for an undefined one. nullptr with the exception set on failure.
PyObject* wrap(Tensor tensor);

struct VariableObject {
  PyObject_HEAD Variable variable;
  PyObject* weak_references;
  PyObject* constraint;  ///< what optimisers apply to the new value; nullptr: None
};
extern PyTypeObject variable_type;

inline bool is_variable(PyObject* object) {
  return Py_TYPE(object) == &variable_type || PyType_IsSubtype(Py_TYPE(object), &variable_type);
}
inline const Variable& variable_of(PyObject* object) {
  return reinterpret_cast<VariableObject*>(object)->variable;
}
/// As required_tensor, of a variable.
const Variable& required_variable(PyObject* object, const char* what);
/// The Python object of the variable: the one that exists already, else a new one.
PyObject* wrap(const Variable& variable);
/// What variable[…] gives: the tensor that the index read, with methods that assign to that part.
PyObject* wrap_part(const Variable& variable, struct SliceSpec spec, Tensor part);

/// The tensor of a Tensor or Variable. Reading a variable makes tapes watch it.
inline bool is_tensor_like(PyObject* object) {
  return is_tensor(object) || is_variable(object);
}
inline Tensor tensor_like(PyObject* object) {
  return is_tensor(object) ? tensor_of(object) : variable_of(object).read();
}
/// Tells a recorder that Python or NumPy reads the elements.
inline const Tensor& leaving(const Tensor& tensor) {
  if (Observer* observer = current_observer()) [[unlikely]]
    observer->left(tensor);
  return tensor;
}

/// Fill in the types and put them into the module.
void bind_tensor(py::module_& module);
void bind_variable(py::module_& module);
void bind_variable_part(py::module_& module);

// The parts of the types that live in files of their own.
void add_operators(PyTypeObject& type);  ///< tensor_operators.cpp: number and comparison slots
void add_indexing(PyTypeObject& type);   ///< tensor_index.cpp: len, [], iteration
extern PyBufferProcs tensor_buffer;      ///< tensor_buffer.cpp
extern PyMethodDef tensor_methods[];     ///< tensor_methods.cpp: of tensors and variables
extern PyGetSetDef tensor_properties[];
/// The values as NumPy shows them; arrays of several lines begin a line of their own.
std::string numpy_text(const Tensor& tensor, bool repr);
PyObject* tensor_repr(PyObject* self);
PyObject* tensor_str(PyObject* self);
PyObject* dlpack_capsule(PyObject* self, PyObject* args, PyObject* keywords);  ///< dlpack.cpp
PyObject* dlpack_device(PyObject* self, PyObject*);
/// A tensor on the memory of a capsule named "dltensor", which is used up.
Tensor tensor_from_dlpack(PyObject* capsule);

// Python-side classes that C++ makes objects of; registered by the package while it is imported.
void bind_python_types(py::module_& module);
PyObject* shape_object(const Shape& shape);  ///< a new TensorShape
PyObject* dtype_object(DType dtype);         ///< a new reference to tf.float32 …
/// What `dtype=` takes: a DType, its name, a NumPy dtype or scalar type, float, int, bool. nullopt for None.
/// Throws TypeMismatchError naming the value.
std::optional<DType> to_dtype(PyObject* object, const struct Where& where);

}  // namespace tapedeck::python
