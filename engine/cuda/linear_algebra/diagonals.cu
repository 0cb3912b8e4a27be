#include "engine/cuda/index.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/loops/elements.h"

namespace tapedeck::cuda {
namespace {

template <class T, class Number>
__global__ void band_part_kernel(const T* matrices, Number elements, Number rows, Number columns,
                                 std::int64_t lower, std::int64_t upper, T* out) {
  for (auto n = static_cast<Number>(thread_number()); n < elements;
       n += static_cast<Number>(thread_count())) {
    const Number line = n / columns;
    const auto j = static_cast<std::int64_t>(n - line * columns), i = static_cast<std::int64_t>(line % rows);
    out[n] = i - j <= lower && j - i <= upper ? matrices[n] : T{};
  }
}

/// A thread for each packed place.
template <bool pack, class T, class Number>
__global__ void move_diagonals_kernel(kernels::DiagonalBand band, const T* from, Number places, T* to) {
  const auto length = static_cast<Number>(band.length()), diagonals = static_cast<Number>(band.count());
  for (auto n = static_cast<Number>(thread_number()); n < places; n += static_cast<Number>(thread_count())) {
    const Number line = n / length, matrix = line / diagonals;
    const auto number = static_cast<std::int64_t>(line - matrix * diagonals);
    const std::int64_t d = band.highest - number;
    const std::int64_t i =
        number * band.length() + static_cast<std::int64_t>(n - line * length) - band.packed_begin(d);
    if (i < 0 || i >= band.length_of(d)) continue;
    const std::int64_t place = static_cast<std::int64_t>(matrix) * band.rows * band.columns +
                               band.matrix_begin(d) + i * (band.columns + 1);
    if constexpr (pack)
      to[n] = from[place];
    else
      to[place] = from[n];
  }
}

template <bool pack>
void move_diagonals(const char* name, std::size_t size, const kernels::DiagonalBand& band, const void* from,
                    std::int64_t count, void* to) {
  const std::int64_t places = count * band.count() * band.length();
  visit_size(size, [&]<class T>(T) {
    visit_index(places, [&]<class Number>(Number) {
      launch(name, grid_for(places), move_diagonals_kernel<pack, T, Number>, band,
             static_cast<const T*>(from), static_cast<Number>(places), static_cast<T*>(to));
    });
  });
}

}  // namespace

void band_part(std::size_t size, const void* matrices, std::int64_t count, std::int64_t rows,
               std::int64_t columns, std::int64_t lower, std::int64_t upper, void* out) {
  const std::int64_t elements = count * rows * columns;
  visit_size(size, [&]<class T>(T) {
    visit_index(elements, [&]<class Number>(Number) {
      launch("band_part", grid_for(elements), band_part_kernel<T, Number>, static_cast<const T*>(matrices),
             static_cast<Number>(elements), static_cast<Number>(rows), static_cast<Number>(columns), lower,
             upper, static_cast<T*>(out));
    });
  });
}

void pack_diagonals(std::size_t size, const DiagonalBand& band, const void* matrices, std::int64_t count,
                    void* packed) {
  move_diagonals<true>("pack_diagonals", size, band, matrices, count, packed);
}

void unpack_diagonals(std::size_t size, const DiagonalBand& band, const void* packed, std::int64_t count,
                      void* matrices) {
  move_diagonals<false>("unpack_diagonals", size, band, packed, count, matrices);
}

}  // namespace tapedeck::cuda
