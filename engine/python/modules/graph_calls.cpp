#include "engine/python/modules/graph_calls.h"

#include "engine/python/errors.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tensor/unknown_shape.h"

namespace tapedeck::python {
namespace {

/// Bytes that are equal for tuples of tensors with the same dtypes and shapes; None where another object is
/// among them.
PyObject* key_of_tensors(PyObject*, PyObject* arguments) {
  if (!PyTuple_Check(arguments)) {
    PyErr_SetString(PyExc_TypeError, "key_of_tensors: takes a tuple");
    return nullptr;
  }
  boost::container::small_vector<std::int64_t, 64> key;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    PyObject* argument = PyTuple_GET_ITEM(arguments, i);
    if (Py_TYPE(argument) != &tensor_type) Py_RETURN_NONE;
    const Tensor& tensor = tensor_of(argument);
    key.push_back(static_cast<std::int64_t>(tensor.dtype()) * (max_rank + 1) + tensor.rank());
    key.insert(key.end(), tensor.shape().begin(), tensor.shape().end());
    if (const UnknownShape unknown = unknown_of(tensor)) {
      key.push_back(-1 - static_cast<std::int64_t>(unknown.axes));  // no extent, and no dtype of the next one
      key.push_back(unknown.rank ? -1 : -2);
    }
  }
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(key.data()),
                                   static_cast<Py_ssize_t>(key.size() * sizeof(std::int64_t)));
}

PyMethodDef methods[] = {{"key_of_tensors", key_of_tensors, METH_O,
                          "key_of_tensors(arguments, /)\n--\n\nBytes that are equal for tuples of tensors "
                          "with the same dtypes and "
                          "shapes; None where another object is\namong them."},
                         {nullptr, nullptr, 0, nullptr}};

}  // namespace

void bind_graph_calls(py::module_& module) {
  if (PyModule_AddFunctions(module.ptr(), methods) != 0) throw py::error_already_set();
}

}  // namespace tapedeck::python
