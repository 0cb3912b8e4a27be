#include "engine/python/tensor/open_shape.h"

#include "engine/python/errors.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"

namespace tapedeck::python {

std::optional<OpenShape> open_shape_of(const Tensor& value, PyObject* shape) {
  if (shape == Py_None) return std::nullopt;
  const py::object own = checked(shape_object(value.shape()));
  if (!py::cast<bool>(own.attr("is_compatible_with")(py::handle(shape))))
    fail<InvalidArgumentError>("Variable: initial_value has shape ", to_string(value.shape()), ", shape is ",
                               short_repr(shape));
  const py::object given = py::type::of(own)(py::handle(shape));  // a TensorShape
  OpenShape open;
  if (given.attr("rank").is_none()) return open;
  open.extents.emplace();
  bool may_change = false;
  for (const py::handle extent : given) {
    may_change = may_change || extent.is_none();
    open.extents->push_back(extent.is_none() ? OpenShape::any : py::cast<std::int64_t>(extent));
  }
  return may_change ? std::optional(std::move(open)) : std::nullopt;
}

py::object declared_shape(const Variable& variable) {
  const py::object now = checked(shape_object(variable.shape()));
  const auto& open = variable.open_shape();
  if (!open) return now;
  const py::type shape = py::type::of(now);
  if (!open->extents) return shape(py::none());
  py::list extents;
  for (const std::int64_t extent : *open->extents)
    extents.append(extent == OpenShape::any ? py::object(py::none()) : py::object(py::int_(extent)));
  return shape(extents);
}

}  // namespace tapedeck::python
