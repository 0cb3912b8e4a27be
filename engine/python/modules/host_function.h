// Python functions that graphs call when they run.
#pragma once

#include "engine/graph/graph.h"
#include "engine/python/python.h"

namespace tapedeck::python {

/// The function takes a list of tensors, and returns such a list; where the call has no results, what it
/// returns is not read. An object of Python's functions, which weak references can refer to.
///
/// It often refers to the function whose graph calls it. Python's garbage collector does not see what graphs
/// own, so such a circle would never end. Therefore the graph owns the function while it is traced alone;
/// own_host_functions() gives it to an object of Python's.
graph::HostCall host_call_of(const std::string& name, const py::object& function, bool has_results,
                             bool differentiable);

/// Adds the Python functions that the graph calls, once it is traced. They live as long as the list has them.
void own_host_functions(const graph::Graph& graph, py::list& list);

/// An int64 scalar through which a graph carries an object: data sets, iterators. The object lives as long as
/// the tensor's storage.
Tensor carrier_of(const py::object& object);
/// The object again. InvalidArgumentError for other tensors.
py::object carried_by(const Tensor& tensor);

}  // namespace tapedeck::python
