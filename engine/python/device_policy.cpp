#include "engine/python/device_policy.h"

#include <string_view>

#include "engine/ops/core/device_policy.h"
#include "engine/ops/core/placement.h"
#include "engine/python/tensor/tensor_object.h"

namespace tapedeck::python {

namespace {

bool is_asked() {
  return gpu_count() > 0 && copy_policy() != CopyPolicy::silent;
}

/// The module of the Python code that calls.
std::string_view caller() {
  PyObject* globals = PyEval_GetGlobals();
  PyObject* name = globals ? PyDict_GetItemString(globals, "__name__") : nullptr;
  const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  return text ? text : std::string_view();
}

constexpr std::string_view package = "tapedeck.";

}  // namespace

void check_numbers(const OpDef& op, PyObject* const* values, std::span<const Tensor> inputs) {
  if (!is_asked()) [[likely]]
    return;
  // Where the package makes a tensor of a number, a program would write the number.
  if (caller().starts_with(package)) return;
  std::size_t place = 0;
  const auto look_at = [&](PyObject* value) {
    if (is_tensor_like(value)) detail::check_number(op, inputs, place);
    ++place;
  };
  for (std::size_t i = 0; i < op.inputs.size(); ++i)
    if (!op.inputs[i].variadic)
      look_at(values[i]);
    else if (PyList_Check(values[i]) || PyTuple_Check(values[i]))
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(values[i]); ++k)
        look_at(PySequence_Fast_GET_ITEM(values[i], k));
}

void check_assigned(const char* action, PyObject* value, const Tensor& tensor, Device device) {
  if (!is_asked() || !is_tensor_like(value)) return;
  if (has_partial_support(tensor.dtype())) return;  // it stays on the CPU
  // What layers and optimisers keep is theirs; tf.assign and Variable.load hand a program's value on.
  const std::string_view module = caller();
  if (module.starts_with(package) && module != "tapedeck._variables.variables") return;
  detail::check_assigned(action, tensor, device);
}

}  // namespace tapedeck::python
