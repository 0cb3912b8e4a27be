// What a call of PyTorch's returned, by its schema.
#pragma once

#include "engine/ops/core/foreign.h"
#include "engine/python/torch/torch_library.h"

namespace tapedeck::python::torch {

namespace detail {

template <class Visit>
void visit_result(const Library& torch, const ForeignValue& result, PyObject* value, Visit&& visit) {
  if (!result.is_tensor) return;
  if (!result.is_list) return visit(value && is_tensor(torch, value) ? value : nullptr, result);
  if (!value || (!PyList_Check(value) && !PyTuple_Check(value))) return;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(value, i);
    visit(is_tensor(torch, item) ? item : nullptr, result);
  }
}

}  // namespace detail

/// Calls visit(tensor or nullptr, its place in the schema) for each tensor among the results, in order.
template <class Visit>
void for_each_result(const ForeignOp& op, PyObject* returned, Visit&& visit) {
  const Library& torch = *library();
  if (op.results.size() == 1) return detail::visit_result(torch, op.results[0], returned, visit);
  if (!PyTuple_Check(returned) && !PyList_Check(returned)) return;
  const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(returned));
  for (std::size_t i = 0; i < op.results.size() && i < count; ++i)
    detail::visit_result(torch, op.results[i], PySequence_Fast_GET_ITEM(returned, static_cast<Py_ssize_t>(i)),
                         visit);
}

}  // namespace tapedeck::python::torch
