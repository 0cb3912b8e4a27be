// Inspection of values without copying them: statistics, bins, cells and differences, all in doubles.
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/cuda/block_sums.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/memory.h"
#include "engine/tensor/dtype.h"

namespace tapedeck::cuda {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Lower {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Higher {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b > a ? b : a;
  }
};
struct Farther {  ///< from zero
  __device__ double operator()(double a, double b) const {
    const double size_a = a < 0 ? -a : a, size_b = b < 0 ? -b : b;
    return size_b > size_a || (size_b == size_a && b > a) ? b : a;
  }
};

/// A block of threads for each block of values, or for some of them.
Grid grid_of_blocks(std::int64_t count) {
  return {.blocks = std::min<std::int64_t>(kernels::inspected_blocks(count), 1 << 16),
          .threads = 256,
          .cooperation = Cooperation::block};
}

// bool is read as bytes.
template <class F>
void visit_stored(DType dtype, F&& f) {
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    f(TypeTag<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>{});
  });
}

/// Whole numbers have no subnormal ones: nothing is nearer to 0 than 1.
template <class T>
constexpr double smallest_normal() {
  if constexpr (std::is_floating_point_v<T>) return static_cast<double>(std::numeric_limits<T>::min());
  return 1.0;
}

/// Copies `count` results to the host, and waits for them.
template <class T>
void bring(int device, const Scratch& results, std::int64_t count, T* to) {
  memory_of(device).read(results.data(), to, static_cast<std::size_t>(count) * sizeof(T));
}

// ---- statistics ----

/// The mean of the finite values; their sum may be more than a double holds.
template <class T>
__device__ double mean_of(const T* x, std::int64_t count, unsigned finite, double sum, double* shared) {
  if (finite == 0) return 0;
  if (sum - sum == 0) return sum / finite;
  double mean = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    const auto value = static_cast<double>(x[i]);
    if (value - value == 0) mean += value / finite;
  }
  return block_sum(mean, shared);
}

template <class T>
__global__ void summary_kernel(const T* values, std::int64_t count, double normal, BlockSummary* blocks) {
  __shared__ double doubles[most_warps];
  __shared__ unsigned counts[most_warps];
  const std::int64_t number = (count + inspected_block - 1) / inspected_block;
  for (std::int64_t block = blockIdx.x; block < number; block += gridDim.x) {
    const T* x = values + block * inspected_block;
    const std::int64_t left = count - block * inspected_block,
                       n = left < inspected_block ? left : inspected_block;
    unsigned finite = 0, zeros = 0, subnormals = 0, nan = 0, above = 0, below = 0;
    double low = infinity, high = -infinity, sum = 0;
    for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      const auto value = static_cast<double>(x[i]);
      if (value - value == 0) {
        ++finite;
        zeros += value == 0;
        subnormals += value != 0 && value < normal && value > -normal;
        low = value < low ? value : low;
        high = value > high ? value : high;
        sum += value;
      } else {
        nan += value != value;
        above += value > 0;
        below += value < 0;
      }
    }
    BlockSummary all;
    const unsigned finite_of_all = block_sum(finite, counts);
    all.finite = finite_of_all;
    all.zeros = block_sum(zeros, counts);
    all.subnormals = block_sum(subnormals, counts);
    all.nan = block_sum(nan, counts);
    all.positive_infinity = block_sum(above, counts);
    all.negative_infinity = block_sum(below, counts);
    all.minimum = join_block(low, doubles, Lower());
    all.maximum = join_block(high, doubles, Higher());
    all.mean = mean_of(x, n, finite_of_all, block_sum(sum, doubles), doubles);
    double spread = 0;
    for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      const auto value = static_cast<double>(x[i]);
      if (value - value == 0) spread += (value - all.mean) * (value - all.mean);
    }
    all.spread = block_sum(spread, doubles);
    if (threadIdx.x == 0) blocks[block] = all;
  }
}

// ---- bins ----

/// Halves, because the distance of two doubles may be more than a double holds.
struct Bins {
  double low, width, scale;
  unsigned count;
};

