#include "engine/python/tensor/list_values.h"

#include <complex>
#include <string_view>

#include "engine/ops/core/observer.h"
#include "engine/ops/core/ops.h"
#include "engine/python/errors.h"
#include "engine/python/recursion_guard.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tensor/narrow.h"
#include "engine/tensor/strings.h"

namespace tapedeck::python {

namespace {

bool is_list(PyObject* value) {
  return PyList_Check(value) || PyTuple_Check(value);
}

[[noreturn]] void refuse(PyObject* value, DType dtype, const Where& where) {
  refuse<TypeMismatchError>(where, "cannot convert ", short_repr(value), " to ", dtype_name(dtype));
}

std::int64_t read_integer(PyObject* value, DType dtype, std::int64_t lowest, std::int64_t highest,
                          const Where& where) {
  if (!PyLong_Check(value) || PyBool_Check(value)) refuse(value, dtype, where);
  int overflow = 0;
  const std::int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (number == -1 && PyErr_Occurred()) throw ForeignException{};
  if (overflow != 0 || number < lowest || number > highest)
    refuse<InvalidArgumentError>(where, short_repr(value), " does not fit in ", dtype_name(dtype),
                                 dtype == DType::int32 ? "; pass dtype=tf.int64 or a float" : "");
  return number;
}

double read_real(PyObject* value, DType dtype, const Where& where) {
  if (PyFloat_Check(value)) return PyFloat_AS_DOUBLE(value);
  if (!PyLong_Check(value) || PyBool_Check(value)) refuse(value, dtype, where);
  const double number = PyLong_AsDouble(value);
  if (number == -1. && PyErr_Occurred()) {
    PyErr_Clear();
    refuse<InvalidArgumentError>(where, short_repr(value), " does not fit in ", dtype_name(dtype));
  }
  return number;
}

/// The bytes of a str (as UTF-8) or bytes object; they live as long as it does.
std::string_view read_text(PyObject* value, const Where& where) {
  Py_ssize_t size = 0;
  if (PyUnicode_Check(value)) {
    const char* text = PyUnicode_AsUTF8AndSize(value, &size);
    if (!text) throw ForeignException{};  // a lone surrogate
    return {text, static_cast<std::size_t>(size)};
  }
  if (!PyBytes_Check(value)) refuse(value, DType::string, where);
  return {PyBytes_AS_STRING(value), static_cast<std::size_t>(PyBytes_GET_SIZE(value))};
}

std::uint64_t read_uint64(PyObject* value, const Where& where) {
  if (!PyLong_Check(value) || PyBool_Check(value)) refuse(value, DType::uint64, where);
  const std::uint64_t number = PyLong_AsUnsignedLongLong(value);
  if (number == ~std::uint64_t{0} && PyErr_Occurred()) {
    PyErr_Clear();
    refuse<InvalidArgumentError>(where, short_repr(value), " does not fit in uint64");
  }
  return number;
}

template <class T>
T read_number(PyObject* value, DType dtype, const Where& where) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return read_text(value, where);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return read_uint64(value, where);
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    if (PyComplex_Check(value)) return {PyComplex_RealAsDouble(value), PyComplex_ImagAsDouble(value)};
    return read_real(value, dtype, where);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!PyBool_Check(value)) refuse(value, dtype, where);
    return value == Py_True;
  } else if constexpr (std::is_integral_v<T>) {
    const auto [lowest, highest] = integer_limits(dtype);
    return static_cast<T>(read_integer(value, dtype, lowest, highest, where));
  } else {
    return static_cast<T>(read_real(value, dtype, where));
  }
}

// The shape that the first elements say; fill() checks that the others agree.
Shape shape_of(PyObject* value, const Where& where) {
  Shape shape;
  while (is_list(value)) {
    if (shape.rank() == max_rank)
      refuse<InvalidArgumentError>(where, "a list nested more than ", max_rank, " deep");
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(value);
    shape.push_back(length);
    if (length == 0) break;
    value = PySequence_Fast_GET_ITEM(value, 0);
  }
  return shape;
}

template <class T>
void fill(PyObject* value, const Shape& shape, int axis, T*& target, DType dtype, const Where& where) {
  if (axis == shape.rank()) {
    if (is_list(value))
      refuse<InvalidArgumentError>(where, "not rectangular: ", short_repr(value),
                                   " is where a number is expected");
    *target++ = read_number<T>(value, dtype, where);
    return;
  }
  if (!is_list(value))
    refuse<InvalidArgumentError>(where, "not rectangular: ", short_repr(value), " is where a list of ",
                                 shape[axis], " is expected");
  const Py_ssize_t length = PySequence_Fast_GET_SIZE(value);
  if (length != shape[axis])
    refuse<InvalidArgumentError>(where, "not rectangular: lists of ", shape[axis], " and ", length,
                                 " at depth ", axis);
  for (Py_ssize_t i = 0; i < length; ++i)
    fill(PySequence_Fast_GET_ITEM(value, i), shape, axis + 1, target, dtype, where);
}

