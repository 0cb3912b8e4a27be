#include <cmath>
#include <limits>

#include "engine/backend/kernels.h"
#include "engine/cuda/block_sums.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/linear_algebra/matrix_layouts.h"

namespace tapedeck::cuda {
namespace {

constexpr int tile = 32, tile_rows = 8;

/// A block moves tile × tile values through shared memory, so that both sides go along their rows.
template <class T>
__global__ void transpose_kernel(std::int64_t count, std::int64_t rows, std::int64_t columns,
                                 Layout<const T> from, Layout<T> to, const T* divisors, const T* factors) {
  __shared__ T values[tile][tile + 1];
  const int lane = static_cast<int>(threadIdx.x) % tile, line = static_cast<int>(threadIdx.x) / tile;
  const std::int64_t down = (rows + tile - 1) / tile, across = (columns + tile - 1) / tile;
  for (std::int64_t block = blockIdx.x; block < count * down * across; block += gridDim.x) {
    const std::int64_t matrix = block / (down * across);
    const std::int64_t top = block / across % down * tile, left = block % across * tile;
    const T divisor = divisors ? divisors[matrix] : T(1);
    for (int i = line; i < tile; i += tile_rows)
      if (top + i < rows && left + lane < columns) {
        T value = from.values[matrix * from.step + (top + i) * from.stride + left + lane];
        if (divisors) value = divisor != divisor ? T(0) : value / divisor;
        if (factors) value *= factors[matrix * rows + top + i];
        values[i][lane] = value;
      }
    __syncthreads();
    for (int i = line; i < tile; i += tile_rows)
      if (left + i < columns && top + lane < rows)
        to.values[matrix * to.step + (left + i) * to.stride + top + lane] = values[lane][i];
    __syncthreads();
  }
}

/// A block for each matrix.
template <class T>
__global__ void scales_kernel(std::int64_t count, std::int64_t size, std::int64_t columns, bool lower,
                              const T* values, T* scales) {
  __shared__ T shared[most_warps];
  for (std::int64_t matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    T largest = T(0);
    for (std::int64_t i = threadIdx.x; i < size; i += blockDim.x) {
      if (lower && i % columns > i / columns) continue;
      const T value = std::fabs(values[matrix * size + i]);
      largest = Larger()(
          largest, value == std::numeric_limits<T>::infinity() ? std::numeric_limits<T>::quiet_NaN() : value);
    }
    largest = block_maximum(largest, shared);
    if (threadIdx.x == 0) scales[matrix] = largest == T(0) ? T(1) : largest;
  }
}

template <bool divide, class T>
__global__ void scale_kernel(std::int64_t count, std::int64_t size, const T* from, const T* scales, T* to) {
  for (std::int64_t i = thread_number(); i < count * size; i += thread_count()) {
    const T scale = scales[i / size];
    if constexpr (divide)
      to[i] = scale != scale ? T(0) : from[i] / scale;
    else
      to[i] = from[i] * scale;
  }
}

template <class T>
__global__ void nan_kernel(std::int64_t count, std::int64_t size, const T* scales, T* values) {
  for (std::int64_t i = thread_number(); i < count * size; i += thread_count())
    if (const T scale = scales[i / size]; scale != scale) values[i] = scale;
}

/// A warp for each vector.
template <class T>
__global__ void signs_kernel(std::int64_t count, Vectors<T> of, std::int64_t first, const T* scales,
                             std::int64_t row, T* signs) {
  const std::int64_t open = of.count - first;
  for (std::int64_t number = blockIdx.x; number < count * open; number += gridDim.x) {
    const std::int64_t matrix = number / open, vector = first + number % open;
    const T* values = of.values + matrix * of.step + vector * of.vector;
    T largest = T(0);
    for (std::int64_t i = threadIdx.x; i < of.length; i += warpSize)
      largest = Larger()(largest, std::fabs(values[i * of.element]));
    for (int bits = warpSize / 2; bits > 0; bits /= 2)
      largest = Larger()(largest, __shfl_xor_sync(whole_warp, largest, bits));
    const T least = largest * static_cast<T>(kernels::leading_share);
    T sign = T(1);
    for (std::int64_t start = 0; start < of.length; start += warpSize) {
      const std::int64_t i = start + threadIdx.x;
      const T value = i < of.length ? values[i * of.element] : T(0);
      const unsigned leads = __ballot_sync(whole_warp, i < of.length && std::fabs(value) >= least);
      if (leads == 0) continue;
      sign = __shfl_sync(whole_warp, value, __ffs(static_cast<int>(leads)) - 1) < T(0) ? T(-1) : T(1);
      break;
    }
    if (threadIdx.x == 0)
      signs[matrix * row + vector] = scales[matrix] != scales[matrix] ? scales[matrix] : sign;
  }
}

template <class T>
__global__ void multiply_columns_kernel(std::int64_t elements, std::int64_t size, std::int64_t columns,
                                        const T* factors, std::int64_t row, T* values) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count())
    values[i] *= factors[i / size * row + i % columns];
}