template <class T>
__global__ void bins_kernel(const T* values, std::int64_t count, Bins bins, unsigned long long* counts) {
  unsigned* own = shared_memory<unsigned>();
  for (unsigned i = threadIdx.x; i < bins.count; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) {
    const double distance = static_cast<double>(values[i]) / 2 - bins.low;
    if (!(distance >= 0 && distance <= bins.width)) continue;  // NaN, infinities
    const double position = bins.scale > 0   ? distance * bins.scale
                            : bins.width > 0 ? distance / bins.width * bins.count
                                             : 0;
    atomicAdd(&own[position < bins.count - 1 ? static_cast<unsigned>(position) : bins.count - 1], 1U);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < bins.count; i += blockDim.x)
    if (own[i] > 0) atomicAdd(&counts[i], static_cast<unsigned long long>(own[i]));
}

// ---- cells ----

/// A block of threads for each cell, or for some of them. `join` begins with `first`.
template <class T, class Join>
__global__ void cells_kernel(const T* values, Cells cells, std::int64_t columns, std::int64_t count,
                             bool mean, double first, Join join, double* results) {
  __shared__ double doubles[most_warps];
  __shared__ unsigned counts[most_warps];
  for (std::int64_t cell = blockIdx.x; cell < count; cell += gridDim.x) {
    const std::int64_t top = cell / columns * cells.step[0], left = cell % columns * cells.step[1];
    const std::int64_t height = cells.extent[0] - top < cells.step[0] ? cells.extent[0] - top : cells.step[0];
    const std::int64_t width =
        cells.extent[1] - left < cells.step[1] ? cells.extent[1] - left : cells.step[1];
    const T* corner = values + top * cells.stride[0] + left * cells.stride[1];
    double joined = first;
    unsigned nan = 0;
    for (std::int64_t i = threadIdx.x; i < height * width; i += blockDim.x) {
      const auto value =
          static_cast<double>(corner[i / width * cells.stride[0] + i % width * cells.stride[1]]);
      nan += value != value;
      joined = join(joined, value);
    }
    joined = join_block(joined, doubles, join);
    nan = block_sum(nan, counts);
    if (threadIdx.x != 0) continue;
    results[cell] = nan > 0 ? std::numeric_limits<double>::quiet_NaN()
                    : mean  ? joined / static_cast<double>(height * width)
                            : joined;
  }
}

// ---- differences ----

struct Far {
  double absolute, largest;
};
/// Of whole numbers to the last digit, also where both round to one double.
template <class T>
__device__ Far distance_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Size = std::uint64_t;
    const auto x = static_cast<Size>(a), y = static_cast<Size>(b);
    Size size_x = x, size_y = y;
    if constexpr (std::is_signed_v<T>) {
      if (a < 0) size_x = Size{0} - x;
      if (b < 0) size_y = Size{0} - y;
    }
    return {static_cast<double>(a > b ? x - y : y - x),
            static_cast<double>(size_x > size_y ? size_x : size_y)};
  } else {
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    const double distance = x > y ? x - y : y - x;
    const double size_x = x < 0 ? -x : x, size_y = y < 0 ? -y : y;
    return {distance - distance == 0 ? distance : infinity, size_x > size_y ? size_x : size_y};
  }
}

template <class T>
__global__ void differences_kernel(const T* a, const T* b, std::int64_t count,
                                   kernels::AllowedDifference allowed, BlockDifference* blocks) {
  constexpr std::int64_t nowhere = INT64_MAX;
  __shared__ double doubles[most_warps];
  __shared__ std::int64_t places[most_warps];
  const std::int64_t number = (count + inspected_block - 1) / inspected_block;
  for (std::int64_t block = blockIdx.x; block < number; block += gridDim.x) {
    const std::int64_t begin = block * inspected_block;
    const std::int64_t end = count < begin + inspected_block ? count : begin + inspected_block;
    std::int64_t differing = 0, place = nowhere;
    double absolute = -1, relative = 0;
    for (std::int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
      if (a[i] == b[i] || (a[i] != a[i] && b[i] != b[i])) continue;
      const Far far = distance_of(a[i], b[i]);
      if (far.absolute < infinity && far.absolute <= allowed.absolute + allowed.relative * far.largest)
        continue;
      ++differing;
      const double share = far.absolute < infinity && far.largest > 0 ? far.absolute / far.largest : infinity;
      relative = share > relative ? share : relative;
      if (far.absolute > absolute) absolute = far.absolute, place = i;
    }
    const double largest = join_block(absolute, doubles, Higher());
    place = join_block(absolute == largest ? place : nowhere, places, Lower());
    BlockDifference all;
    all.differing = block_sum(differing, places);
    all.relative = join_block(relative, doubles, Higher());
    if (place != nowhere) all.place = place, all.absolute = largest;
    if (threadIdx.x == 0) blocks[block] = all;
  }
}

}  // namespace

