// What optimisers call: one step of many variables.
#include "engine/python/modules/update_module.h"

#include "engine/ops/core/placement.h"
#include "engine/optim/apply.h"
#include "engine/python/arguments.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"

namespace tapedeck::python {
namespace {

/// The variable and its slots.
std::vector<Variable> step_targets_of(const py::handle tuple) {
  std::vector<Variable> targets;
  for (const py::handle target : py::reinterpret_borrow<py::sequence>(tuple)) {
    if (!is_variable(target.ptr()))
      fail<TypeMismatchError>("apply_gradients: ", short_repr(target.ptr()), " is not a variable");
    targets.push_back(variable_of(target.ptr()));
  }
  return targets;
}

/// A gradient; or a pair of rows and their numbers.
void append_gradient(const char* op, const py::handle gradient, DType dtype, Tensors& inputs) {
  if (!py::isinstance<py::tuple>(gradient))
    return inputs.push_back(to_tensor(gradient.ptr(), dtype, {op, "gradient"}));
  const auto pair = py::reinterpret_borrow<py::tuple>(gradient);
  inputs.push_back(to_tensor(pair[0].ptr(), dtype, {op, "gradient"}));
  inputs.push_back(to_tensor(pair[1].ptr(), {}, {op, "indices"}));
}

void apply_updates(const char* name, const py::sequence& targets, const py::sequence& gradients,
                   const py::sequence& numbers, const py::sequence& attributes) {
  const OpDef& op = required_op(name);
  if (gradients.size() != targets.size())
    fail<InvalidArgumentError>(name, ": ", gradients.size(), " gradients for ", targets.size(), " variables");
  Tensors scalars;
  for (const py::handle number : numbers)
    scalars.push_back(to_tensor(number.ptr(),
                                is_tensor_like(number.ptr()) ? std::nullopt : std::optional(DType::float64),
                                {name, "numbers"}));
  std::vector<Attribute> given;
  for (const py::handle attribute : attributes)
    given.push_back(to_attribute(op.attributes.at(given.size()), attribute.ptr(), {name, "attributes"}));
  const Attributes shared = given.empty() ? Attributes() : Attributes(std::move(given));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const py::object target = targets[i];
    const std::vector<Variable> variables = step_targets_of(target);
    const DefaultDeviceScope beside(variables.at(0).device());
    Tensors others;
    append_gradient(name, py::object(gradients[i]), variables.at(0).dtype(), others);
    for (const Tensor& scalar : scalars) others.push_back(scalar);
    apply_update(op, variables, others, shared);
  }
}

}  // namespace

void bind_updates(py::module_& module) {
  module.def(
      "_apply_updates", &apply_updates, py::arg("op"), py::arg("targets"), py::arg("gradients"),
      py::arg("numbers"), py::arg("attributes") = py::tuple(),
      "One run of an update op for each target, a variable with its slots: targets become the results. "
      "gradients: a tensor for each, or (rows, indices) for a sparse op; numbers: those of the op, for all.");
}

}  // namespace tapedeck::python
