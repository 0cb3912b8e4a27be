// Arrays of tensors that graphs carry, for _graph/tensor_array.py.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

void bind_graph_arrays(py::module_& module);

}  // namespace tapedeck::python
