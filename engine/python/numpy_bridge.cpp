// The only file that includes NumPy's headers.
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include <string_view>

#include "engine/python/convert.h"
#include "engine/python/errors.h"
#include "engine/python/tensor_object.h"
#include "engine/tensor/narrow.h"
#include "engine/tensor/strings.h"

namespace tapedeck::python {

namespace {

int numpy_type(DType dtype) {
  switch (dtype) {
    case DType::bool_:
      return NPY_BOOL;
    case DType::int32:
      return NPY_INT32;
    case DType::int64:
      return NPY_INT64;
    case DType::float32:
      return NPY_FLOAT32;
    case DType::int8:
      return NPY_INT8;
    case DType::int16:
      return NPY_INT16;
    case DType::uint8:
      return NPY_UINT8;
    case DType::uint16:
      return NPY_UINT16;
    case DType::uint32:
      return NPY_UINT32;
    case DType::float16:
      return NPY_FLOAT16;
    case DType::bfloat16:  // NumPy has none: arrays of it are float32
      return NPY_FLOAT32;
    case DType::string:
      return NPY_OBJECT;
    case DType::uint64:
      return NPY_UINT64;
    case DType::complex64:
      return NPY_COMPLEX64;
    case DType::complex128:
      return NPY_COMPLEX128;
    case DType::float64:
      break;
  }
  return NPY_FLOAT64;
}

std::optional<DType> dtype_of_descriptor(const PyArray_Descr* descriptor) {
  switch (descriptor->kind) {
    case 'b':
      return DType::bool_;
    case 'i':
      if (descriptor->elsize == 1) return DType::int8;
      if (descriptor->elsize == 2) return DType::int16;
      if (descriptor->elsize == 4) return DType::int32;
      if (descriptor->elsize == 8) return DType::int64;
      break;
    case 'u':
      if (descriptor->elsize == 1) return DType::uint8;
      if (descriptor->elsize == 2) return DType::uint16;
      if (descriptor->elsize == 4) return DType::uint32;
      if (descriptor->elsize == 8) return DType::uint64;
      break;
    case 'c':
      if (descriptor->elsize == 8) return DType::complex64;
      if (descriptor->elsize == 16) return DType::complex128;
      break;
    case 'S':
    case 'U':
    case 'O':
      return DType::string;
    case 'f':
      if (descriptor->elsize == 2) return DType::float16;
      if (descriptor->elsize == 4) return DType::float32;
      if (descriptor->elsize == 8) return DType::float64;
      break;
    default:
      break;
  }
  return std::nullopt;
}

// Of a mapped file (np.memmap, mode "r"): the program cannot write to it.
bool is_read_only(PyObject* owner) {
  Py_buffer view;
  if (PyObject_GetBuffer(owner, &view, PyBUF_SIMPLE) != 0) {
    PyErr_Clear();
    return false;
  }
  const bool read_only = view.readonly != 0;
  PyBuffer_Release(&view);
  return read_only;
}

// True where nobody can write to the array's memory: neither the array nor any array that it views.
bool is_immutable(PyArrayObject* array) {
  for (PyObject* owner = reinterpret_cast<PyObject*>(array);;) {
    if (PyArray_Check(owner)) {
      auto* view = reinterpret_cast<PyArrayObject*>(owner);
      if (PyArray_ISWRITEABLE(view)) return false;
      if (!PyArray_BASE(view)) return true;
      owner = PyArray_BASE(view);
    } else if (PyMemoryView_Check(owner)) {
      const Py_buffer* buffer = PyMemoryView_GET_BUFFER(owner);
      if (!buffer->readonly || !buffer->obj) return false;
      owner = buffer->obj;
    } else if (std::string_view(Py_TYPE(owner)->tp_name) == "mmap.mmap") {
      return is_read_only(owner);
    } else {
      return PyBytes_CheckExact(owner) || is_tensor(owner);
    }
  }
}

bool may_share(PyArrayObject* array) {
  return PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array) && PyArray_IS_C_CONTIGUOUS(array) &&
         PyArray_NDIM(array) <= max_rank && is_immutable(array);
}

Shape shape_of(PyArrayObject* array) {
  return Shape(std::span<const std::int64_t>(reinterpret_cast<const std::int64_t*>(PyArray_DIMS(array)),
                                             static_cast<std::size_t>(PyArray_NDIM(array))));
}

Tensor borrow(PyArrayObject* array, DType dtype) {
  const Shape shape = shape_of(array);
  Py_INCREF(array);
  auto storage = StoragePointer::borrow(
      PyArray_DATA(array), static_cast<std::size_t>(PyArray_NBYTES(array)),
      [](void* owner) { SharedObject::drop(static_cast<PyObject*>(owner)); }, array);
  return Tensor::view(std::move(storage), dtype, shape, contiguous_strides(shape), 0);
}

// TensorFlow's rule for what a value of one dtype may become without being asked twice.
bool is_compatible(DType wanted, char kind) {
  if (wanted == DType::bool_) return kind == 'b';
  if (wanted == DType::string) return kind == 'S' || kind == 'U' || kind == 'O';
  if (is_complex(wanted) && kind == 'c') return true;
  if (is_integer(wanted)) return kind == 'i' || kind == 'u';
  return kind == 'f' || kind == 'i' || kind == 'u';
}

[[noreturn]] void refuse(const Where& where, PyArrayObject* array, std::optional<DType> wanted) {
  const py::object name = checked(PyObject_Str(reinterpret_cast<PyObject*>(PyArray_DESCR(array))));
  const std::string text = py::cast<std::string>(name);
  if (wanted)
    fail<TypeMismatchError>(where.prefix(), "cannot convert a NumPy array of dtype ", text, " to ",
                            dtype_name(*wanted));
  fail<TypeMismatchError>(where.prefix(), "NumPy dtype ", text,
                          " has no tensor dtype; tensors are bool, whole numbers up to 64 bits, real numbers "
                          "of 16, 32 or 64 bits, "
                          "complex numbers of two of 32 or 64, or strings (pass dtype=)");
}

void check_integer_range(const Where& where, PyArrayObject* array, DType wanted) {
  const int item = static_cast<int>(PyArray_ITEMSIZE(array));
  const int room = static_cast<int>(item_size(wanted));
  const bool from_unsigned = PyArray_DESCR(array)->kind == 'u';
  const bool fits = is_unsigned(wanted) ? from_unsigned && room >= item
                    : from_unsigned     ? room > item
                                        : room >= item;
  if (fits || PyArray_SIZE(array) == 0) return;
  const py::handle object = reinterpret_cast<PyObject*>(array);
  const auto [lowest, highest] = integer_limits(wanted);
  const py::object high = object.attr("max")(), low = object.attr("min")();
  for (const py::object& extreme : {high, low}) {
    const py::int_ value(extreme);
    if (value > py::int_(highest) || value < py::int_(lowest))
      fail<InvalidArgumentError>(where.prefix(), py::cast<std::string>(checked(PyObject_Str(value.ptr()))),
                                 " does not fit in ", dtype_name(wanted));
  }
}

/// str is encoded as UTF-8.
Tensor strings_from(PyArrayObject* array, const Where& where) {
  const py::object flat = checked(PyArray_Ravel(array, NPY_CORDER));
  const py::object list = checked(PyArray_ToList(reinterpret_cast<PyArrayObject*>(flat.ptr())));
  std::vector<std::string> values;
  for (const py::handle item : list) {
    Py_ssize_t size = 0;
    if (PyBytes_Check(item.ptr())) {
      values.emplace_back(PyBytes_AS_STRING(item.ptr()),
                          static_cast<std::size_t>(PyBytes_GET_SIZE(item.ptr())));
      continue;
    }
    const char* text = PyUnicode_Check(item.ptr()) ? PyUnicode_AsUTF8AndSize(item.ptr(), &size) : nullptr;
    if (!text) {
      PyErr_Clear();
      fail<TypeMismatchError>(where.prefix(), "an array of objects that holds ", short_repr(item.ptr()),
                              "; strings are bytes or str");
    }
    values.emplace_back(text, static_cast<std::size_t>(size));
  }
  return string_tensor(shape_of(array), values);
}

PyObject* bytes_of(std::string_view text) {
  PyObject* bytes = PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  if (!bytes) throw ForeignException{};
  return bytes;
}

/// An array of bytes objects.
PyObject* numpy_strings(const Tensor& tensor) {
  std::array<npy_intp, max_rank> extents{};
  std::copy(tensor.shape().begin(), tensor.shape().end(), extents.begin());
  py::object array = checked(PyArray_SimpleNew(tensor.rank(), extents.data(), NPY_OBJECT));
  auto** items = static_cast<PyObject**>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr())));
  for (const std::string_view text : strings_of(tensor)) {
    Py_XDECREF(*items);
    *items++ = bytes_of(text);
  }
  return array.release().ptr();
}

}  // namespace

