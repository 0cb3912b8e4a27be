// Tensors by number, of which each state is kept: a change shares all that stays with the state before.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/tensor/tensor.h"

namespace tapedeck::graph {

/// A tree with 16 tensors in each leaf. A copy costs nothing; a change of what a copy shares makes a leaf,
/// and the nodes above it, anew: some 50 handles for 4,000 tensors. Copies may be read and changed on several
/// threads at once.
class ElementTree {
 public:
  struct Element {
    Tensor tensor;         ///< undefined: nothing is there
    bool cleared = false;  ///< it was read, and is forgotten
  };

  std::int64_t size() const { return size_; }
  /// `index` below size().
  Element operator[](std::int64_t index) const;
  /// Makes it so long; what is new has no tensors.
  void grow_to(std::int64_t size);
  void set(std::int64_t index, Element element);

 private:
  struct Leaf;
  struct Branch;
  static constexpr int bits = 4, width = 1 << bits;
  static std::size_t place(std::int64_t index, int level) {
    return static_cast<std::size_t>((index >> (bits * level)) & (width - 1));
  }

  std::shared_ptr<void> root_;  ///< a Leaf at level 0, else a Branch; nullptr: nothing is there
  int level_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace tapedeck::graph
