// Python values to tensors.
#pragma once

#include <optional>
#include <string>

#include "engine/ops/core/op.h"
#include "engine/python/python.h"
#include "engine/tensor/error.h"

namespace tapedeck::python {

/// For messages: "add: y: ".
struct Where {
  const char* op = nullptr;
  const char* argument = nullptr;
  std::string prefix() const;
};
/// fail for the argument named there.
template <class E, class... Parts>
[[noreturn]] void refuse(const Where& where, const Parts&... parts) {
  std::ostringstream text;
  text << where.prefix();
  (text << ... << parts);
  E error(text.str());
  if (where.op) error.op_name = where.op;
  if (where.argument) error.argument = where.argument;
  throw error;
}

/// What a Python value is before it becomes a tensor. The later ones decide over the earlier ones where
/// several share a dtype.
enum class ValueKind : std::uint8_t {
  unsupported,
  empty,
  boolean,
  integer,
  real,
  complex,
  text,
  array,
  tensor
};
struct Guess {
  ValueKind kind = ValueKind::unsupported;
  std::optional<DType> dtype;  ///< tensor, array: its dtype; nullopt for an array that no tensor dtype fits
};
Guess guess_of(PyObject* value);
/// What both together are: elements of one list, or arguments of one dtype group.
Guess merge(const Guess& a, const Guess& b);
/// The dtype that Python values alone get: float32 for floats, int32 for ints, complex128 and
/// string; an array's or tensor's own.
std::optional<DType> default_dtype(const Guess& guess);

/// A tensor from a tensor, variable, number, (nested) list or tuple of any of these, NumPy array or scalar,
/// or whatever has `__array__`. `wanted`: the dtype that a value gets; a tensor keeps its own. Read-only
/// NumPy arrays share their memory. A new tensor lies on default_device(); but one number stays on the host,
/// as do dtypes that GPUs do not compute with. Tells the observer of the new leaf. Throws TypeMismatchError
/// or InvalidArgumentError.
Tensor to_tensor(PyObject* value, std::optional<DType> wanted, const Where& where,
                 std::optional<Guess> guess = {});

/// The same for tf.constant and what else is a value of its own: a number becomes a tensor on the default
/// device, too.
Tensor to_placed_tensor(PyObject* value, std::optional<DType> wanted, const Where& where);

/// The arguments of one op call, one PyObject per InputSpec, as tensors: dtype groups decided together.
/// New tensors lie beside those that there are.
void convert_inputs(const OpDef& op, PyObject* const* values, Tensors& inputs);

/// Tells the observer of a tensor that came from Python.
void announce_leaf(const Tensor& tensor);

// numpy_bridge.cpp, the one file that deals with NumPy:
void import_numpy();
bool is_numpy_array(PyObject* object);
bool is_numpy_scalar(PyObject* object);
std::optional<DType> numpy_dtype(PyObject* array_or_scalar);
Tensor tensor_from_numpy(PyObject* array_or_scalar, std::optional<DType> wanted, const Where& where);
/// `numpy.asarray(value)`.
py::object as_numpy(PyObject* value);
/// A read-only array on the tensor's memory; of a tensor on a GPU, on a copy.
PyObject* numpy_view(const Tensor& tensor);
/// An array of its own that may be written to; a NumPy scalar for a scalar.
PyObject* numpy_copy(const Tensor& tensor);
/// The tensor whose memory that is, where it is what an array on a tensor's memory has as its base.
const Tensor* tensor_behind(PyObject* memory);
/// The DType of a NumPy dtype object.
std::optional<DType> dtype_from_numpy_descriptor(PyObject* object);

}  // namespace tapedeck::python