template <class T>
Tensor filled(PyObject* value, const Shape& shape, DType dtype, const Where& where) {
  Tensor tensor = Tensor::allocate(dtype_of<T>(), shape);
  T* target = tensor.writable_data<T>();
  fill(value, shape, 0, target, dtype, where);
  return tensor;
}

}  // namespace

Tensor tensor_from_values(PyObject* value, DType dtype, const Where& where) {
  const Shape shape = shape_of(value, where);
  if (dtype == DType::string)  // the views are of Python's objects, until their bytes are copied
    return string_tensor(shape, strings_of(filled<std::string_view>(value, shape, dtype, where)));
  if (dtype == DType::uint64) return filled<std::uint64_t>(value, shape, dtype, where);
  if (is_complex(dtype)) {
    const Tensor wide = filled<std::complex<double>>(value, shape, dtype, where);
    return dtype == DType::complex128 ? wide : ops::cast(wide, dtype);
  }
  // Real numbers go by way of float64, so that they are rounded once.
  const DType read =
      dtype == DType::float16 || dtype == DType::bfloat16 ? DType::float64 : compute_dtype(dtype);
  Tensor tensor = Tensor::allocate(read, shape);
  visit_dtype(read, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* target = tensor.writable_data<T>();
    fill(value, shape, 0, target, dtype, where);
  });
  return is_narrow(dtype) ? narrowed(tensor, dtype) : tensor;
}

namespace {

bool is_other_sequence(PyObject* value) {
  return PySequence_Check(value) && !is_list(value) && !is_tensor_like(value) && !is_numpy_array(value) &&
         !is_numpy_scalar(value) && !PyUnicode_Check(value) && !PyBytes_Check(value) &&
         !PyByteArray_Check(value) && !PyType_Check(value);
}

bool has_array(PyObject* value) {
  return !is_tensor_like(value) && !is_numpy_array(value) && !is_numpy_scalar(value) &&
         !PyLong_Check(value) && !PyFloat_Check(value) && !PyType_Check(value) &&
         PyObject_HasAttrString(value, "__array__");
}

}  // namespace

py::object with_lists(PyObject* value) {
  if (!is_list(value) && has_array(value)) return as_numpy(value);
  py::object result = py::reinterpret_borrow<py::object>(value);
  if (!is_list(value)) {
    if (!is_other_sequence(value)) return result;
    result = checked(PySequence_List(value));
  }
  const RecursionGuard guard;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result.ptr()); ++i) {
    const auto item = py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(result.ptr(), i));
    if (PyFloat_CheckExact(item.ptr()) || PyLong_CheckExact(item.ptr())) continue;
    py::object changed = with_lists(item.ptr());
    if (changed.ptr() == item.ptr()) continue;
    if (result.ptr() == value) result = checked(PySequence_List(value));
    checked(PyObject_SetItem(result.ptr(), py::int_(i).ptr(), changed.ptr()));
  }
  return result;
}

namespace {

// False where the list holds NumPy values of several dtypes, or of one that is not a real number's.
bool share_real_dtype(PyObject* list, std::optional<DType>& found) {
  const RecursionGuard guard;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(list, i);
    if (is_list(item)) {
      if (!share_real_dtype(item, found)) return false;
    } else if (is_numpy_array(item) || is_numpy_scalar(item)) {
      const auto dtype = numpy_dtype(item);
      if (!dtype || !is_floating(*dtype) || (found && *found != *dtype)) return false;
      found = dtype;
    } else if (PyBool_Check(item)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<DType> shared_real_dtype(PyObject* list) {
  std::optional<DType> found;
  return is_list(list) && share_real_dtype(list, found) ? found : std::nullopt;
}

py::object unsupported_element(PyObject* value) {
  if (!is_list(value))
    return guess_of(value).kind == ValueKind::unsupported ? py::reinterpret_borrow<py::object>(value)
                                                          : py::object();
  const RecursionGuard guard;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
    const auto item = py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(value, i));
    if (py::object found = unsupported_element(item.ptr())) return found;
  }
  return {};
}

}  // namespace tapedeck::python
