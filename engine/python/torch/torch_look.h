// What a torch.Tensor looks like: its place in a storage, dtype, shape, strides. This is asked for each
// tensor of each op: where the release has DLPack's exchange table, one call of C answers most of it.
#pragma once

#include <cstdint>
#include <string>

#include "engine/python/torch/torch_library.h"
#include "engine/tensor/tensor.h"

namespace tapedeck::python::torch {

/// What PyTorch has not computed: its memory has other numbers than the tensor.
struct Unresolved {
  bool conjugate = false, negative = false;
  bool any() const { return conjugate || negative; }
  bool operator==(const Unresolved&) const = default;
};

/// A torch.Tensor, as far as the engine can describe it.
struct Look {
  /// Tells storages apart as long as they live: the address of the storage's Python object, or of its
  /// memory's description where it has no lasting object. 0: it has none.
  std::uintptr_t storage = 0;
  std::int64_t offset = 0, version = 0;
  DType dtype{};
  Shape shape;
  Strides strides;
  /// Why it has no value here; empty if it has: "torch.float8_e4m3fn is no dtype of Tapedeck's".
  std::string problem;
  Device device;
  Unresolved unresolved;
  std::int64_t low = 0, high = 0;     ///< the bytes of the storage that it reaches: [low, high)
  const std::byte* memory = nullptr;  ///< of the storage's first byte; nullptr: ask memory_of()

  bool is_elsewhere() const { return device.kind != DeviceKind::cpu; }
};

/// Never raises: what cannot be found out is `problem`.
Look look_at(PyObject* tensor);

/// Look::storage alone.
std::uintptr_t storage_of(const Library& torch, PyObject* tensor);

/// Of tensors on the CPU: the address of the storage's first byte, without ending a lazy clone; nullptr where
/// it has none.
const std::byte* memory_of(const Library& torch, PyObject* tensor, const Look& look);
/// The same for a clone of the tensor, which has its offset and dtype.
const std::byte* memory_of_clone(const Library& torch, PyObject* clone, const Look& look);

/// An op has run that makes negatives without computing them: from now on tensors are asked for it.
void note_negatives();

}  // namespace tapedeck::python::torch
