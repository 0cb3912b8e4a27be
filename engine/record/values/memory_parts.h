// Tensors of another framework that lie in one memory: what was written through one of them is read through
// others, and no record says how. Where such a tensor is first seen after a write, it is put together from
// those that were seen of the same memory before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/tensor/tensor.h"

namespace tapedeck {

/// Where a tensor lies in its memory, in elements of its dtype from the memory's first byte.
struct MemoryPlace {
  DType dtype{};
  std::int64_t offset = 0;
  Shape shape;
  Strides strides;

  bool operator==(const MemoryPlace&) const = default;
};

/// The first byte that it reaches, and the one behind the last.
struct ByteRange {
  std::int64_t low = 0, high = 0;
};
ByteRange byte_range(const MemoryPlace& place);

struct MemoryPart {
  std::uint64_t tensor = 0;
  MemoryPlace place;
};

struct SharedPlace {
  MemoryPlace place;
  std::vector<MemoryPart> parts;  ///< the oldest first: a later one lies over it
  bool cut = false;               ///< older parts were forgotten
};

/// Of the newest hundred thousand such tensors. Thread-safe.
void note_shared_place(std::uint64_t tensor, SharedPlace place);
/// nullptr where none was noted.
std::shared_ptr<const SharedPlace> shared_place_of(std::uint64_t tensor);

/// Of each element of the tensor, in row-major order, the newest of its parts that has it.
struct PartElements {
  std::vector<std::int32_t> parts;   ///< index in SharedPlace::parts; -1: it is not known
  std::vector<std::int64_t> places;  ///< which element there
};
PartElements elements_of_parts(const SharedPlace& shared);
/// Where in the tensor the elements of a part lie, in the part's order; -1: beside it. nullopt: the dtypes
/// differ.
std::optional<std::vector<std::int64_t>> places_of_part(const MemoryPlace& whole, const MemoryPlace& part);

/// The tensor, as it was `original`ly, where some of its parts have other values: `other` gives them, or
/// nothing for a part that has not. Throws InvalidArgumentError where one has another shape or dtype.
Tensor put_together(const SharedPlace& shared, const Tensor& original,
                    const std::function<std::optional<Tensor>(std::uint64_t part)>& other);

}  // namespace tapedeck
