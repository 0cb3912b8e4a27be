// Which record made a node of autograd's graph: noted in the node itself (its metadata), so that it goes with
// it.
//
// Where PyTorch calls a hook for each node that it makes, the hook notes it. Nodes have numbers of their
// thread, in the order in which they are made; a node belongs to the record before which it was the newest.
// Where there is no such hook (before 2.15), the records wait in a list of their thread until a backward pass
// comes to their nodes.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/python/torch/torch_ops.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::python::torch {

/// The record that made a node.
struct Forward {
  std::uint64_t record = 0;
  const OpDef* op = nullptr;  ///< nullptr: forward() of a Function of the program
  CallSite site;
  std::uint32_t inputs = 0;
  SmallVector<std::uint32_t, 4> requiring;  ///< its inputs that require a gradient; empty for a Function
  bool writes = false;
};

/// To be called after a record began whose op makes a node, before the op runs.
void note_forward(const Row& row, const Call& call, std::uint64_t record);
/// An op runs that is not recorded.
void note_unrecorded();

/// For each edge of a node that it made, the place of the input whose gradient goes there, or -1 where none
/// does: `leads_on` says which edges lead on. Edges and inputs are no pairs: numbers and tensors of whole
/// numbers may have an edge, of lists and optional arguments not all do. But each edge that leads on is that
/// of an input which requires a gradient, in the same order. Nothing where there are more of the ones than of
/// the others. `copies`: the node is a CopySlices.
std::optional<std::vector<int>> places_of_edges(const Forward& forward, const std::vector<bool>& leads_on,
                                                bool copies);

/// An object of Python's that has it; forward_in() reads it, nullptr for None.
py::object forward_object(std::shared_ptr<const Forward> forward);
std::shared_ptr<const Forward> forward_in(const py::handle object);

void bind_graph(py::module_& torch);

}  // namespace tapedeck::python::torch
