// Python functions as stages of data sets call them: from any thread, taking Python's lock for as long as
// they run.
#pragma once

#include "engine/data/stages.h"
#include "engine/python/python.h"

namespace tapedeck::python {

/// A data set as Python holds it.
struct DatasetHandle {
  data::DatasetPointer dataset;
};

/// A Python exception on its way through stages and threads without Python's lock.
struct PythonFailure : Error {
  /// Takes the exception that is set.
  PythonFailure();
  std::shared_ptr<SharedObject> exception;
};

/// `function` takes a list of leaves (tensors and DatasetHandles) and returns such a list.
data::FunctionPointer data_function(const py::object& function);
/// `starter()` returns an iterator of such lists.
data::GeneratorStarter data_generator(const py::object& starter);

/// The leaves as Python objects.
py::list to_python(const data::Element& element);
/// Tensors come to the CPU. TypeMismatchError for a leaf that is neither tensor nor data set.
data::Element element_from_python(const py::handle& leaves);

/// To be called in a catch block that holds Python's lock again: sets the Python exception for a
/// StageFailure. The original's class is kept, its text follows the stage and the element, and it is the new
/// one's __cause__.
void set_stage_error(const data::StageFailure& failure) noexcept;

}  // namespace tapedeck::python
