// Arrays of NumPy, by Python's buffer protocol and NumPy's own Python functions: nothing here is tied to one
// version of its C interface.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "engine/python/errors.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tensor/narrow.h"
#include "engine/tensor/strings.h"

namespace tapedeck::python {

namespace {

/// What this file needs of NumPy. Looked up once, and kept for as long as the process lives.
struct NumPy {
  PyObject *array_type, *scalar_type, *dtype_type, *as_array, *empty, *copy_to, *object_dtype;
  std::array<PyObject*, dtype_count> dtypes;           ///< in this machine's byte order; by DType
  std::array<PyObject*, dtype_count> scalars;          ///< their types of scalars
  PyObject *dtype, *base, *kind, *item_size, *unsafe;  ///< interned names
};
NumPy* numpy = nullptr;

/// NumPy has no bfloat16: arrays of it are float32. Its arrays of strings are arrays of objects.
DType in_numpy(DType dtype) {
  return dtype == DType::bfloat16 ? DType::float32 : dtype;
}

py::object attribute(PyObject* object, PyObject* name) {
  return checked(PyObject_GetAttr(object, name));
}

struct Kind {
  char letter = 0;  ///< 'b', 'i', 'u', 'f', 'c', 'S', 'U', 'O', …
  Py_ssize_t bytes = 0;
};

Kind kind_of(PyObject* dtype) {
  const py::object letter = attribute(dtype, numpy->kind), bytes = attribute(dtype, numpy->item_size);
  return {static_cast<char>(PyUnicode_ReadChar(letter.ptr(), 0)), PyLong_AsSsize_t(bytes.ptr())};
}

/// In this machine's byte order; such dtypes are one object each, almost always.
std::optional<DType> native_dtype(PyObject* dtype) {
  for (std::size_t i = 0; i < dtype_count; ++i)
    if (numpy->dtypes[i] == dtype && in_numpy(static_cast<DType>(i)) == static_cast<DType>(i) &&
        static_cast<DType>(i) != DType::string)
      return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<DType> tensor_dtype(PyObject* dtype) {
  if (const auto native = native_dtype(dtype)) return native;
  const auto sized = [bytes = kind_of(dtype).bytes](std::initializer_list<DType> candidates) {
    const auto found = std::ranges::find_if(
        candidates, [&](DType one) { return static_cast<Py_ssize_t>(item_size(one)) == bytes; });
    return found == candidates.end() ? std::nullopt : std::optional(*found);
  };
  switch (kind_of(dtype).letter) {
    case 'b':
      return DType::bool_;
    case 'i':
      return sized({DType::int8, DType::int16, DType::int32, DType::int64});
    case 'u':
      return sized({DType::uint8, DType::uint16, DType::uint32, DType::uint64});
    case 'f':
      return sized({DType::float16, DType::float32, DType::float64});
    case 'c':
      return sized({DType::complex64, DType::complex128});
    case 'S':
    case 'U':
    case 'O':
      return DType::string;
    default:
      return std::nullopt;
  }
}

/// An object's memory, as it lies there. Without memory where the object shows none.
class Buffer {
 public:
  explicit Buffer(PyObject* object, int flags = PyBUF_STRIDED_RO) {
    if (PyObject_GetBuffer(object, &view_, flags) != 0) {
      PyErr_Clear();
      view_.obj = nullptr;
    }
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() { PyBuffer_Release(&view_); }
  explicit operator bool() const { return view_.obj != nullptr; }
  const Py_buffer* operator->() const { return &view_; }
  const Py_buffer& operator*() const { return view_; }

 private:
  Py_buffer view_{};
};

// ---- a tensor's memory, as arrays see it ----

struct MemoryObject {
  PyObject_HEAD Tensor tensor;
  bool writable;
};
PyTypeObject memory_type = blank_type();

int export_memory(PyObject* self, Py_buffer* view, int flags) {
  const auto* memory = reinterpret_cast<const MemoryObject*>(self);
  const StoragePointer& storage = memory->tensor.storage();
  return PyBuffer_FillInfo(view, self, storage->data(), static_cast<Py_ssize_t>(storage->size()),
                           memory->writable ? 0 : 1, flags);
}

void drop_memory(PyObject* self) {
  reinterpret_cast<MemoryObject*>(self)->tensor.~Tensor();
  PyObject_Free(self);
}

py::object memory_of(const Tensor& tensor, bool writable) {
  auto* memory = PyObject_New(MemoryObject, &memory_type);
  if (!memory) throw ForeignException{};
  new (&memory->tensor) Tensor(tensor);
  memory->writable = writable;
  return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(memory));
}

template <class Values>
py::object tuple_of(int count, const Values& values, std::int64_t factor) {
  py::object tuple = checked(PyTuple_New(count));
  for (int i = 0; i < count; ++i) {
    PyObject* number = PyLong_FromLongLong(values[i] * factor);
    if (!number) throw ForeignException{};
    PyTuple_SET_ITEM(tuple.ptr(), i, number);
  }
  return tuple;
}

/// An array on the tensor's memory, which it keeps alive.
py::object array_on(const Tensor& tensor, bool writable) {
  const py::object memory = memory_of(tensor, writable);
  const py::object shape = tuple_of(tensor.rank(), tensor.shape(), 1);
  PyObject* dtype = numpy->dtypes[static_cast<std::size_t>(tensor.dtype())];
  const auto* begin = static_cast<const std::byte*>(tensor.storage()->data());
  const py::object offset = checked(PyLong_FromSsize_t(tensor.raw() - begin));
  if (tensor.contiguous() || tensor.count() == 0)
    return checked(PyObject_CallFunctionObjArgs(numpy->array_type, shape.ptr(), dtype, memory.ptr(),
                                                offset.ptr(), nullptr));
  const py::object strides =
      tuple_of(tensor.rank(), tensor.strides(), static_cast<std::int64_t>(item_size(tensor.dtype())));
  return checked(PyObject_CallFunctionObjArgs(numpy->array_type, shape.ptr(), dtype, memory.ptr(),
                                              offset.ptr(), strides.ptr(), nullptr));
}

// ---- from arrays ----

// Of a mapped file (np.memmap, mode "r"): the program cannot write to it.
bool is_read_only(PyObject* owner) {
  const Buffer memory(owner, PyBUF_SIMPLE);
  return memory && memory->readonly;
}

// True if the array's memory is read-only: neither the array nor any array that it views is writable.
bool is_immutable(PyObject* array) {
  py::object owner = py::reinterpret_borrow<py::object>(array);
  while (true) {
    if (is_numpy_array(owner.ptr())) {
      if (const Buffer memory(owner.ptr()); !memory || !memory->readonly) return false;
      py::object base = attribute(owner.ptr(), numpy->base);
      if (base.is_none()) return true;
      owner = std::move(base);
    } else if (PyMemoryView_Check(owner.ptr())) {
      const Py_buffer* buffer = PyMemoryView_GET_BUFFER(owner.ptr());
      if (!buffer->readonly || !buffer->obj) return false;
      owner = py::reinterpret_borrow<py::object>(buffer->obj);
    } else if (std::string_view(Py_TYPE(owner.ptr())->tp_name) == "mmap.mmap") {
      return is_read_only(owner.ptr());
    } else {
      return PyBytes_CheckExact(owner.ptr()) || is_tensor(owner.ptr()) || tensor_behind(owner.ptr());
    }
  }
}

bool is_aligned(const Py_buffer& view, DType dtype) {
  const std::size_t alignment = is_complex(dtype) ? item_size(dtype) / 2 : item_size(dtype);
  return reinterpret_cast<std::uintptr_t>(view.buf) % alignment == 0;
}

Tensor borrow(PyObject* array, const Py_buffer& view, DType dtype, const Shape& shape) {
  Py_INCREF(array);
  auto storage = StoragePointer::borrow(
      view.buf, static_cast<std::size_t>(view.len),
      [](void* owner) { SharedObject::drop(static_cast<PyObject*>(owner)); }, array);
  return Tensor::view(std::move(storage), dtype, shape, contiguous_strides(shape), 0);
}

/// Throws where the array has too many axes.
Shape extents_of(PyObject* array, const Where& where) {
  const py::tuple extents(py::handle(array).attr("shape"));
  if (extents.size() > max_rank)
    refuse<InvalidArgumentError>(where, "a NumPy array of ", extents.size(), " axes; tensors have at most ",
                                 max_rank);
  std::array<std::int64_t, max_rank> values{};
  for (std::size_t i = 0; i < extents.size(); ++i) values[i] = py::cast<std::int64_t>(extents[i]);
  return Shape(std::span<const std::int64_t>(values.data(), extents.size()));
}

// TensorFlow's rule for what a value of one dtype may become without being asked twice.
bool is_compatible(DType wanted, char kind) {
  if (wanted == DType::bool_) return kind == 'b';
  if (wanted == DType::string) return kind == 'S' || kind == 'U' || kind == 'O';
  if (is_complex(wanted) && kind == 'c') return true;
  if (is_integer(wanted)) return kind == 'i' || kind == 'u';
  return kind == 'f' || kind == 'i' || kind == 'u';
}

[[noreturn]] void refuse(const Where& where, PyObject* dtype, std::optional<DType> wanted) {
  const std::string text = py::cast<std::string>(checked(PyObject_Str(dtype)));
  if (wanted)
    refuse<TypeMismatchError>(where, "cannot convert a NumPy array of dtype ", text, " to ",
                              dtype_name(*wanted));
  refuse<TypeMismatchError>(where, "NumPy dtype ", text,
                            " has no tensor dtype; tensors are bool, integers up to 64 bits, real numbers "
                            "of 16, 32 or 64 bits, "
                            "complex numbers of two of 32 or 64, or strings (pass dtype=)");
}

void check_integer_range(const Where& where, PyObject* array, Kind kind, DType wanted) {
  const auto room = static_cast<Py_ssize_t>(item_size(wanted));
  const bool from_unsigned = kind.letter == 'u';
  const bool fits = is_unsigned(wanted) ? from_unsigned && room >= kind.bytes
                    : from_unsigned     ? room > kind.bytes
                                        : room >= kind.bytes;
  const py::handle object = array;
  if (fits || py::cast<std::int64_t>(object.attr("size")) == 0) return;
  const auto [lowest, highest] = integer_limits(wanted);
  const py::object high = object.attr("max")(), low = object.attr("min")();
  for (const py::object& extreme : {high, low}) {
    const py::int_ value(extreme);
    if (value > py::int_(highest) || value < py::int_(lowest))
      refuse<InvalidArgumentError>(where, py::cast<std::string>(checked(PyObject_Str(value.ptr()))),
                                   " does not fit in ", dtype_name(wanted));
  }
}

/// str is encoded as UTF-8.
Tensor strings_from(PyObject* array, const Shape& shape, const Where& where) {
  const py::list list(py::handle(array).attr("ravel")().attr("tolist")());
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
      refuse<TypeMismatchError>(where, "an array of objects that holds ", short_repr(item.ptr()),
                                "; strings are bytes or str");
    }
    values.emplace_back(text, static_cast<std::size_t>(size));
  }
  return string_tensor(shape, values);
}

// ---- to arrays ----

py::object bytes_of(std::string_view text) {
  return checked(PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

/// An array of bytes objects.
py::object array_of_strings(const Tensor& tensor) {
  py::list values;
  for (const std::string_view text : strings_of(tensor)) values.append(bytes_of(text));
  const py::object row = py::handle(numpy->empty)(values.size(), py::handle(numpy->object_dtype));
  row[py::slice(0, static_cast<Py_ssize_t>(values.size()), 1)] = values;
  return row.attr("reshape")(tuple_of(tensor.rank(), tensor.shape(), 1));
}

py::object copied_array(const Tensor& tensor) {
  if (!tensor.contiguous()) return array_on(tensor, false).attr("copy")();
  const py::object shape = tuple_of(tensor.rank(), tensor.shape(), 1);
  py::object copy = checked(PyObject_CallFunctionObjArgs(
      numpy->empty, shape.ptr(), numpy->dtypes[static_cast<std::size_t>(tensor.dtype())], nullptr));
  const Buffer memory(copy.ptr(), PyBUF_CONTIG);
  if (tensor.bytes() > 0) std::memcpy(memory->buf, tensor.raw(), tensor.bytes());
  return copy;
}

py::object number_in_python(const Tensor& scalar) {
  return visit_dtype(scalar.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T value = *scalar.data<T>();
    if constexpr (std::is_same_v<T, bool>)
      return checked(PyBool_FromLong(value));
    else if constexpr (is_floating(dtype_of<T>()))
      return checked(PyFloat_FromDouble(value));
    else
      return checked(PyLong_FromLongLong(static_cast<long long>(value)));
  });
}

/// A NumPy scalar of the tensor's dtype.
py::object scalar_of(const Tensor& tensor) {
  const bool is_plain = !is_complex(tensor.dtype()) && tensor.dtype() != DType::uint64;
  if (!is_plain) return array_on(tensor, false)[py::tuple()];
  return checked(PyObject_CallOneArg(numpy->scalars[static_cast<std::size_t>(tensor.dtype())],
                                     number_in_python(widened(tensor)).ptr()));
}

}  // namespace

void import_numpy() {
  const py::module_ module = py::module_::import("numpy");
  const auto kept = [](const py::object& object) { return py::object(object).release().ptr(); };
  const auto named = [&](const char* name) { return kept(module.attr(name)); };
  const auto interned = [](const char* name) {
    return checked(PyUnicode_InternFromString(name)).release().ptr();
  };
  auto* found = new NumPy{};
  found->array_type = named("ndarray");
  found->scalar_type = named("generic");
  found->dtype_type = named("dtype");
  found->as_array = named("asanyarray");
  found->empty = named("empty");
  found->copy_to = named("copyto");
  const py::object dtype_type = module.attr("dtype");
  found->object_dtype = kept(dtype_type("O"));
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const DType dtype = in_numpy(static_cast<DType>(i));
    const py::object object = dtype == DType::string ? py::reinterpret_borrow<py::object>(found->object_dtype)
                                                     : dtype_type(std::string(dtype_name(dtype)));
    found->scalars[i] = kept(object.attr("type"));
    found->dtypes[i] = kept(object);
  }
  found->dtype = interned("dtype");
  found->base = interned("base");
  found->kind = interned("kind");
  found->item_size = interned("itemsize");
  found->unsafe = interned("unsafe");
  numpy = found;

