// Runs an op of PyTorch again from a record's inputs and attributes.
#pragma once

#include <span>

#include "engine/python/torch/torch_ops.h"

namespace tapedeck::python::torch {

/// On copies of the inputs, without gradients and unrecorded. Returns what the record has: the results, and
/// the arguments that it wrote into and did not return. Needs Python's lock. Throws ForeignException for
/// PyTorch's own exceptions, UnimplementedError where a value or an argument is missing.
Tensors run_row(const Row& row, std::span<const Tensor> inputs, const Attributes& attributes);

/// Tries whether `outputs` come out again, once for a kind of op; sets `repeats`. Clears exceptions.
void try_repetition(Row& row, Repeats& repeats, const Call& call, std::span<const Tensor> outputs);

/// Lets the engine run these ops again.
void install_replay();

}  // namespace tapedeck::python::torch
