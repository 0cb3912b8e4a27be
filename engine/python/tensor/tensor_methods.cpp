// Methods and properties that tensors and variables share.
#include "engine/ops/core/placement.h"
#include "engine/python/errors.h"
#include "engine/python/modules/devices_module.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/symbolic.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tensor/narrow.h"

namespace tapedeck::python {

namespace {

Tensor value_of(PyObject* self) {
  return is_tensor(self) ? tensor_of(self) : variable_of(self).peek();
}

/// The same, for those who read the elements.
Tensor elements_of(PyObject* self, const char* reader) {
  if (is_tensor(self)) return readable(tensor_of(self), reader);
  check_readable(variable_of(self), reader);
  return variable_of(self).peek();
}

// ---- printing ----

std::string shape_and_dtype(const Tensor& tensor) {
  return "shape=" + to_string(tensor.shape()) + ", dtype=" + std::string(dtype_name(tensor.dtype()));
}

// ---- methods ----

PyObject* numpy(PyObject* self, PyObject*) {
  return guarded([&] { return numpy_copy(leaving(elements_of(self, "numpy()"))); });
}

PyObject* array(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"dtype", "copy", nullptr};
  PyObject *dtype = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO:__array__", const_cast<char**>(names), &dtype, &copy))
    return nullptr;
  return guarded([&]() -> PyObject* {
    py::object view = checked(numpy_view(leaving(elements_of(self, "a NumPy array"))));
    if (dtype != Py_None) {
      const py::object cast = view.attr("astype")(py::handle(dtype), py::arg("copy") = false);
      view = cast;
    }
    return copy == Py_True ? view.attr("copy")().release().ptr() : view.release().ptr();
  });
}

PyObject* cpu(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(ops::copy_to(tensor_like(self), Device{})); });
}

PyObject* gpu(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"gpu_index", nullptr};
  int index = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|i:gpu", const_cast<char**>(names), &index))
    return nullptr;
  return guarded([&] {
    if (index < 0 || index > 255) fail<NotFoundError>("gpu(): there is no GPU ", index);
    const Device device{DeviceKind::gpu, static_cast<std::uint8_t>(index)};
    if (index >= gpu_count()) refuse_device("gpu()", device);
    return wrap(ops::copy_to(tensor_like(self), device));
  });
}

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] {
    const Tensor value = value_of(self);
    return open_shape_object(value.shape(), unknown_of(value));
  });
}
PyObject* get_shape_method(PyObject* self, PyObject*) {
  return get_shape(self, nullptr);
}

PyObject* reference(PyObject* self, PyObject*) {
  return guarded([&] {
    static const auto* const type =  // never freed, as the interpreter may be gone before this library
        new py::object(py::module_::import("tapedeck._core.references").attr("Reference"));
    return PyObject_CallOneArg(type->ptr(), self);
  });
}

// An eager tensor knows its shape: this only checks.
PyObject* set_shape(PyObject* self, PyObject* shape) {
  return guarded([&] {
    if (is_tensor(self) && unknown_of(tensor_of(self))) {
      narrow_symbolic(tensor_of(self), shape);
      Py_RETURN_NONE;
    }
    if (shape != Py_None)
      checked(get_shape(self, nullptr)).attr("assert_is_compatible_with")(py::handle(shape));
    Py_RETURN_NONE;
  });
}

PyObject* format(PyObject* self, PyObject* specification) {
  return guarded([&] {
    // As TensorFlow writes a tensor of a graph where no format is asked for.
    if (is_tensor(self) && tensor_of(self).is_symbolic() && PyUnicode_Check(specification) &&
        PyUnicode_GET_LENGTH(specification) == 0)
      return PyObject_Str(self);
    const py::object value = checked(numpy_copy(elements_of(self, "format()")));
    return PyObject_Format(value.ptr(), specification);
  });
}

PyObject* same(PyObject* self, PyObject*) {
  Py_INCREF(self);
  return self;
}

PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    const py::object constant = py::module_::import("tapedeck").attr("constant");
    const Tensor tensor = elements_of(self, "pickle");
    const py::object values = checked(numpy_copy(tensor));
    // NumPy has no bfloat16, so the dtype goes along.
    return py::make_tuple(constant, py::make_tuple(values, std::string(dtype_name(tensor.dtype()))))
        .release()
        .ptr();
  });
}

// ---- properties ----

PyObject* get_dtype(PyObject* self, void*) {
  return dtype_object(value_of(self).dtype());
}
/// TensorFlow's name of a device of a program that runs in one process:
/// "/job:localhost/replica:0/task:0/device:CPU:0".
std::string full_name(Device device) {
  if (device.kind == DeviceKind::symbolic) return "";
  return std::string("/job:localhost/replica:0/task:0/device:") +
         (device.kind == DeviceKind::cpu ? "CPU:" : "GPU:") + std::to_string(device.index);
}

PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return PyUnicode_FromString(full_name(value_of(self).device()).c_str()); });
}
PyObject* get_place(PyObject* self, void*) {
  return guarded([&] { return PyUnicode_FromString(to_string(value_of(self).device()).c_str()); });
}
PyObject* get_ndim(PyObject* self, void*) {
  const Tensor value = value_of(self);
  if (unknown_of(value).rank) Py_RETURN_NONE;
  return PyLong_FromLong(value.rank());
}
PyObject* get_id(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(value_of(self).id());
}

