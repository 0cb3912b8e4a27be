// Softmax and logsumexp: exponentials by the CPU's function, summed in its pattern of lanes, so softmax has
// its bits. The logarithm of the sum is rounded once from float64 (of float32), or within 2 ulp (of float64).
#include <cmath>

#include "engine/cpu/vector/math.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/lanes.h"

namespace tapedeck::cuda {
namespace {

constexpr std::int64_t long_row = 2048;  ///< worth a block
template <class T>
constexpr int most_packs = 64 / static_cast<int>(sizeof(T));  ///< of a row that a thread keeps in registers
constexpr int block_threads = 256;

enum class Result : std::uint8_t { softmax, log_softmax, logsumexp };

__device__ __forceinline__ float logarithm(float x) {
  return static_cast<float>(std::log(static_cast<double>(x)));
}
__device__ __forceinline__ double logarithm(double x) {
  return std::log(x);
}

template <class T>
using Halves = PackedLanes<T, Sum>;
template <class T>
constexpr int own = Halves<T>::own;  ///< elements side by side of a thread
template <class T>
using Values = Pack<T, own<T>>;

/// The highest of the elements first, first + step … and of those that follow each in its pack.
template <class T>
__device__ __forceinline__ T highest_of(const T* x, std::int64_t count, int first, int step) {
  T highest = lowest<T>;
#pragma unroll 1
  for (std::int64_t i = first; i < count; i += step)
    for (const T value : load_pack<own<T>>(x, i, count).values) highest = Maximum::combine(highest, value);
  return highest;
}
template <class T>
__device__ __forceinline__ Values<T> exponentials_of(Values<T> x, T shift) {
  for (T& value : x.values) value = cpu::TAPEDECK_ISA::exp_of_negative(value - shift);
  return x;
}

/// The results of the elements first, first + step … of a row, and of those that follow each in its pack.
/// Input and output may be the same memory.
template <Result result, class T>
__device__ __forceinline__ void finish_row(const T* x, std::int64_t row, std::int64_t count, int first,
                                           int step, T shift, T sum, T* out) {
  if constexpr (result == Result::logsumexp) {
    if (first == 0) out[row] = std::isinf(shift) ? shift : shift + logarithm(sum);
  } else {
    const T log_sum = result == Result::log_softmax ? logarithm(sum) : T(0);
    T* const to = out + row * count;
#pragma unroll 1
    for (std::int64_t i = first; i < count; i += step) {
      Values<T> values = load_pack<own<T>>(x, i, count);
      if constexpr (result == Result::softmax) {
        values = exponentials_of(values, shift);
        for (T& value : values.values) value /= sum;
      } else {
        for (T& value : values.values) value = (value - shift) - log_sum;
      }
      store_pack(to, i, count, values);
    }
  }
}

/// The highest value of each group of this many threads.
template <int threads, class T>
__device__ __forceinline__ T maximum_among(T value) {
  for (int bits = threads / 2; bits > 0; bits /= 2) value = Maximum::combine(value, shuffle_xor(value, bits));
  return value;
}

/// The sum of the exponentials of the thread's row, `first` or the one behind it: of the lanes, which hold
/// whole steps, and of the rest.
template <class T>
__device__ __forceinline__ T sum_of_half(const Halves<T>& halves, const T* values, std::int64_t first,
                                         std::int64_t rows, std::int64_t count, T shift) {
  const std::int64_t whole = count / Halves<T>::step * Halves<T>::step;
  T sum = T(0);
  for (int half = 0; half < 2; ++half) {
    const T* const of_half = values + (first + half < rows ? first + half : first) * count;
    const T its_shift = shuffle(shift, half * Halves<T>::threads);
    const T found = halves.of_half(half).finish(whole, count, [=](std::int64_t i) {
      return cpu::TAPEDECK_ISA::exp_of_negative(of_half[i] - its_shift);
    });
    const T its_sum = shuffle(found, 0);
    if (Halves<T>::half() == half) sum = its_sum;
  }
  return sum;
}

/// Half a warp for each row.
template <Result result, class T>
__global__ void rows_by_warps_kernel(const T* values, std::int64_t rows, std::int64_t count, T* out) {
  constexpr int threads = Halves<T>::threads, step = Halves<T>::step;
  const std::int64_t whole = count / step * step;
  for (std::int64_t first = 2 * warp_number(); first < rows; first += 2 * warp_count()) {
    const bool exists = first + Halves<T>::half() < rows;
    const std::int64_t row = exists ? first + Halves<T>::half() : first;
    const T* const x = values + row * count;
    const T shift = maximum_among<threads>(highest_of(x, count, Halves<T>::first(), step));
    Halves<T> halves;
    halves.add(whole, [=](std::int64_t i) { return exponentials_of(load_pack<own<T>>(x, i, count), shift); });
    const T sum = sum_of_half(halves, values, first, rows, count, shift);
    if (exists) finish_row<result>(x, row, count, Halves<T>::first(), step, shift, sum, out);
  }
}

/// The same of rows of up to `packs` packs for each thread, of which each is read once.
template <Result result, int packs, class T>
__global__ void short_rows_by_warps_kernel(const T* values, std::int64_t rows, std::int64_t count, T* out) {
  constexpr int threads = Halves<T>::threads, step = Halves<T>::step;
  const std::int64_t whole = count / step * step;
  const int own_first = Halves<T>::first();
  for (std::int64_t first = 2 * warp_number(); first < rows; first += 2 * warp_count()) {
    const bool exists = first + Halves<T>::half() < rows;
    const std::int64_t row = exists ? first + Halves<T>::half() : first;
    const T* const x = values + row * count;
    Values<T> kept[packs];
    T shift = lowest<T>;
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      const std::int64_t i = own_first + k * step;
      if (i < count) kept[k] = load_pack<own<T>>(x, i, count);
    }
#pragma unroll
    for (int k = 0; k < packs; ++k)
      if (own_first + k * step < count)
        for (const T value : kept[k].values) shift = Maximum::combine(shift, value);
    shift = maximum_among<threads>(shift);
    Halves<T> halves;
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      const std::int64_t i = own_first + k * step;
      if (result == Result::softmax && i < count) kept[k] = exponentials_of(kept[k], shift);
      if (i < whole) halves.add_pack(result == Result::softmax ? kept[k] : exponentials_of(kept[k], shift));
    }
    const T sum = sum_of_half(halves, values, first, rows, count, shift);
    if (!exists) continue;
    if constexpr (result == Result::logsumexp) {
      if (own_first == 0) out[row] = std::isinf(shift) ? shift : shift + logarithm(sum);
    } else {
      const T log_sum = result == Result::log_softmax ? logarithm(sum) : T(0);
#pragma unroll
      for (int k = 0; k < packs; ++k) {
        const std::int64_t i = own_first + k * step;
        if (i >= count) continue;
        for (T& value : kept[k].values)
          value = result == Result::softmax ? value / sum : (value - shift) - log_sum;
        store_pack(out + row * count, i, count, kept[k]);
      }
    }
  }
}

