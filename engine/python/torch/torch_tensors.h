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
/// From now on note_export() is called for each address of memory that PyTorch gives to others, and it gave
/// none before.
void exports_are_known();

/// The tensor of a torch.Tensor that the program has now. Without values, or with a problem (which is noted
/// in `problem`), it has no storage.
/// `writer`: where the recorder has it as a leaf, the record that gave it its value: one that wrote into its
/// memory through another tensor, or whose results are held as leaves. 0: none, or it is not known.
Tensor tensor_of(PyObject* tensor, std::string* problem = nullptr, std::uint64_t* writer = nullptr);
/// How an op made a tensor.
struct Made {
  std::uint64_t record = 0;
  bool own = false;      ///< in memory that the op allocated
  bool as_view = false;  ///< of memory into which it did not write
  bool as_leaf = false;  ///< the recorder holds it as a leaf
};
/// What an op has just made, or written: always a new id.
Tensor made_tensor(PyObject* tensor, const Made& made, std::string* problem = nullptr);
/// The op is about to write into it: releases the snapshot, so that nothing is copied unless the recorder
/// holds it.
void before_write(PyObject* tensor);
/// It has written: values of the storage from here on are others.
void after_write(PyObject* tensor);
/// A leaf of autograd's that requires a gradient, or may come to be one (torch_variables.h).
struct KnownVariable {
  std::uint64_t id = 0;     ///< the recorder's; 0: only its name is known
  std::uint64_t value = 0;  ///< id of its value
  std::int64_t offset = 0;
  DType dtype{};
  Shape shape;
  Strides strides;
  std::string name;
  bool given = false;   ///< the name, by name_leaf()
  bool buffer = false;  ///< of a module: no leaf of autograd
};
/// Those in the tensor's memory; nullptr where it is not known. `made`: it shall be. Valid until the next
/// call of anything here.
std::vector<KnownVariable>* variables_of(PyObject* tensor, bool made);
/// The value with that id, in the tensor's memory, is known as `now`.
void replace_view(PyObject* tensor, std::uint64_t id, const Tensor& now);
/// Whether the tensor's memory still has the value with that id.
bool has_value(PyObject* tensor, std::uint64_t id);
/// The value that the place has, as far as records know; undefined: none does.
Tensor newest_view(PyObject* tensor, const Look& look);

/// Something beside PyTorch has the address of its memory from now on (NumPy, DLPack): it is copied, never
/// cloned lazily, because a lazy clone would move it when it is written to.
void note_export(PyObject* tensor);
/// The id of the value that it has now, if a record mentions it; 0: none does.
std::uint64_t known_id(PyObject* tensor);
/// A copy, in the same layout, of which nothing else knows. Throws FailedPreconditionError where it has no
/// value here.
Tensor copy_of(PyObject* tensor);

}  // namespace tapedeck::python::torch
