#include "engine/python/tensor/convert.h"

#include <array>

#include "engine/ops/core/floating.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/core/run_op.h"
#include "engine/python/arguments.h"
#include "engine/python/device_policy.h"
#include "engine/python/errors.h"
#include "engine/python/recursion_guard.h"
#include "engine/python/tensor/list_values.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tensor/device_memory.h"

namespace tapedeck::python {

std::string Where::prefix() const {
  std::string text;
  for (const char* part : {op, argument})
    if (part) text += std::string(part) + ": ";
  return text;
}

Guess merge(const Guess& a, const Guess& b) {
  if (a.kind == ValueKind::unsupported || b.kind == ValueKind::unsupported) return {};
  if (a.kind == ValueKind::integer && b.kind == ValueKind::integer) return a.dtype ? a : b;
  // Arrays and tensors of the same kind: the first one decides.
  return b.kind > a.kind ? b : a;
}

std::optional<DType> default_dtype(const Guess& guess) {
  switch (guess.kind) {
    case ValueKind::boolean:
      return DType::bool_;
    case ValueKind::integer:
      return guess.dtype.value_or(DType::int32);
    case ValueKind::real:
    case ValueKind::empty:
      return DType::float32;
    case ValueKind::complex:
      return DType::complex128;
    case ValueKind::text:
      return DType::string;
    default:
      return guess.dtype;
  }
}

namespace {

// As in TensorFlow, an integer that does not fit in int32 makes an int64 tensor.
Guess guess_of_integer(PyObject* value) {
  int overflow = 0;
  const std::int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
  const bool fits = overflow == 0 && number == static_cast<std::int32_t>(number);
  return {ValueKind::integer, fits ? std::nullopt : std::optional(DType::int64)};
}

/// An IndexedSlices, which becomes the whole tensor by ops.
bool stands_for_tensor(PyObject* value) {
  return PyObject_HasAttrString(value, "_whole_tensor") != 0;
}

}  // namespace

Guess guess_of(PyObject* value) {
  if (is_tensor(value)) return {ValueKind::tensor, tensor_of(value).dtype()};
  if (PyFloat_CheckExact(value)) return {ValueKind::real, {}};
  if (PyBool_Check(value)) return {ValueKind::boolean, {}};
  if (PyLong_Check(value)) return guess_of_integer(value);
  if (is_variable(value)) return {ValueKind::tensor, variable_of(value).dtype()};
  if (is_numpy_array(value) || is_numpy_scalar(value)) return {ValueKind::array, numpy_dtype(value)};
  if (PyFloat_Check(value)) return {ValueKind::real, {}};
  if (PyList_Check(value) || PyTuple_Check(value)) {
    const RecursionGuard guard;
    const auto held = py::reinterpret_borrow<py::object>(value);
    Guess guess{ValueKind::empty, {}};
    // An __array__ may change the lists that contain it: here, and wherever lists are read.
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value) && guess.kind != ValueKind::unsupported; ++i)
      guess = merge(guess, guess_of(PySequence_Fast_GET_ITEM(value, i)));
    return guess;
  }
  if (PyUnicode_Check(value) || PyBytes_Check(value)) return {ValueKind::text, {}};
  if (PyComplex_Check(value)) return {ValueKind::complex, {}};
  if (PyType_Check(value)) return {};
  const auto held = py::reinterpret_borrow<py::object>(value);
  if (stands_for_tensor(value)) {
    const py::object dtype = checked(PyObject_GetAttrString(value, "dtype"));
    return {ValueKind::tensor, to_dtype(dtype.ptr(), {"convert_to_tensor", "value"})};
  }
  if (PyObject_HasAttrString(value, "__array__"))
    return {ValueKind::array, numpy_dtype(as_numpy(value).ptr())};
  return {};
}

void announce_leaf(const Tensor& tensor) {
  if (Observer* observer = current_observer()) observer->leaf(tensor, {});
}

namespace {

enum class Numbers : std::uint8_t { stay_on_host, are_placed };

Tensor on_default_device(Tensor tensor, Numbers numbers) {
  if (gpu_count() == 0 || has_partial_support(tensor.dtype())) [[likely]]
    return tensor;
  const Device device = default_device();
  if (device == tensor.device() || (tensor.rank() == 0 && numbers == Numbers::stay_on_host)) return tensor;
  Tensor placed = Tensor::allocate(tensor.dtype(), tensor.shape(), device);
  if (tensor.bytes() > 0)
    device_memory(device).write(tensor.raw(), placed.writable_data<std::byte>(), tensor.bytes());
  return placed;
}

/// A value that came from Python.
Tensor new_leaf(Tensor tensor, Numbers numbers) {
  tensor = on_default_device(std::move(tensor), numbers);
  announce_leaf(tensor);
  return tensor;
}

void append_items(PyObject* list, std::optional<DType> wanted, const Where& where, Tensors& tensors) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
    const auto item = py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(list, i));
    tensors.push_back(to_tensor(item.ptr(), wanted, where));
  }
}