/// A block for each row: all threads make exponentials, a tile at a time, which the first warp adds up.
template <Result result, class T>
__global__ void rows_by_blocks_kernel(const T* values, std::int64_t rows, std::int64_t count, T* out) {
  constexpr std::int64_t step = Lanes<T, Sum>::step, tile = 32 * step;
  __shared__ Values<T> exponentials[tile / own<T>];
  __shared__ T shared_maxima[block_threads / warp_lanes];
  __shared__ T shared_sum;
  const auto thread = static_cast<int>(threadIdx.x), warp = thread / warp_lanes;
  const int first_own = thread * own<T>, block_step = block_threads * own<T>;
  const auto exponential = [](std::int64_t i) { return exponentials[i / own<T>].values[i % own<T>]; };
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = values + row * count;
    T shift = maximum_among<warp_lanes>(highest_of(x, count, first_own, block_step));
    if (lane_number() == 0) shared_maxima[warp] = shift;
    __syncthreads();
    shift = shared_maxima[0];
    for (int other = 1; other < block_threads / warp_lanes; ++other)
      shift = Maximum::combine(shift, shared_maxima[other]);
    Lanes<T, Sum> lanes;
    for (std::int64_t first = 0; first < count; first += tile) {
      const std::int64_t here = count - first < tile ? count - first : tile;
#pragma unroll 1
      for (std::int64_t i = first_own; i < here; i += block_step)
        exponentials[i / own<T>] = exponentials_of(load_pack<own<T>>(x, first + i, count), shift);
      __syncthreads();
      if (warp == 0) {
        lanes.add(0, here / step * step, exponential);
        if (first + here == count) {
          const T sum = lanes.finish(count / step * step, count,
                                     [=](std::int64_t i) { return exponential(i - first); });
          if (thread == 0) shared_sum = sum;
        }
      }
      __syncthreads();
    }
    finish_row<result>(x, row, count, first_own, block_step, shift, shared_sum, out);
    __syncthreads();
  }
}

template <Result result, class T>
void launch_rows(const char* name, const void* values, std::int64_t rows, std::int64_t count, void* out) {
  const T* from = static_cast<const T*>(values);
  T* to = static_cast<T*>(out);
  constexpr std::int64_t step = Halves<T>::step;
  if (count <= step)
    return launch(name, grid_of_warps((rows + 1) / 2, 128), short_rows_by_warps_kernel<result, 1, T>, from,
                  rows, count, to);
  if (count <= 4 * step)
    return launch(name, grid_of_warps((rows + 1) / 2, 128), short_rows_by_warps_kernel<result, 4, T>, from,
                  rows, count, to);
  if (count <= most_packs<T> * step)
    return launch(name, grid_of_warps((rows + 1) / 2, 128),
                  short_rows_by_warps_kernel<result, most_packs<T>, T>, from, rows, count, to);
  if (count < long_row)
    return launch(name, grid_of_warps((rows + 1) / 2), rows_by_warps_kernel<result, T>, from, rows, count,
                  to);
  launch(name,
         Grid{.blocks = std::min<std::int64_t>(rows, 1 << 16),
              .threads = block_threads,
              .cooperation = Cooperation::block},
         rows_by_blocks_kernel<result, T>, from, rows, count, to);
}

template <Result result>
void launch_for(const char* name, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                void* out) {
  if (dtype == DType::float32) return launch_rows<result, float>(name, values, rows, count, out);
  if (dtype == DType::float64) return launch_rows<result, double>(name, values, rows, count, out);
  throw NoKernel(std::string(name) + " of " + std::string(dtype_name(dtype)));
}

}  // namespace

void softmax(DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out) {
  launch_for<Result::softmax>("softmax", dtype, values, rows, count, out);
}
void log_softmax(DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out) {
  launch_for<Result::log_softmax>("log_softmax", dtype, values, rows, count, out);
}
void logsumexp(DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out) {
  launch_for<Result::logsumexp>("logsumexp", dtype, values, rows, count, out);
}

}  // namespace tapedeck::cuda
