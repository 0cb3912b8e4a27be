#include "engine/python/number_policy.h"

#include "engine/ops/number_policy.h"
#include "engine/python/tensor_object.h"

namespace tapedeck::python {

void check_numbers(const OpDef& op, PyObject* const* values, std::span<const Tensor> inputs) {
  if (gpu_count() == 0) [[likely]]
    return;
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

}  // namespace tapedeck::python
