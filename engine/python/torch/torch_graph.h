// Which record made a node of autograd's graph: noted in the node itself (its metadata), so that it goes with
// it.
//
// Where PyTorch calls a hook for each node that it makes, the hook notes it. Nodes have numbers of their
// thread, in the order in which they are made; a node belongs to the record before which it was the newest.
// Where there is no such hook (before 2.15), the records wait in a list of their thread until a backward pass
// comes to their nodes.
#pragma once

#include <memory>

#include "engine/python/torch/torch_ops.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::python::torch {

/// The record that made a node.
struct Forward {
  std::uint64_t record = 0;
  const OpDef* op = nullptr;  ///< nullptr: forward() of a Function of the program
  CallSite site;
  std::uint32_t inputs = 0;
  SmallVector<std::uint8_t, 6> floating;  ///< places of inputs that have edges in the node
  bool writes = false;
};

/// To be called after a record began whose op makes a node, before the op runs.
void note_forward(const Row& row, const Call& call, std::uint64_t record);
/// An op runs that is not recorded.
void note_unrecorded();

/// An object of Python's that has it; forward_in() reads it, nullptr for None.
py::object forward_object(std::shared_ptr<const Forward> forward);
std::shared_ptr<const Forward> forward_in(const py::handle object);

void bind_graph(py::module_& torch);

}  // namespace tapedeck::python::torch