template <class T>
__global__ void identity_kernel(std::int64_t elements, std::int64_t rows, std::int64_t columns, T* values) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count())
    values[i] = i / columns % rows == i % columns ? T(1) : T(0);
}

}  // namespace

void copy_within(const void* from, void* to, std::size_t bytes) {
  if (bytes > 0)
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()), "a copy within the device");
}

template <class T>
void copy_transposed(std::int64_t count, std::int64_t rows, std::int64_t columns, Layout<const T> from,
                     Layout<T> to, const T* divisors, const T* factors) {
  const std::int64_t tiles = (rows + tile - 1) / tile * ((columns + tile - 1) / tile);
  launch("transpose",
         {.blocks = count * tiles, .threads = tile * tile_rows, .cooperation = Cooperation::block},
         transpose_kernel<T>, count, rows, columns, from, to, divisors, factors);
}

template <class T>
void find_scales(std::int64_t count, std::int64_t size, std::int64_t columns, bool lower, const T* values,
                 T* scales) {
  launch("scales", grid_of_rows(count, size), scales_kernel<T>, count, size, columns, lower, values, scales);
}
template <class T>
void divide_by_scales(std::int64_t count, std::int64_t size, const T* from, const T* scales, T* to) {
  launch("scales", grid_for(count * size), scale_kernel<true, T>, count, size, from, scales, to);
}
template <class T>
void multiply_by_scales(std::int64_t count, std::int64_t size, const T* scales, T* values) {
  launch("scales", grid_for(count * size), scale_kernel<false, T>, count, size, static_cast<const T*>(values),
         scales, values);
}

template <class T>
void set_nan_by_scales(std::int64_t count, std::int64_t size, const T* scales, T* values) {
  launch("scales", grid_for(count * size), nan_kernel<T>, count, size, scales, values);
}

template <class T>
void find_signs(std::int64_t count, const Vectors<T>& of, std::int64_t first, const T* scales,
                std::int64_t row, T* signs) {
  launch("signs", {.blocks = count * (of.count - first), .threads = 32, .cooperation = Cooperation::block},
         signs_kernel<T>, count, of, first, scales, row, signs);
}
template <class T>
void multiply_columns(std::int64_t count, std::int64_t rows, std::int64_t columns, const T* factors,
                      std::int64_t row, T* values) {
  const std::int64_t elements = count * rows * columns;
  launch("signs", grid_for(elements), multiply_columns_kernel<T>, elements, rows * columns, columns, factors,
         row, values);
}
template <class T>
void set_identity(std::int64_t count, std::int64_t rows, std::int64_t columns, T* values) {
  const std::int64_t elements = count * rows * columns;
  launch("identity", grid_for(elements), identity_kernel<T>, elements, rows, columns, values);
}

#define TAPEDECK_REAL(T)                                                                                \
  template void copy_transposed(std::int64_t, std::int64_t, std::int64_t, Layout<const T>, Layout<T>,   \
                                const T*, const T*);                                                    \
  template void find_scales(std::int64_t, std::int64_t, std::int64_t, bool, const T*, T*);              \
  template void divide_by_scales(std::int64_t, std::int64_t, const T*, const T*, T*);                   \
  template void multiply_by_scales(std::int64_t, std::int64_t, const T*, T*);                           \
  template void set_nan_by_scales(std::int64_t, std::int64_t, const T*, T*);                            \
  template void find_signs(std::int64_t, const Vectors<T>&, std::int64_t, const T*, std::int64_t, T*);  \
  template void multiply_columns(std::int64_t, std::int64_t, std::int64_t, const T*, std::int64_t, T*); \
  template void set_identity(std::int64_t, std::int64_t, std::int64_t, T*);
TAPEDECK_REAL(float)
TAPEDECK_REAL(double)
#undef TAPEDECK_REAL

}  // namespace tapedeck::cuda
