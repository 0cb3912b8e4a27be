// PyTorch's backward passes as records: a playback around each, and a VJP for each node of the graph.
#pragma once

#include "engine/python/torch/torch_ops.h"

namespace tapedeck::python::torch {

/// The tape that records of this moment are on: one for all graphs until a backward pass has used them up.
std::uint64_t graph_tape();
/// Whether the op that is about to run was called by the program's own code inside of a backward pass: a hook
/// of a tensor, of a node or of a parameter, or what a checkpoint computes again.
bool is_in_hook();

/// Whether a backward pass runs on this thread.
bool is_in_playback();

void bind_backward(py::module_& torch);

}  // namespace tapedeck::python::torch
