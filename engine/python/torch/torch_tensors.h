// PyTorch's tensors as the engine's: which value of which memory a torch.Tensor has now.
//
// A value is identified by storage, place in it (offset, shape, strides) and how often the storage was
// written to: the same ones are the same tensor of the engine, with the same id. What was written to is a new
// one. The memory of a value is a snapshot of the storage: a copy of a small one, a lazy clone (copy on
// write) of a large one that nothing but PyTorch can write to, and otherwise a copy.
//
// All of it is guarded by Python's lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/python/torch/torch_look.h"
#include "engine/tensor/tensor.h"

namespace tapedeck::python::torch {

/// Forgets all tensors, for a new recorder. Without values they have ids and shapes, but no memory.
void keep_torch_values(bool on);

/// The tensor of a torch.Tensor that the program has now. Without values, or with a problem (which is noted
/// in `problem`), it has no storage.
Tensor tensor_of(PyObject* tensor, std::string* problem = nullptr);
/// What an op has just made, or written: always a new id. `own`: in memory that the op allocated.
Tensor made_tensor(PyObject* tensor, bool own, std::string* problem = nullptr);
/// The op is about to write into it: releases the snapshot, so that nothing is copied unless the recorder
/// holds it.
void before_write(PyObject* tensor);
/// It has written: values of the storage from here on are others.
void after_write(PyObject* tensor);
/// Something beside PyTorch has the address of its memory from now on (NumPy, DLPack): it is copied, never
/// cloned lazily, because a lazy clone would move it when it is written to.
void note_export(PyObject* tensor);
/// The id of the value that it has now, if a record mentions it; 0: none does.
std::uint64_t known_id(PyObject* tensor);
/// A copy, in the same layout, of which nothing else knows. Throws FailedPreconditionError where it has no
/// value here.
Tensor copy_of(PyObject* tensor);

}  // namespace tapedeck::python::torch