// TensorFlow packs a list of tensors with one op, so that gradients reach them.
Tensor stack_list(PyObject* list, std::optional<DType> wanted, const Where& where) {
  const RecursionGuard guard;
  static const OpDef& stack = required_op("stack");
  Tensors parts;
  append_items(list, wanted, where, parts);
  return run_op1(stack, parts, named_attributes(stack, {{"axis", std::int64_t{0}}}));
}

[[noreturn]] void refuse_value(PyObject* value, const Where& where) {
  if (value == Py_None) refuse<TypeMismatchError>(where, "None is not a tensor");
  refuse<TypeMismatchError>(where, "cannot convert ", short_repr(value), " of type ", Py_TYPE(value)->tp_name,
                            " to a tensor");
}

void check_tensor_dtype(const Tensor& tensor, std::optional<DType> wanted, const Where& where) {
  if (wanted && tensor.dtype() != *wanted && !interchangeable(tensor.dtype(), *wanted))
    refuse<TypeMismatchError>(where, "a tensor of dtype ", dtype_name(tensor.dtype()), ", but ",
                              dtype_name(*wanted), " is wanted; use tf.cast");
}

}  // namespace

namespace {

Tensor converted(PyObject* value, std::optional<DType> wanted, const Where& where, std::optional<Guess> known,
                 Numbers numbers) {
  if (is_tensor_like(value)) {
    Tensor tensor = tensor_like(value);
    check_tensor_dtype(tensor, wanted, where);
    return tensor;
  }
  const Guess guess = known ? *known : guess_of(value);
  switch (guess.kind) {
    case ValueKind::unsupported: {
      const py::object lists = with_lists(value);
      if (lists.ptr() != value) return converted(lists.ptr(), wanted, where, {}, numbers);
      if (const py::object culprit = unsupported_element(value)) refuse_value(culprit.ptr(), where);
      refuse_value(value, where);
    }
    case ValueKind::tensor:
      if (!PyList_Check(value) && !PyTuple_Check(value)) {
        const py::object whole = checked(PyObject_CallMethod(value, "_whole_tensor", nullptr));
        return to_tensor(whole.ptr(), wanted, where);
      }
      return stack_list(value, wanted ? wanted : guess.dtype, where);
    case ValueKind::array: {
      const py::object lists = with_lists(value);  // NumPy reads lists of arrays, not of what becomes one
      if (!wanted) wanted = shared_real_dtype(lists.ptr());
      return new_leaf(tensor_from_numpy(lists.ptr(), wanted, where), numbers);
    }
    default:
      return new_leaf(tensor_from_values(value, wanted ? *wanted : *default_dtype(guess), where), numbers);
  }
}

}  // namespace

Tensor to_tensor(PyObject* value, std::optional<DType> wanted, const Where& where,
                 std::optional<Guess> guess) {
  return converted(value, wanted, where, guess, Numbers::stay_on_host);
}

Tensor to_placed_tensor(PyObject* value, std::optional<DType> wanted, const Where& where) {
  return converted(value, wanted, where, {}, Numbers::are_placed);
}

namespace {

// The arguments that one call's dtype group has to agree on.
struct Groups {
  struct Entry {
    char name;
    Guess guess;
    std::optional<DType> preferred;
  };
  std::array<Entry, 8> entries;
  std::size_t count = 0;

  Entry& entry(char name) {
    for (std::size_t i = 0; i < count; ++i)
      if (entries[i].name == name) return entries[i];
    entries[count] = {name, {ValueKind::empty, {}}, {}};
    return entries[count++];
  }
};

std::optional<DType> group_dtype(const Groups::Entry& entry) {
  if (entry.guess.kind <= ValueKind::real && entry.preferred) return entry.preferred;
  if (entry.guess.kind == ValueKind::empty || entry.guess.kind == ValueKind::unsupported) return std::nullopt;
  return default_dtype(entry.guess);
}

void append_list(PyObject* value, std::optional<DType> dtype, const Where& where, Tensors& inputs) {
  const py::object items = py::reinterpret_steal<py::object>(PySequence_Fast(value, ""));
  if (!items) {
    PyErr_Clear();
    refuse<TypeMismatchError>(where, short_repr(value), " is not a list of tensors");
  }
  append_items(items.ptr(), dtype, where, inputs);
}

bool is_variadic_sequence(const InputSpec& spec, PyObject* value) {
  return spec.variadic &&
         (PyList_Check(value) || PyTuple_Check(value) || is_tensor_like(value) || is_numpy_array(value));
}

}  // namespace

