#include "engine/python/tensor/tensor_object.h"

#include <array>
#include <string_view>

#include "engine/python/errors.h"
#include "engine/python/tensor/convert.h"

namespace tapedeck::python {

PyTypeObject tensor_type = blank_type();

namespace {

// Tensors come and go at a rate at which even Python's own allocator shows. Guarded by Python's lock.
constexpr int free_list_capacity = 128;
std::array<TensorObject*, free_list_capacity> free_list;
int free_count = 0;

void deallocate(PyObject* self) {
  auto* object = reinterpret_cast<TensorObject*>(self);
  if (object->weak_references) PyObject_ClearWeakRefs(self);
  object->tensor.~Tensor();
  if (free_count < free_list_capacity)
    free_list[static_cast<std::size_t>(free_count++)] = object;
  else
    PyObject_Free(object);
}

struct PythonTypes {
  std::array<PyObject*, dtype_count> dtypes{};
  PyObject* dtype_class = nullptr;
  PyObject* tensor_shape = nullptr;
};
PythonTypes python_types;

void register_types(const py::list& dtypes, const py::object& dtype_class, const py::object& tensor_shape) {
  if (dtypes.size() != dtype_count) throw py::value_error("one DType per engine dtype is needed");
  for (std::size_t i = 0; i < dtype_count; ++i)
    python_types.dtypes[i] = py::object(dtypes[i]).release().ptr();
  python_types.dtype_class = py::object(dtype_class).release().ptr();
  python_types.tensor_shape = py::object(tensor_shape).release().ptr();
}

}  // namespace

PyObject* wrap(Tensor tensor) {
  if (!tensor) Py_RETURN_NONE;
  TensorObject* object;
  if (free_count > 0) {
    object = free_list[static_cast<std::size_t>(--free_count)];
  } else {
    object = static_cast<TensorObject*>(PyObject_Malloc(sizeof(TensorObject)));
    if (!object) return PyErr_NoMemory();
  }
  PyObject_Init(reinterpret_cast<PyObject*>(object), &tensor_type);
  object->weak_references = nullptr;
  new (&object->tensor) Tensor(std::move(tensor));
  return reinterpret_cast<PyObject*>(object);
}

PyObject* shape_object(const Shape& shape) {
  const py::object tuple = checked(PyTuple_New(shape.rank()));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    PyObject* extent = PyLong_FromLongLong(shape[axis]);
    if (!extent) throw ForeignException{};
    PyTuple_SET_ITEM(tuple.ptr(), axis, extent);
  }
  // As tuple.__new__(TensorShape, tuple): the class's own __new__ is for other values.
  const py::object arguments = checked(PyTuple_Pack(1, tuple.ptr()));
  auto* type = reinterpret_cast<PyTypeObject*>(python_types.tensor_shape);
  return checked(PyTuple_Type.tp_new(type, arguments.ptr(), nullptr)).release().ptr();
}

const Tensor& required_tensor(PyObject* object, const char* what) {
  if (!is_tensor(object)) fail<TypeMismatchError>(what, " is ", short_repr(object), "; needs a tensor");
  return tensor_of(object);
}

const Variable& required_variable(PyObject* object, const char* what) {
  if (!is_variable(object)) fail<TypeMismatchError>(what, " is ", short_repr(object), "; needs a variable");
  return variable_of(object);
}

PyObject* dtype_object(DType dtype) {
  PyObject* object = python_types.dtypes[static_cast<std::size_t>(dtype)];
  Py_INCREF(object);
  return object;
}

std::optional<DType> to_dtype(PyObject* object, const Where& where) {
  if (object == Py_None) return std::nullopt;
  for (std::size_t i = 0; i < dtype_count; ++i)
    if (python_types.dtypes[i] == object) return static_cast<DType>(i);
  if (PyUnicode_Check(object)) {
    if (const char* text = PyUnicode_AsUTF8(object)) {
      if (const auto dtype = dtype_from_name(text)) return dtype;
      if (std::string_view(text) == "float") return DType::float32;  // TensorFlow's; NumPy's has 64 bits
    }
    PyErr_Clear();
  }
  // Python's own types mean what Python's values become.
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::float32;
  if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::int32;
  if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::bool_;
  if (const auto dtype = dtype_from_numpy_descriptor(object)) return dtype;
  refuse<TypeMismatchError>(
      where, short_repr(object),
      " is not one of bool, int32, int64, float32, float64, int8, int16, uint8, uint16, uint32, float16, "
      "bfloat16, string, uint64, complex64, complex128");
}

void bind_python_types(py::module_& module) {
  module.def("_register_types", register_types, py::arg("dtypes"), py::arg("dtype_class"),
             py::arg("tensor_shape"));
}

void bind_tensor(py::module_& module) {
  tensor_type.tp_name = "tapedeck.Tensor";
  tensor_type.tp_doc = PyDoc_STR(
      "An immutable array of one dtype on one device. Made by tf.constant and by every op.\n\n"
      "Operators work elementwise with broadcasting; @ is matmul. np.asarray(t) shares the memory, read "
      "only;\n"
      "t.numpy() gives an array of its own that may be written to.");
  tensor_type.tp_basicsize = sizeof(TensorObject);
  tensor_type.tp_flags = Py_TPFLAGS_DEFAULT;
  tensor_type.tp_dealloc = deallocate;
  tensor_type.tp_weaklistoffset = offsetof(TensorObject, weak_references);
  tensor_type.tp_repr = tensor_repr;
  tensor_type.tp_str = tensor_str;
  // A tensor of a graph is the same one whatever Python object refers to it: a key of a feed_dict.
  tensor_type.tp_hash = [](PyObject* self) {
    const Tensor& tensor = tensor_of(self);
    return tensor.is_symbolic() ? static_cast<Py_hash_t>(tensor.id() >> 1) : _Py_HashPointer(self);
  };
  tensor_type.tp_as_buffer = &tensor_buffer;
  tensor_type.tp_methods = tensor_methods;
  tensor_type.tp_getset = tensor_properties;
  add_operators(tensor_type);
  add_indexing(tensor_type);
  checked(PyType_Ready(&tensor_type));
  // NumPy's operators leave the work to ours.
  checked(PyDict_SetItemString(tensor_type.tp_dict, "__array_priority__", py::int_(1000).ptr()));
  module.add_object("Tensor", reinterpret_cast<PyObject*>(&tensor_type));
  module.def(
      "_add_tensor_methods",
      [](const py::dict& methods) {
        for (const auto& [name, method] : methods)
          checked(PyDict_SetItem(tensor_type.tp_dict, name.ptr(), method.ptr()));
        PyType_Modified(&tensor_type);
      },
      py::arg("methods"), "Methods and properties that are written in Python.");
  bind_python_types(module);
}

}  // namespace tapedeck::python
