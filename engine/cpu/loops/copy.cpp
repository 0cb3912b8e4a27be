#include <algorithm>
#include <cstring>

#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/iterate.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t tile_rows = 64;
constexpr std::int64_t tile_columns = 32;

/// An element of string or complex128.
struct Bytes16 {
  std::uint64_t halves[2];
};

constexpr std::size_t long_bytes = 1024;

void copy_run(void* to, const void* from, std::size_t bytes) {
  if (bytes < long_bytes)
    std::memcpy(to, from, bytes);
  else
    loops().copy_bytes(to, from, bytes);
}

template <class T>
void copy_row(const T* __restrict from, std::int64_t from_step, T* __restrict to, std::int64_t to_step,
              std::int64_t count) {
  if (from_step == 1 && to_step == 1) {
    copy_run(to, from, static_cast<std::size_t>(count) * sizeof(T));
  } else if (to_step == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * from_step];
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
  }
}

/// A tile whose source rows are contiguous: read directly, written from a small buffer.
template <class T>
void copy_tile(const T* __restrict from, std::int64_t from_step, T* __restrict to, std::int64_t to_row,
               std::int64_t to_step, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t width = tile_rows + 8;  // off the powers of two, whose lines share cache sets
  T buffer[tile_columns * width];
  for (std::int64_t column = 0; column < columns; ++column)
    std::memcpy(buffer + column * width, from + column * from_step,
                static_cast<std::size_t>(rows) * sizeof(T));
  for (std::int64_t row = 0; row < rows; ++row)
    copy_row(buffer + row, width, to + row * to_row, to_step, columns);
}

/// The two innermost axes are a transposed matrix: the source is contiguous along the outer one.
template <class T>
void copy_transposed(const T* from, T* to, const Loops<2>& walk) {
  const int rows_axis = walk.rank - 2;
  const std::int64_t rows = walk.extent[rows_axis];
  const std::int64_t columns = walk.inner();
  const std::int64_t to_row = walk.stride[1][rows_axis];
  const std::int64_t from_step = walk.inner_stride(0);
  const std::int64_t to_step = walk.inner_stride(1);
  const std::int64_t row_tiles = (rows + tile_rows - 1) / tile_rows;
  const std::int64_t matrices = walk.rows() / rows;
  for_blocks(matrices * row_tiles, std::max<std::int64_t>(1, 16384 / (tile_rows * columns)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t task = begin; task < end; ++task) {
                 const auto start = walk.offsets(task / row_tiles * rows);
                 const std::int64_t first = task % row_tiles * tile_rows;
                 const std::int64_t count = std::min(tile_rows, rows - first);
                 for (std::int64_t column = 0; column < columns; column += tile_columns)
                   copy_tile(from + start[0] + first + column * from_step, from_step,
                             to + start[1] + first * to_row + column * to_step, to_row, to_step, count,
                             std::min(tile_columns, columns - column));
               }
             });
}

template <class T>
void copy_elements(const void* source, const Strides& source_strides, void* target,
                   const Strides& target_strides, const Shape& shape) {
  const Loops<2> walk(shape, {&source_strides, &target_strides});
  const T* from = static_cast<const T*>(source);
  T* to = static_cast<T*>(target);
  const bool transposed = walk.rank >= 2 && walk.inner_stride(0) != 1 && walk.inner() >= tile_columns &&
                          walk.stride[0][walk.rank - 2] == 1 && walk.rows() > 0;
  if (transposed) return copy_transposed(from, to, walk);
  walk.for_pieces(grain_for(0.4), [&](std::int64_t first, std::int64_t n, const auto& start) {
    const std::int64_t from_step = walk.inner_stride(0);
    const std::int64_t to_step = walk.inner_stride(1);
    copy_row(from + start[0] + first * from_step, from_step, to + start[1] + first * to_step, to_step, n);
  });
}

template <class T>
void fill_elements(const void* value, void* target, std::int64_t count) {
  T element;
  std::memcpy(&element, value, sizeof element);
  T* to = static_cast<T*>(target);
  std::fill(to, to + count, element);
}

constexpr std::int64_t small_bytes = 512;
constexpr std::int64_t pattern_bytes = 4096;
constexpr std::int64_t past_cache_bytes = std::int64_t{16}
                                          << 20;  ///< longer results leave the cache before they are read