void import_numpy() {
  if (_import_array() < 0) throw py::error_already_set();
}

bool is_numpy_array(PyObject* object) {
  return PyArray_Check(object);
}
bool is_numpy_scalar(PyObject* object) {
  return PyArray_IsScalar(object, Generic);
}

std::optional<DType> numpy_dtype(PyObject* object) {
  if (PyArray_Check(object))
    return dtype_of_descriptor(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(object)));
  PyArray_Descr* descriptor = PyArray_DescrFromScalar(object);
  const auto dtype = dtype_of_descriptor(descriptor);
  Py_DECREF(descriptor);
  return dtype;
}

std::optional<DType> dtype_from_numpy_descriptor(PyObject* object) {
  PyArray_Descr* descriptor = nullptr;
  if (PyArray_DescrConverter(object, &descriptor) == NPY_FAIL) {
    PyErr_Clear();
    return std::nullopt;
  }
  const auto dtype = dtype_of_descriptor(descriptor);
  Py_DECREF(descriptor);
  return dtype;
}

py::object as_numpy(PyObject* value) {
  return checked(PyArray_FROM_O(value));
}

Tensor tensor_from_numpy(PyObject* object, std::optional<DType> wanted, const Where& where) {
  const py::object holder = as_numpy(object);
  auto* array = reinterpret_cast<PyArrayObject*>(holder.ptr());
  if (PyArray_NDIM(array) > max_rank)
    fail<InvalidArgumentError>(where.prefix(), "a NumPy array of ", PyArray_NDIM(array),
                               " axes; tensors have at most ", max_rank);
  const auto own = dtype_of_descriptor(PyArray_DESCR(array));
  if (!wanted && !own) refuse(where, array, wanted);
  const DType dtype = wanted.value_or(own.value_or(DType::float32));
  if (own == dtype && dtype != DType::string && may_share(array)) return borrow(array, dtype);
  if (own != dtype && !is_compatible(dtype, PyArray_DESCR(array)->kind)) refuse(where, array, dtype);
  if (is_integer(dtype)) check_integer_range(where, array, dtype);
  if (dtype == DType::string) return strings_from(array, where);
  if (dtype == DType::bfloat16) return narrowed(tensor_from_numpy(object, DType::float64, where), dtype);

  Tensor tensor = Tensor::allocate(dtype, shape_of(array));
  std::array<npy_intp, max_rank> extents{};
  std::copy(tensor.shape().begin(), tensor.shape().end(), extents.begin());
  const py::object target = checked(PyArray_SimpleNewFromData(
      tensor.rank(), extents.data(), numpy_type(dtype), const_cast<std::byte*>(tensor.raw())));
  checked(PyArray_CopyInto(reinterpret_cast<PyArrayObject*>(target.ptr()), array));
  return tensor;
}

