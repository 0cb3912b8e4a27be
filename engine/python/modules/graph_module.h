// Graph functions as Python sees them: tracing, running, branches and loops.
#pragma once

#include "engine/graph/graph.h"
#include "engine/python/python.h"

namespace tapedeck::python {

void bind_graph(py::module_& module);

/// "op", "read", …
const char* kind_text(graph::NodeKind kind);

/// The graph as a GraphFunction of Python. Its host functions stay with what owns them now.
py::object function_of(graph::Graph graph);

}  // namespace tapedeck::python
