// Values of storages: snapshots, which the tensors of one storage share. Guarded by Python's lock.
#pragma once

#include <string>

#include "engine/python/torch/torch_storages.h"

namespace tapedeck::python::torch {

/// The tensor as a view of its storage's snapshot, under a new id. Conjugates and negatives that PyTorch has
/// not computed are copies, because a view here is of plain numbers. Without values, or with a problem, it
/// has no storage.
Tensor view_of_snapshot(const Library& torch, PyObject* tensor, const Look& look, std::string* problem);
/// Whether the memory still has the bytes of the snapshot.
bool is_unchanged(const Library& torch, PyObject* tensor, const Look& look, const KnownStorage& known);
/// A copy of the tensor as it is. Throws FailedPreconditionError where it has no value here.
Tensor copy_of(const Library& torch, PyObject* tensor, const Look& look);
Tensor without_storage(const Look& look);

}  // namespace tapedeck::python::torch