namespace {

/// Where the call's tensors are, those in its lists too: on the first GPU, else on the CPU. Nothing where
/// there are none, or symbolic ones alone: these are on no device.
std::optional<Device> device_of_tensors(PyObject* const* values, std::size_t count, bool in_lists = true) {
  std::optional<Device> found;
  for (std::size_t i = 0; i < count; ++i) {
    std::optional<Device> device;
    if (is_tensor(values[i])) {
      if (!tensor_of(values[i]).is_symbolic()) device = tensor_of(values[i]).device();
    } else if (is_variable(values[i])) {
      device = variable_of(values[i]).device();
    } else if (in_lists && (PyList_Check(values[i]) || PyTuple_Check(values[i]))) {
      device = device_of_tensors(PySequence_Fast_ITEMS(values[i]),
                                 static_cast<std::size_t>(PySequence_Fast_GET_SIZE(values[i])), false);
    }
    if (device && device->kind == DeviceKind::gpu) return device;
    if (device) found = device;
  }
  return found;
}

/// An argument before this one that is the same object and becomes the same dtype: multiply(x, x) of a number
/// has one input twice, not two that happen to be equal.
std::optional<std::size_t> earlier_twin(const OpDef& op, PyObject* const* values, std::size_t place) {
  for (std::size_t i = 0; i < place; ++i)
    if (values[i] == values[place] && !op.inputs[i].variadic && op.inputs[i].group != '\0' &&
        op.inputs[i].group == op.inputs[place].group)
      return i;
  return std::nullopt;
}

void append_inputs(const OpDef& op, PyObject* const* values, Tensors& inputs) {
  const std::size_t count = op.inputs.size();
  bool all_tensors = true;
  for (std::size_t i = 0; i < count; ++i)
    all_tensors = all_tensors && is_tensor_like(values[i]) && !op.inputs[i].variadic;
  if (all_tensors) {
    for (std::size_t i = 0; i < count; ++i) inputs.push_back(tensor_like(values[i]));
    return;
  }

  std::optional<DefaultDeviceScope> beside;
  if (gpu_count() > 0) [[unlikely]]
    if (const auto device = device_of_tensors(values, count)) beside.emplace(*device);

  std::array<Guess, 16> guesses;
  std::array<py::object, 16> lists;  // replacements of values that are sequences of other kinds
  std::array<PyObject*, 16> read{};
  Groups groups;
  const std::size_t begin = inputs.size();
  for (std::size_t i = 0; i < count; ++i) {
    const InputSpec& spec = op.inputs[i];
    read[i] = values[i];
    guesses[i] = guess_of(values[i]);
    if (guesses[i].kind == ValueKind::unsupported) {
      lists[i] = with_lists(values[i]);
      read[i] = lists[i].ptr();
      guesses[i] = guess_of(read[i]);
    }
    if (spec.group == '\0' || guesses[i].kind == ValueKind::unsupported) continue;
    Groups::Entry& entry = groups.entry(spec.group);
    entry.guess = merge(entry.guess, guesses[i]);
    if (!entry.preferred) entry.preferred = spec.preferred;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const InputSpec& spec = op.inputs[i];
    const Where where{op.name.c_str(), spec.name.c_str()};
    std::optional<DType> dtype;
    if (spec.group != '\0')
      dtype = group_dtype(groups.entry(spec.group));
    else if (guesses[i].kind <= ValueKind::real)
      dtype = spec.preferred;
    if (is_variadic_sequence(spec, read[i])) {
      append_list(read[i], dtype, where, inputs);
    } else if (is_tensor_like(read[i])) {
      inputs.push_back(tensor_like(read[i]));  // the shape rule words a mismatch of two tensors
    } else if (const auto twin = earlier_twin(op, values, i)) {
      inputs.push_back(inputs[begin + *twin]);
    } else {
      inputs.push_back(to_tensor(read[i], dtype, where, guesses[i]));
    }
  }
}

}  // namespace

void convert_inputs(const OpDef& op, PyObject* const* values, Tensors& inputs) {
  append_inputs(op, values, inputs);
  check_numbers(op, values, inputs);
}

}  // namespace tapedeck::python
