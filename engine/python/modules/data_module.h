// Data sets, record files and image codecs for the Python package, which gives them TensorFlow's shape.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

void bind_data(py::module_& module);
void bind_data_files(py::module_& module);  ///< data_files.cpp

}  // namespace tapedeck::python
