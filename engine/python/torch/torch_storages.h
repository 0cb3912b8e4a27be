// What is known of each storage of PyTorch's that records mention, as long as it lives: its values, the
// snapshot that they share, and who wrote what of it. Guarded by Python's lock.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/python/torch/torch_look.h"
#include "engine/python/torch/torch_parts.h"
#include "engine/python/torch/torch_tensors.h"

namespace tapedeck::python::torch {

/// The bytes [low, high) of a storage, as they were.
struct Snapshot {
  StoragePointer memory;
  std::int64_t low = 0, high = 0;
  bool has(const Look& look) const { return memory && low <= look.low && look.high <= high; }
};

/// One value: a view of the storage as it is now.
struct View {
  PyObject* object = nullptr;  ///< the torch.Tensor, which may be gone: only compared
  std::int64_t offset = 0, version = 0;
  Unresolved unresolved;
  DType dtype{};
  Shape shape;
  Strides strides;
  Tensor tensor;
  std::uint64_t maker = 0;  ///< the record that gave it its value, where the recorder has it as a leaf
  bool written = false;     ///< by an op in place: PyTorch raises its version only after that
};

/// What of a storage a record has made, or written into last: the bytes [low, high).
struct Write {
  std::int64_t low = 0, high = 0;
  std::uint64_t record = 0;
};

struct KnownStorage {
  PyObject* reference = nullptr;  ///< a weak one, whose callback forgets the storage
  /// Where storages are no objects: PyTorch's own weak reference, an int. While it is held, no other storage
  /// gets the address.
  PyObject* weak = nullptr;
  /// Only PyTorch has its address: an op made it while it was recorded, or it could be cloned lazily.
  bool own = false;
  bool exported = false;
  bool elsewhere = false;  ///< on another device than the CPU
  std::vector<View> views;
  StorageParts parts;  ///< of what it was before
  std::vector<KnownVariable> variables;
  Snapshot snapshot;
  std::vector<Write> writes;  ///< the oldest first; none where it changed in another way since
};

struct KnownTensors {
  bool values = true;
  bool exports_are_known = false;  ///< of all memory, since PyTorch was imported
  std::unordered_map<std::uintptr_t, KnownStorage> storages;
  std::unordered_map<PyObject*, std::uintptr_t> by_reference;
  std::size_t looked_for_at = 256;  ///< number of storages, where they are no objects
  std::uint64_t copied = 0;         ///< bytes, since those that are gone were looked for
  PyObject* callback = nullptr;
};

KnownTensors& tensors();
/// That of the tensor, made where it is not known yet. `own`: an op allocates it while it is recorded. What
/// it refers to may move in any call of Python's.
KnownStorage& known_storage(const Library& torch, PyObject* tensor, const Look& look, bool own);
/// nullptr where it is not known.
KnownStorage* find_storage(std::uintptr_t storage);

/// Its values are gone: what is released runs last.
void forget_values(KnownStorage& known);
/// It changed in a way that no record shows.
void forget_history(KnownStorage& known);

void note_write(KnownStorage& known, const Look& look, std::uint64_t record);
/// The record that wrote last into these bytes; 0: none is known.
std::uint64_t newest_write(const KnownStorage& known, const Look& look);

}  // namespace tapedeck::python::torch
