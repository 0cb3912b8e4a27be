// The buffer protocol: memoryview(tensor), read only, nothing copied.
#include "engine/python/errors.h"
#include "engine/python/tensor/tensor_object.h"

namespace tapedeck::python {

namespace {

struct BufferShape {
  std::array<Py_ssize_t, max_rank> extents{};
  std::array<Py_ssize_t, max_rank> strides{};
};

const char* buffer_format(DType dtype) {
  constexpr const char* formats[] = {"?", "i", "l", "f",     "d",     "b", "h",  "B",
                                     "H", "I", "e", nullptr, nullptr, "L", "Zf", "Zd"};
  return formats[static_cast<std::size_t>(dtype)];
}

bool is_fortran_contiguous(const Tensor& tensor) {
  std::int64_t expected = 1;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    if (tensor.dim(axis) != 1 && tensor.strides()[axis] != expected) return false;
    expected *= tensor.dim(axis);
  }
  return true;
}

const char* why_not(const Tensor& tensor, int flags) {
  if (tensor.is_symbolic())
    return "the tensor belongs to a graph function that is being traced, and has no value yet";
  if (tensor.device().kind != DeviceKind::cpu) return "the tensor is on a GPU; call .cpu() first";
  if (tensor.dtype() == DType::bfloat16) return "buffers have no bfloat16; cast it first";
  if (tensor.dtype() == DType::string) return "buffers have no strings; call .numpy()";
  if (flags & PyBUF_WRITABLE) return "tensors are read only";
  if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !is_fortran_contiguous(tensor))
    return "the tensor is not contiguous in Fortran's order";
  const bool needs_rows =
      (flags & PyBUF_STRIDES) != PyBUF_STRIDES || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
  if (needs_rows && !tensor.contiguous()) return "the tensor is a strided view, not contiguous";
  if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !tensor.contiguous() &&
      !is_fortran_contiguous(tensor))
    return "the tensor is a strided view, not contiguous";
  return nullptr;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Tensor& tensor = tensor_of(self);
  view->obj = nullptr;
  if (const char* reason = why_not(tensor, flags)) {
    PyErr_SetString(PyExc_BufferError, reason);
    return -1;
  }
  leaving(tensor);
  auto* shape = new BufferShape;
  const auto item = static_cast<Py_ssize_t>(item_size(tensor.dtype()));
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    shape->extents[static_cast<std::size_t>(axis)] = tensor.dim(axis);
    shape->strides[static_cast<std::size_t>(axis)] = tensor.strides()[axis] * item;
  }
  view->buf = const_cast<std::byte*>(tensor.raw());
  view->len = static_cast<Py_ssize_t>(tensor.bytes());
  view->itemsize = item;
  view->readonly = 1;
  view->ndim = tensor.rank();
  view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(buffer_format(tensor.dtype())) : nullptr;
  view->shape = (flags & PyBUF_ND) ? shape->extents.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? shape->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = shape;
  Py_INCREF(self);
  view->obj = self;
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) {
  delete static_cast<BufferShape*>(view->internal);
}

}  // namespace

PyBufferProcs tensor_buffer = {get_buffer, release_buffer};

}  // namespace tapedeck::python
