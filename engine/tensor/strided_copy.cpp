#include "engine/tensor/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace tapedeck::detail {
namespace {

/// An element of string or complex128.
struct Bytes16 {
  std::uint64_t halves[2];
};

/// The view without axes of extent 1, with neighbouring axes merged where possible.
struct Walk {
  Shape shape;
  Strides strides;
};

Walk merge_axes(const Shape& shape, const Strides& strides) {
  Walk walk;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    const int last = walk.shape.rank() - 1;
    if (last >= 0 && walk.strides[last] == strides[axis] * shape[axis]) {
      walk.shape[last] *= shape[axis];
      walk.strides[last] = strides[axis];
    } else {
      walk.shape.push_back(shape[axis]);
      walk.strides.push_back(strides[axis]);
    }
  }
  while (walk.shape.rank() < 2) {  // copy_plane wants two axes
    Walk wider;
    wider.shape.push_back(1);
    wider.strides.push_back(0);
    for (int axis = 0; axis < walk.shape.rank(); ++axis) {
      wider.shape.push_back(walk.shape[axis]);
      wider.strides.push_back(walk.strides[axis]);
    }
    walk = wider;
  }
  return walk;
}

/// In tiles, so that a transposed plane uses each cache line that it fetches whole.
template <class T>
void copy_plane(const T* source, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                std::int64_t column_stride, T* destination) {
  if (column_stride == 1) {
    for (std::int64_t row = 0; row < rows; ++row)
      std::memcpy(destination + row * columns, source + row * row_stride,
                  static_cast<std::size_t>(columns) * sizeof(T));
    return;
  }
  constexpr std::int64_t tile = 32;
  for (std::int64_t row = 0; row < rows; row += tile)
    for (std::int64_t column = 0; column < columns; column += tile)
      for (std::int64_t r = row; r < std::min(row + tile, rows); ++r)
        for (std::int64_t c = column; c < std::min(column + tile, columns); ++c)
          destination[r * columns + c] = source[r * row_stride + c * column_stride];
}

template <class T>
void copy_items(const T* source, const Walk& walk, T* destination) {
  const int outer = walk.shape.rank() - 2;
  const std::int64_t rows = walk.shape[outer], columns = walk.shape[outer + 1];
  Shape index;
  index.resize(outer);
  std::int64_t offset = 0;
  while (true) {
    copy_plane(source + offset, rows, columns, walk.strides[outer], walk.strides[outer + 1], destination);
    destination += rows * columns;
    int axis = outer - 1;
    for (; axis >= 0; --axis) {
      offset += walk.strides[axis];
      if (++index[axis] < walk.shape[axis]) break;
      offset -= walk.strides[axis] * walk.shape[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace

void copy_to_contiguous(const std::byte* source, const Shape& shape, const Strides& strides,
                        std::size_t item_size, std::byte* destination) {
  if (element_count(shape) == 0) return;
  const Walk walk = merge_axes(shape, strides);
  switch (item_size) {
    case 1:
      return copy_items(reinterpret_cast<const std::uint8_t*>(source), walk,
                        reinterpret_cast<std::uint8_t*>(destination));
    case 2:
      return copy_items(reinterpret_cast<const std::uint16_t*>(source), walk,
                        reinterpret_cast<std::uint16_t*>(destination));
    case 4:
      return copy_items(reinterpret_cast<const std::uint32_t*>(source), walk,
                        reinterpret_cast<std::uint32_t*>(destination));
    case 16:
      return copy_items(reinterpret_cast<const Bytes16*>(source), walk,
                        reinterpret_cast<Bytes16*>(destination));
    default:
      return copy_items(reinterpret_cast<const std::uint64_t*>(source), walk,
                        reinterpret_cast<std::uint64_t*>(destination));
  }
}

}  // namespace tapedeck::detail