PyObject* numpy_view(const Tensor& tensor) {
  if (tensor.device().kind != DeviceKind::cpu)
    fail<InvalidArgumentError>("the tensor is on ", to_string(tensor.device()), "; call .cpu() first");
  if (tensor.dtype() == DType::bfloat16) return numpy_view(widened(tensor));
  if (tensor.dtype() == DType::string) return numpy_strings(tensor);
  std::array<npy_intp, max_rank> extents{}, strides{};
  const auto item = static_cast<std::int64_t>(item_size(tensor.dtype()));
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    extents[static_cast<std::size_t>(axis)] = tensor.dim(axis);
    strides[static_cast<std::size_t>(axis)] = tensor.strides()[axis] * item;
  }
  py::object array = checked(
      PyArray_New(&PyArray_Type, tensor.rank(), extents.data(), numpy_type(tensor.dtype()), strides.data(),
                  const_cast<std::byte*>(tensor.raw()), 0, NPY_ARRAY_ALIGNED, nullptr));
  // The array keeps the tensor, and with it the storage, alive.
  PyObject* owner = wrap(tensor);
  if (!owner) throw ForeignException{};
  checked(PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()), owner));
  return array.release().ptr();
}

PyObject* numpy_copy(const Tensor& tensor) {
  if (tensor.dtype() == DType::bfloat16) return numpy_copy(widened(tensor));
  if (tensor.dtype() == DType::string)
    return tensor.rank() == 0 ? bytes_of(string_of(tensor)) : numpy_strings(tensor);
  const py::object view = checked(numpy_view(tensor));
  auto* array = reinterpret_cast<PyArrayObject*>(view.ptr());
  if (tensor.rank() == 0) return PyArray_Scalar(PyArray_DATA(array), PyArray_DESCR(array), view.ptr());
  return PyArray_NewCopy(array, NPY_CORDER);
}

}  // namespace tapedeck::python
