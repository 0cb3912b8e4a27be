// What was seen of one memory, write after write: of it a tensor is put together that is first seen after a
// write through another one (see memory_parts.h).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/record/values/memory_parts.h"

namespace tapedeck::python::torch {

class StorageParts {
 public:
  /// The memory is about to be written: `seen` are the tensors of it as it is. Those of older generations
  /// that one of them covers are forgotten.
  void end_generation(std::vector<MemoryPart> seen);
  /// It changed in a way that no record shows.
  void clear() { *this = {}; }
  bool empty() const { return parts_.empty(); }
  /// What of it lies where the tensor does; `now`: tensors of the memory as it is.
  SharedPlace below(const MemoryPlace& place, const std::vector<MemoryPart>& now) const;

 private:
  std::vector<MemoryPart> parts_;  ///< the oldest first
  bool cut_ = false;
};

}  // namespace tapedeck::python::torch