void summarize(int gpu, DType dtype, const void* values, std::int64_t count, BlockSummary* blocks) {
  if (count == 0) return;
  const OnDevice here(gpu);
  const std::int64_t number = kernels::inspected_blocks(count);
  const Scratch results(static_cast<std::size_t>(number) * sizeof(BlockSummary));
  visit_stored(dtype, [&]<class T>(TypeTag<T>) {
    launch("summarize", grid_of_blocks(count), summary_kernel<T>, static_cast<const T*>(values), count,
           smallest_normal<T>(), results.as<BlockSummary>());
  });
  bring(gpu, results, number, blocks);
}

void histogram(int gpu, DType dtype, const void* values, std::int64_t count, double minimum, double maximum,
               std::span<std::uint64_t> counts) {
  const OnDevice here(gpu);
  const auto size = static_cast<std::int64_t>(counts.size());
  const Scratch results(counts.size_bytes());
  const std::uint64_t none = 0;
  fill(sizeof none, &none, results.data(), size);
  Bins bins{minimum / 2, maximum / 2 - minimum / 2, 0, static_cast<unsigned>(size)};
  if (bins.width > 0) bins.scale = bins.count / bins.width;
  if (!std::isnormal(bins.scale)) bins.scale = 0;  // a width near the limits of doubles
  Grid grid = grid_for(count, 64);
  grid.shared_bytes = counts.size() * sizeof(unsigned);
  grid.cooperation = Cooperation::block;
  visit_stored(dtype, [&]<class T>(TypeTag<T>) {
    launch("histogram", grid, bins_kernel<T>, static_cast<const T*>(values), count, bins,
           results.as<unsigned long long>());
  });
  bring(gpu, results, size, counts.data());
}

void cell_values(int gpu, DType dtype, const void* values, const Cells& cells, CellValue which,
                 double* values_of_cells) {
  const OnDevice here(gpu);
  const std::int64_t columns = cells.count(1), count = cells.count(0) * columns;
  const Scratch results(static_cast<std::size_t>(count) * sizeof(double));
  const Grid grid{.blocks = std::min<std::int64_t>(count, 1 << 16),
                  .threads = threads_for_row(cells.step[0] * cells.step[1]),
                  .cooperation = Cooperation::block};
  visit_stored(dtype, [&]<class T>(TypeTag<T>) {
    const auto join = [&]<class Join>(double first, Join by) {
      launch("cell_values", grid, cells_kernel<T, Join>, static_cast<const T*>(values), cells, columns, count,
             which == CellValue::mean, first, by, results.as<double>());
    };
    switch (which) {
      case CellValue::mean:
        return join(0, Plus());
      case CellValue::extreme:
        return join(0, Farther());
      case CellValue::minimum:
        return join(infinity, Lower());
      case CellValue::maximum:
        return join(-infinity, Higher());
    }
  });
  bring(gpu, results, count, values_of_cells);
}

void differences(int gpu, DType dtype, const void* a, const void* b, std::int64_t count,
                 const AllowedDifference& allowed, BlockDifference* blocks) {
  if (count == 0) return;
  const OnDevice here(gpu);
  const std::int64_t number = kernels::inspected_blocks(count);
  const Scratch results(static_cast<std::size_t>(number) * sizeof(BlockDifference));
  visit_stored(dtype, [&]<class T>(TypeTag<T>) {
    launch("differences", grid_of_blocks(count), differences_kernel<T>, static_cast<const T*>(a),
           static_cast<const T*>(b), count, allowed, results.as<BlockDifference>());
  });
  bring(gpu, results, number, blocks);
}

}  // namespace tapedeck::cuda