/// Many elements: copies of a page of them, which is faster than one after the other.
void fill_pages(std::size_t size, const void* value, void* target, std::int64_t bytes) {
  const auto* element = static_cast<const char*>(value);
  const bool zero = std::all_of(element, element + size, [](char byte) { return byte == 0; });
  const bool stream = bytes >= past_cache_bytes && reinterpret_cast<std::uintptr_t>(target) % 64 == 0;
  auto* to = static_cast<char*>(target);
  if (zero && !stream)
    return for_blocks(bytes, 64 * pattern_bytes, [=](std::int64_t begin, std::int64_t end) {
      std::memset(to + begin, 0, static_cast<std::size_t>(end - begin));
    });
  alignas(64) char page[pattern_bytes];
  std::memcpy(page, value, size);
  for (std::size_t filled = size; filled < sizeof page; filled *= 2) std::memcpy(page + filled, page, filled);
  for_blocks(bytes, 64 * pattern_bytes, [=, &page](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; at += pattern_bytes) {
      const auto here = static_cast<std::size_t>(std::min(pattern_bytes, end - at));
      if (stream)
        loops().stream(to + at, page, here);
      else
        std::memcpy(to + at, page, here);
    }
  });
}

/// gather_rows for rows of one element: without a division for each.
template <class T>
void gather_elements(const void* source, std::int64_t outer, std::int64_t count, const std::int64_t* indices,
                     std::int64_t index_count, void* target) {
  const T* from = static_cast<const T*>(source);
  T* to = static_cast<T*>(target);
  for_blocks(outer * index_count, grain_for(2), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t o = i / index_count, last = std::min(end, (o + 1) * index_count);
      const T* values = from + o * count;
      const std::int64_t* places = indices - o * index_count;
      for (; i < last; ++i) to[i] = values[places[i]];
    }
  });
}

}  // namespace

void copy(std::size_t size, const void* source, const Strides& source_strides, void* target,
          const Strides& target_strides, const Shape& shape) {
  if (size == 1)
    copy_elements<std::uint8_t>(source, source_strides, target, target_strides, shape);
  else if (size == 2)
    copy_elements<std::uint16_t>(source, source_strides, target, target_strides, shape);
  else if (size == 4)
    copy_elements<std::uint32_t>(source, source_strides, target, target_strides, shape);
  else if (size == 16)
    copy_elements<Bytes16>(source, source_strides, target, target_strides, shape);
  else
    copy_elements<std::uint64_t>(source, source_strides, target, target_strides, shape);
}

void fill(std::size_t size, const void* value, void* target, std::int64_t count) {
  const std::int64_t bytes = count * static_cast<std::int64_t>(size);
  if (bytes > small_bytes) return fill_pages(size, value, target, bytes);
  if (size == 1)
    fill_elements<std::uint8_t>(value, target, count);
  else if (size == 2)
    fill_elements<std::uint16_t>(value, target, count);
  else if (size == 4)
    fill_elements<std::uint32_t>(value, target, count);
  else if (size == 16)
    fill_elements<Bytes16>(value, target, count);
  else
    fill_elements<std::uint64_t>(value, target, count);
}

void gather_rows(const void* source, std::int64_t outer, std::int64_t count, const std::int64_t* indices,
                 std::int64_t index_count, std::size_t row_bytes, void* target) {
  if (row_bytes == 4)
    return gather_elements<std::uint32_t>(source, outer, count, indices, index_count, target);
  if (row_bytes == 8)
    return gather_elements<std::uint64_t>(source, outer, count, indices, index_count, target);
  const auto* from = static_cast<const char*>(source);
  auto* to = static_cast<char*>(target);
  const auto row = static_cast<std::int64_t>(row_bytes);
  const auto grain = std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(16, row));
  for_blocks(outer * index_count, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      copy_run(to + i * row, from + (i / index_count * count + indices[i % index_count]) * row, row_bytes);
  });
}

void pick(std::size_t size, const void* values, std::int64_t rows, std::int64_t count,
          const std::int64_t* indices, void* out) {
  const auto* from = static_cast<const char*>(values);
  auto* to = static_cast<char*>(out);
  for_blocks(rows, grain_for(2), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      copy_run(to + i * static_cast<std::int64_t>(size),
               from + (i * count + indices[i]) * static_cast<std::int64_t>(size), size);
  });
}

void scatter_rows(const void* source, const std::int64_t* numbers, std::int64_t count, std::size_t row_bytes,
                  void* target) {
  const auto* from = static_cast<const char*>(source);
  auto* to = static_cast<char*>(target);
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + numbers[i] * static_cast<std::int64_t>(row_bytes),
                from + i * static_cast<std::int64_t>(row_bytes), row_bytes);
}

}  // namespace tapedeck::cpu
