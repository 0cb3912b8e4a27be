// The size classes of the block pool: multiples of 64 bytes up to 1 KiB, then eight to a doubling.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace tapedeck::detail {

constexpr std::size_t block_alignment = 64;

/// The class that a size belongs to: from 1 on, growing with the size.
constexpr int size_class(std::size_t bytes) {
  const std::size_t units = (std::max<std::size_t>(bytes, 1) + block_alignment - 1) / block_alignment;
  if (units <= 16) return static_cast<int>(units);
  const int shift = static_cast<int>(std::bit_width(units - 1)) - 4;
  return 8 * shift + 1 + static_cast<int>((units - 1) >> shift);
}

/// The size of the class's blocks: the largest size that belongs to it.
constexpr std::size_t class_bytes(int size_class) {
  if (size_class <= 16) return static_cast<std::size_t>(size_class) * block_alignment;
  const int shift = (size_class - 17) / 8 + 1;
  return (static_cast<std::size_t>((size_class - 17) % 8 + 9) << shift) * block_alignment;
}

}  // namespace tapedeck::detail
