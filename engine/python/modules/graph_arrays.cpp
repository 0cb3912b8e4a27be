#include "engine/python/modules/graph_arrays.h"

#include <pybind11/stl.h>

#include "engine/graph/arrays/arrays.h"
#include "engine/python/errors.h"
#include "engine/python/modules/tape_object.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/symbolic.h"
#include "engine/python/tensor/tensor_object.h"

namespace tapedeck::python {
namespace {

const Tensor& array_argument(const py::handle tensor) {
  return required_tensor(tensor.ptr(), "TensorArray");
}

/// A dtype, and what is known of a shape.
graph::ValueSpec known_of(const py::object& dtype, const py::object& shape) {
  const auto found = to_dtype(dtype.ptr(), {"TensorArray", "dtype"});
  if (!found) fail<TypeMismatchError>("TensorArray: dtype is None");
  const auto [sample, unknown] = shape_given(shape.ptr());
  return {*found, sample, unknown};
}

py::object wrapped(const Tensor& tensor) {
  return checked(wrap(tensor));
}

py::object array_object(const py::object& dtype, const py::object& shape, bool infers, bool grows,
                        const py::handle count, const std::vector<std::int64_t>& numbers,
                        const py::sequence& tensors, const std::vector<std::int64_t>& cleared) {
  Tensors written;
  for (const py::handle tensor : tensors) written.push_back(array_argument(tensor));
  return wrapped(graph::array_of({known_of(dtype, shape), infers, grows}, array_argument(count), numbers,
                                 written, cleared));
}

/// (tensors, None where there is none; numbers of those that are cleared; shape)
py::tuple parts_of(const py::handle carrier) {
  const graph::TensorArray& array = graph::array_carried_by(array_argument(carrier));
  py::list tensors, cleared;
  for (std::int64_t i = 0; i < array.elements.size(); ++i) {
    const graph::ElementTree::Element element = array.elements[i];
    tensors.append(element.tensor ? wrapped(element.tensor) : py::none());
    if (element.cleared) cleared.append(i);
  }
  const graph::ValueSpec& known = array.kind.element;
  return py::make_tuple(tensors, cleared, checked(open_shape_object(known.shape, known.unknown)));
}

}  // namespace

void bind_graph_arrays(py::module_& module) {
  module.def("array_of", &array_object, py::arg("dtype"), py::arg("shape"), py::arg("infers"),
             py::arg("grows"), py::arg("count"), py::arg("numbers"), py::arg("tensors"), py::arg("cleared"),
             "A scalar that carries an array with so many elements, of which those of these numbers are the "
             "tensors.");
  module.def("array_parts", &parts_of, py::arg("array"),
             "(its tensors, None where there is none; the numbers of cleared ones; the elements' shape)");
  module.def(
      "array_write",
      [](py::handle array, py::handle index, py::handle value) {
        return wrapped(
            graph::array_write(array_argument(array), array_argument(index), array_argument(value)));
      },
      py::arg("array"), py::arg("index"), py::arg("value"));
  module.def(
      "array_append",
      [](py::handle array, py::handle value) {
        return wrapped(graph::array_append(array_argument(array), array_argument(value)));
      },
      py::arg("array"), py::arg("value"));
  module.def(
      "array_read",
      [](py::handle array, py::handle index, const py::object& dtype, const py::object& shape) {
        return wrapped(
            graph::array_read(array_argument(array), array_argument(index), known_of(dtype, shape)));
      },
      py::arg("array"), py::arg("index"), py::arg("dtype"), py::arg("shape"));
  module.def(
      "array_stack",
      [](py::handle array, std::int64_t axis, const py::object& dtype, const py::object& shape) {
        return wrapped(graph::array_stack(array_argument(array), axis, known_of(dtype, shape)));
      },
      py::arg("array"), py::arg("axis"), py::arg("dtype"), py::arg("shape"));
  module.def(
      "array_gather",
      [](py::handle array, py::handle indices, const py::object& dtype, const py::object& shape) {
        return wrapped(
            graph::array_gather(array_argument(array), array_argument(indices), known_of(dtype, shape)));
      },
      py::arg("array"), py::arg("indices"), py::arg("dtype"), py::arg("shape"));
  module.def(
      "array_concat",
      [](py::handle array, std::int64_t axis, const py::object& dtype, const py::object& shape) {
        return wrapped(graph::array_concat(array_argument(array), axis, known_of(dtype, shape)));
      },
      py::arg("array"), py::arg("axis"), py::arg("dtype"), py::arg("shape"));
  module.def(
      "array_size", [](py::handle array) { return wrapped(graph::array_size(array_argument(array))); },
      py::arg("array"));
  module.def(
      "array_unstack",
      [](py::handle array, py::handle value) {
        return wrapped(graph::array_unstack(array_argument(array), array_argument(value)));
      },
      py::arg("array"), py::arg("value"));
  module.def(
      "array_scatter",
      [](py::handle array, py::handle indices, py::handle value) {
        return wrapped(
            graph::array_scatter(array_argument(array), array_argument(indices), array_argument(value)));
      },
      py::arg("array"), py::arg("indices"), py::arg("value"));
  module.def(
      "array_split",
      [](py::handle array, py::handle value, py::handle lengths) {
        return wrapped(
            graph::array_split(array_argument(array), array_argument(value), array_argument(lengths)));
      },
      py::arg("array"), py::arg("value"), py::arg("lengths"));
}

}  // namespace tapedeck::python