  static PyBufferProcs procedures{export_memory, nullptr};
  memory_type.tp_name = "tapedeck._engine.Memory";
  memory_type.tp_doc = PyDoc_STR("A tensor's memory, for the arrays that share it.");
  memory_type.tp_basicsize = sizeof(MemoryObject);
  memory_type.tp_flags = Py_TPFLAGS_DEFAULT;
  memory_type.tp_dealloc = drop_memory;
  memory_type.tp_as_buffer = &procedures;
  checked(PyType_Ready(&memory_type));
}

bool is_numpy_array(PyObject* object) {
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(numpy->array_type));
}
bool is_numpy_scalar(PyObject* object) {
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(numpy->scalar_type));
}

const Tensor* tensor_behind(PyObject* memory) {
  return Py_TYPE(memory) == &memory_type ? &reinterpret_cast<MemoryObject*>(memory)->tensor : nullptr;
}

std::optional<DType> numpy_dtype(PyObject* object) {
  return tensor_dtype(attribute(object, numpy->dtype).ptr());
}

std::optional<DType> dtype_from_numpy_descriptor(PyObject* object) {
  const auto dtype = py::reinterpret_steal<py::object>(PyObject_CallOneArg(numpy->dtype_type, object));
  if (dtype) return tensor_dtype(dtype.ptr());
  PyErr_Clear();
  return std::nullopt;
}

