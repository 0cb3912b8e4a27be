// PyTorch's backward passes as records: a playback around each, and a VJP for each node of the graph.
#pragma once

#include "engine/python/torch/torch_ops.h"

namespace tapedeck::python::torch {

/// The tape that records of this moment are on: one for all graphs until a backward pass has used them up.
std::uint64_t graph_tape();
/// To be called after a record began, before its op runs: the newest node of autograd's graph that has no
/// record belongs to it. Nodes have numbers of their thread, in the order in which they are made.
void note_forward(const Row& row, const Call& call, std::uint64_t record);

/// A gradient comes to a leaf, in this thread's innermost backward pass.
void note_arrival(PyObject* variable, const Tensor& gradient);

void bind_backward(py::module_& torch);

}  // namespace tapedeck::python::torch