template <class Function>
PyCFunction with_keywords(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace

std::string numpy_text(const Tensor& tensor, bool repr) {
  if (!tensor.on_cpu()) return numpy_text(tensor.on_host(), repr);
  const bool is_bfloat16 = tensor.dtype() == DType::bfloat16;  // NumPy has float32 for it
  const Tensor shown = is_bfloat16 ? printable(widened(tensor), tensor.dtype()) : tensor;
  // A view: of a large tensor NumPy reads the edges only.
  const py::object array = checked(shown.rank() == 0 ? numpy_copy(shown) : numpy_view(shown));
  // The repr of a number is np.float32(1.5) from NumPy 2 on.
  const bool quoted = repr && (shown.rank() > 0 || shown.dtype() == DType::string);
  std::string text =
      py::cast<std::string>(checked(quoted ? PyObject_Repr(array.ptr()) : PyObject_Str(array.ptr())));
  if (const std::size_t at = text.rfind("dtype=float32"); is_bfloat16 && at != std::string::npos)
    text.replace(at, std::string_view("dtype=float32").size(), "dtype=bfloat16");
  return text.find('\n') == std::string::npos ? text : "\n" + text;
}

V1Behavior v1_behavior;

PyObject* tensor_repr(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    if (tensor.is_symbolic()) return PyUnicode_FromString(symbolic_repr(tensor).c_str());
    const std::string id = v1_behavior.repr_with_id ? "id=" + std::to_string(tensor.id()) + ", " : "";
    return PyUnicode_FromString(
        ("<tf.Tensor: " + id + shape_and_dtype(tensor) + ", numpy=" + numpy_text(tensor, true) + ">")
            .c_str());
  });
}

PyObject* tensor_str(PyObject* self) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    if (tensor.is_symbolic()) return PyUnicode_FromString(symbolic_text(tensor).c_str());
    return PyUnicode_FromString(
        ("tf.Tensor(" + numpy_text(tensor, false) + ", " + shape_and_dtype(tensor) + ")").c_str());
  });
}

PyMethodDef tensor_methods[] = {
    {"numpy", numpy, METH_NOARGS,
     "numpy($self, /)\n--\n\nThe values as a NumPy array of its own, which may be written to; a NumPy scalar "
     "for a "
     "scalar.\nnp.asarray(t) shares the memory instead, read only."},
    {"cpu", cpu, METH_NOARGS,
     "cpu($self, /)\n--\n\nThe tensor in the memory of /cpu:0: itself where it is there.\nReturns: Tensor."},
    {"gpu", with_keywords(gpu), METH_VARARGS | METH_KEYWORDS,
     "gpu($self, /, gpu_index=0)\n--\n\nThe tensor in the memory of /gpu:gpu_index. NotFoundError (a "
     "RuntimeError) "
     "where there is no such GPU.\nReturns: Tensor."},
    {"get_shape", get_shape_method, METH_NOARGS,
     "get_shape($self, /)\n--\n\nThe shape, as the property shape.\nReturns: TensorShape."},
    {"set_shape", set_shape, METH_O,
     "set_shape($self, shape, /)\n--\n\nChecks the shape; None in it matches any extent. ValueError for "
     "another one. In a function that is traced, an extent that was not known is from now on; each run "
     "checks "
     "it.\nReturns: None."},
    {"ref", reference, METH_NOARGS,
     "ref($self, /)\n--\n\nA reference, for dicts and sets: equal where it is to the same object. deref() "
     "gives the object."},
    {"experimental_ref", reference, METH_NOARGS,
     "experimental_ref($self, /)\n--\n\nThe older name of ref()."},
    {"__array__", with_keywords(array), METH_VARARGS | METH_KEYWORDS,
     "__array__($self, /, dtype=None, copy=None)\n--\n\nA read-only NumPy array on the tensor's memory; of a "
     "tensor on a GPU, on a copy.\nReturns: np.ndarray."},
    {"__dlpack__", with_keywords(dlpack_capsule), METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nA DLPack "
     "capsule. From max_version (1, 0) on it is on the tensor's memory and says that this is read only; "
     "before, and with copy True, it has memory of its own, which may be written to.\nA GPU's memory is not "
     "given away: with dl_device=(1, 0), the CPU, the capsule is of a copy there.\nBufferError for copy "
     "False where max_version is older or the tensor is on a GPU, and for another dl_device than the CPU."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\nDLPack's device pair: (1, 0) the CPU, (2, n) /gpu:n.\nReturns: "
     "tuple[int, int]."},
    {"__format__", format, METH_O,
     "__format__($self, specification, /)\n--\n\nAs NumPy formats the value.\nReturns: str."},
    {"__copy__", same, METH_NOARGS,
     "__copy__($self, /)\n--\n\nThe tensor itself: it never changes.\nReturns: Tensor."},
    {"__deepcopy__", same, METH_O,
     "__deepcopy__($self, memo, /)\n--\n\nThe tensor itself: it never changes.\nReturns: Tensor."},
    {"__reduce__", reduce, METH_NOARGS, "__reduce__($self, /)\n--\n\nFor pickle."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef tensor_properties[] = {
    {"shape", get_shape, nullptr, "The extents, a TensorShape (a tuple).\nReturns: TensorShape.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type: tf.float32 …\nReturns: DType.", nullptr},
    {"device", get_device, nullptr,
     "TensorFlow's full name of where it is: \"/job:localhost/replica:0/task:0/device:CPU:0\" or "
     "\"…GPU:N\".\n"
     "Returns: str.",
     nullptr},
    {"_place", get_place, nullptr, "The device as records name it: \"/cpu:0\" or \"/gpu:N\".", nullptr},
    {"ndim", get_ndim, nullptr, "Number of axes.\nReturns: int.", nullptr},
    {"_id", get_id, nullptr, "The engine's number of this value, unique in the process.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace tapedeck::python
