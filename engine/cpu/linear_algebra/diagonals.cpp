#include <algorithm>
#include <cstring>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/elements.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::cpu {
namespace {

struct Bytes16 {
  std::uint64_t halves[2];
};

/// Calls `f` with a value of a type of that size.
template <class F>
void visit_size(std::size_t size, F&& f) {
  if (size == 1)
    f(std::uint8_t{});
  else if (size == 2)
    f(std::uint16_t{});
  else if (size == 4)
    f(std::uint32_t{});
  else if (size == 8)
    f(std::uint64_t{});
  else
    f(Bytes16{});
}

/// Calls `f(n)` for each matrix.
template <class F>
void for_matrices(std::int64_t count, std::int64_t elements, F&& f) {
  constexpr std::int64_t long_for_one = 100000;
  if (count == 1 && elements > long_for_one) {
    const HostUnlock unlock;  // one block would run inline, with the host's other threads waiting
    return f(std::int64_t{0});
  }
  for_blocks(count, grain_for(50.0 + static_cast<double>(elements)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t n = begin; n < end; ++n) f(n);
             });
}

template <bool pack, class T>
void move_diagonals(const DiagonalBand& band, const T* from, std::int64_t count, T* to) {
  const std::int64_t matrix = band.rows * band.columns;
  const std::int64_t packed = band.count() * band.length();
  for_matrices(count, packed, [&](std::int64_t n) {
    const T* source = from + n * (pack ? matrix : packed);
    T* target = to + n * (pack ? packed : matrix);
    for (std::int64_t d = band.highest; d >= band.lowest; --d) {
      const std::int64_t elements = band.length_of(d);
      const std::int64_t p = band.packed_begin(d), m = band.matrix_begin(d), step = band.columns + 1;
      for (std::int64_t i = 0; i < elements; ++i)
        if constexpr (pack)
          target[p + i] = source[m + i * step];
        else
          target[m + i * step] = source[p + i];
    }
  });
}

}  // namespace

void band_part(std::size_t size, const void* matrices, std::int64_t count, std::int64_t rows,
               std::int64_t columns, std::int64_t lower, std::int64_t upper, void* out) {
  const auto bytes = [size](std::int64_t elements) { return static_cast<std::size_t>(elements) * size; };
  for_blocks(count * rows, grain_for(1.0 + static_cast<double>(columns)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t line = begin; line < end; ++line) {
                 const std::int64_t row = line % rows;
                 const std::int64_t from = std::clamp<std::int64_t>(row - lower, 0, columns);
                 const std::int64_t to = std::clamp(row + upper + 1, from, columns);
                 const char* source = at(matrices, line * columns, size);
                 char* target = at(out, line * columns, size);
                 std::memset(target, 0, bytes(from));
                 std::memcpy(target + bytes(from), source + bytes(from), bytes(to - from));
                 std::memset(target + bytes(to), 0, bytes(columns - to));
               }
             });
}

void pack_diagonals(std::size_t size, const DiagonalBand& band, const void* matrices, std::int64_t count,
                    void* packed) {
  visit_size(size, [&]<class T>(T) {
    move_diagonals<true>(band, static_cast<const T*>(matrices), count, static_cast<T*>(packed));
  });
}

void unpack_diagonals(std::size_t size, const DiagonalBand& band, const void* packed, std::int64_t count,
                      void* matrices) {
  visit_size(size, [&]<class T>(T) {
    move_diagonals<false>(band, static_cast<const T*>(packed), count, static_cast<T*>(matrices));
  });
}

}  // namespace tapedeck::cpu