py::object as_numpy(PyObject* value) {
  if (is_numpy_array(value)) return py::reinterpret_borrow<py::object>(value);
  return checked(PyObject_CallOneArg(numpy->as_array, value));
}

Tensor tensor_from_numpy(PyObject* object, std::optional<DType> wanted, const Where& where) {
  const py::object array = as_numpy(object);
  const py::object descriptor = attribute(array.ptr(), numpy->dtype);
  if (const auto native = native_dtype(descriptor.ptr()); native && native == wanted.value_or(*native)) {
    if (const Buffer view(array.ptr());
        view && view->ndim <= max_rank && PyBuffer_IsContiguous(&*view, 'C') && is_aligned(*view, *native)) {
      static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));
      const Shape shape(std::span(reinterpret_cast<const std::int64_t*>(view->shape),
                                  static_cast<std::size_t>(view->ndim)));
      if (view->readonly && is_immutable(array.ptr())) return borrow(array.ptr(), *view, *native, shape);
      Tensor tensor = Tensor::allocate(*native, shape);
      if (view->len > 0)
        std::memcpy(const_cast<std::byte*>(tensor.raw()), view->buf, static_cast<std::size_t>(view->len));
      return tensor;
    }
  }
  const Shape shape = extents_of(array.ptr(), where);
  const auto own = tensor_dtype(descriptor.ptr());
  if (!wanted && !own) refuse(where, descriptor.ptr(), wanted);
  const DType dtype = wanted.value_or(own.value_or(DType::float32));
  const Kind kind = kind_of(descriptor.ptr());
  if (own != dtype && !is_compatible(dtype, kind.letter)) refuse(where, descriptor.ptr(), dtype);
  if (is_integer(dtype)) check_integer_range(where, array.ptr(), kind, dtype);
  if (dtype == DType::string) return strings_from(array.ptr(), shape, where);
  if (dtype == DType::bfloat16) return narrowed(tensor_from_numpy(object, DType::float64, where), dtype);
  Tensor tensor = Tensor::allocate(dtype, shape);
  py::handle(numpy->copy_to)(array_on(tensor, true), array, py::handle(numpy->unsafe));
  return tensor;
}

PyObject* numpy_view(const Tensor& tensor) {
  if (!tensor.on_cpu()) return numpy_view(tensor.on_host());
  if (tensor.dtype() == DType::bfloat16) return numpy_view(widened(tensor));
  if (tensor.dtype() == DType::string) return array_of_strings(tensor).release().ptr();
  return array_on(tensor, false).release().ptr();
}

PyObject* numpy_copy(const Tensor& tensor) {
  if (!tensor.on_cpu()) return numpy_copy(tensor.on_host());
  if (tensor.dtype() == DType::bfloat16) return numpy_copy(widened(tensor));
  if (tensor.dtype() == DType::string)
    return (tensor.rank() == 0 ? bytes_of(string_of(tensor)) : array_of_strings(tensor)).release().ptr();
  if (tensor.rank() == 0) return scalar_of(tensor).release().ptr();
  return copied_array(tensor).release().ptr();
}

}  // namespace tapedeck::python
