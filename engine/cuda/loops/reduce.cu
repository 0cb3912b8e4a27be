// Reductions over one axis, with the CPU's bits: blocks have the sizes that they have in
// cpu/loops/reduce.cpp, are reduced in its pattern of lanes and combined in its order. One thing differs: of
// more than `parts_in_order` blocks, sums of float32 add up in float64 those of `parts_together` at a time.
// The float64 sums then differ in their last bits (by n·2⁻⁵³·Σ|x|), the float32 result by at most one ulp
// more than that.
#include <bit>

#include "engine/cuda/kernels.h"
#include "engine/cuda/lanes.h"
#include "engine/tensor/dtype.h"

namespace tapedeck::cuda {
namespace {

constexpr std::int64_t block = 4096;
constexpr std::int64_t row_block = 512;
constexpr std::int64_t narrow = 256;
constexpr std::int64_t parts_in_order = 256, parts_together = 128;
constexpr std::int64_t many_tasks = 8192;  ///< enough for a thread each

std::int64_t parts_of(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

// ---- where the values come from ----

/// `pack` gives values side by side, where takes_packs says that memory can be read so.
template <class T>
struct Plain {
  using type = T;
  const T* x;
  __device__ __forceinline__ T operator()(std::int64_t i) const { return x[i]; }
  template <class P>
  __device__ __forceinline__ bool takes_packs(std::int64_t first) const {
    return cuda::takes_packs<P>(x + first);
  }
  template <int width>
  __device__ __forceinline__ Pack<T, width> pack(std::int64_t i) const {
    return load_pack<width>(x + i);
  }
};
__device__ __forceinline__ float rounded_product(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double rounded_product(double a, double b) {
  return __dmul_rn(a, b);
}
template <class T>
__device__ __forceinline__ T rounded_product(T a, T b) {
  return a * b;
}
struct Multiplied {
  template <class T>
  __device__ __forceinline__ static T of(T x, T y) {
    return rounded_product(x, y);
  }
};
struct SquaredDistance {
  template <class T>
  __device__ __forceinline__ static T of(T x, T y) {
    return rounded_product(x - y, x - y);
  }
};
template <class F, class T>
struct Pairs {
  using type = T;
  const T *x, *y;
  __device__ __forceinline__ T operator()(std::int64_t i) const { return F::of(x[i], y[i]); }
  template <class P>
  __device__ __forceinline__ bool takes_packs(std::int64_t first) const {
    return cuda::takes_packs<P>(x + first) && cuda::takes_packs<P>(y + first);
  }
  template <int width>
  __device__ __forceinline__ Pack<T, width> pack(std::int64_t i) const {
    Pack<T, width> result = load_pack<width>(x + i);
    const Pack<T, width> others = load_pack<width>(y + i);
    for (int k = 0; k < width; ++k) result.values[k] = F::of(result.values[k], others.values[k]);
    return result;
  }
};

// ---- rows ----

/// Rows shorter than a step of the lanes: `group` threads for each, see reduce_in_group.
template <class F, class T>
__global__ void short_rows_kernel(const T* values, std::int64_t rows, std::int64_t count, int group, T* out) {
  const std::int64_t rows_a_warp = warp_lanes / group;
  for (std::int64_t first = warp_number() * rows_a_warp; first < rows; first += warp_count() * rows_a_warp) {
    const std::int64_t row = first + lane_number() / group;
    const T* x = values + (row < rows ? row : first) * count;
    const T result = reduce_in_group<T, F>(group, count, [x](std::int64_t i) { return x[i]; });
    if (row < rows && lane_number() % group == 0) out[row] = result;
  }
}

/// Half a warp for each part of `size` elements of each row; out: rows × parts.
template <class F, class Source>
__global__ void parts_kernel(Source source, std::int64_t rows, std::int64_t count, std::int64_t size,
                             typename Source::type* out) {
  using T = typename Source::type;
  using Halves = PackedLanes<T, F>;
  using Values = Pack<T, Halves::own>;
  const std::int64_t parts = (count + size - 1) / size, tasks = rows * parts;
  for (std::int64_t task = 2 * warp_number(); task < tasks; task += 2 * warp_count()) {
    const std::int64_t mine = task + Halves::half() < tasks ? task + Halves::half() : task;
    const std::int64_t begin = mine % parts * size, first = mine / parts * count + begin;
    const std::int64_t here = count - begin < size ? count - begin : size;
    const std::int64_t whole = here / Halves::step * Halves::step;
    Halves halves;
    if (source.template takes_packs<Values>(first)) {
      halves.add(whole, [=](std::int64_t i) { return source.template pack<Halves::own>(first + i); });
    } else {
      halves.add(whole, [=](std::int64_t i) {
        Values values;
        for (int k = 0; k < Halves::own; ++k) values.values[k] = source(first + i + k);
        return values;
      });
    }
    for (int half = 0; half < 2 && task + half < tasks; ++half) {
      const int leader = half * Halves::threads;
      const std::int64_t first_of_half = shuffle(first, leader);
      const T result = halves.of_half(half).finish(shuffle(whole, leader), shuffle(here, leader),
                                                   [=](std::int64_t i) { return source(first_of_half + i); });
      if (lane_number() == 0) out[task + half] = result;
    }
  }
}

// ---- parts, outer × count × inner ----

/// A warp for each column; after its `present` parts come neutral ones, up to `count`.
template <class F, class T>
__global__ void combine_kernel(const T* parts, std::int64_t outer, std::int64_t count, std::int64_t present,
                               std::int64_t inner, T* out) {
  for (std::int64_t column = warp_number(); column < outer * inner; column += warp_count()) {
    const T* x = parts + column / inner * present * inner + column % inner;
    const T result = reduce_in_lanes<T, F>(
        count, [=](std::int64_t i) { return i < present ? x[i * inner] : F::template neutral<T>; });
    if (lane_number() == 0) out[column] = result;
  }
}

/// Sums of `size` parts each, in order, in float64; out: outer × sums × inner.
template <class From, class To>
__global__ void add_kernel(const From* parts, std::int64_t outer, std::int64_t count, std::int64_t inner,
                           std::int64_t size, To* out) {
  const std::int64_t sums = (count + size - 1) / size;
  for (std::int64_t task = thread_number(); task < outer * sums * inner; task += thread_count()) {
    const std::int64_t j = task % inner, number = task / inner % sums, i = task / inner / sums;
    const std::int64_t end = count < (number + 1) * size ? count : (number + 1) * size;
    double sum = 0.0;
#pragma unroll 8
    for (std::int64_t k = number * size; k < end; ++k)
      sum += static_cast<double>(parts[(i * count + k) * inner + j]);
    out[task] = static_cast<To>(sum);
  }
}
/// The same by a warp for each sum, whose threads read together.
template <class From, class To>
__global__ void add_by_warps_kernel(const From* parts, std::int64_t outer, std::int64_t count,
                                    std::int64_t inner, std::int64_t size, To* out) {
  const std::int64_t sums = (count + size - 1) / size;
  for (std::int64_t task = warp_number(); task < outer * sums * inner; task += warp_count()) {
    const std::int64_t j = task % inner, number = task / inner % sums, i = task / inner / sums;
    const std::int64_t end = count < (number + 1) * size ? count : (number + 1) * size;
    double sum = 0.0;
    for (std::int64_t first = number * size; first < end; first += warp_lanes) {
      const std::int64_t k = first + lane_number();
      const auto value = k < end ? static_cast<double>(parts[(i * count + k) * inner + j]) : 0.0;
#pragma unroll
      for (int lane = 0; lane < warp_lanes; ++lane) sum += shuffle(value, lane);
    }
    if (lane_number() == 0) out[task] = static_cast<To>(sum);
  }
}
template <class From, class To>
void add_parts(const char* name, const From* parts, std::int64_t outer, std::int64_t count,
               std::int64_t inner, std::int64_t size, To* out) {
  const std::int64_t tasks = outer * parts_of(count, size) * inner;
  if (tasks >= many_tasks || count <= 8)
    launch(name, grid_for(tasks), add_kernel<From, To>, parts, outer, count, inner, size, out);
  else
    launch(name, grid_of_warps(tasks, 64), add_by_warps_kernel<From, To>, parts, outer, count, inner, size,
           out);
}

/// Reduces the parts of each column, of which the last ones, neutral, are not `present` in memory.
template <class F, class T>
void combine_parts(const char* name, const T* parts, std::int64_t outer, std::int64_t count,
                   std::int64_t present, std::int64_t inner, T* out) {
  if constexpr (std::is_same_v<T, float> && std::is_same_v<F, Sum>) {
    if (present <= parts_in_order) return add_parts(name, parts, outer, present, inner, present, out);
    const std::int64_t sums = parts_of(present, parts_together);
    const Scratch scratch(static_cast<std::size_t>(outer * sums * inner) * sizeof(double));
    add_parts(name, parts, outer, present, inner, parts_together, scratch.as<double>());
    add_parts(name, scratch.as<double>(), outer, sums, inner, sums, out);
  } else {
    launch(name, grid_of_warps(outer * inner), combine_kernel<F, T>, parts, outer, count, present, inner,
           out);
  }
}

template <class F, class Source>
void reduce_rows(const char* name, const Source& source, std::int64_t rows, std::int64_t count,
                 typename Source::type* out) {
  using T = typename Source::type;
  const std::int64_t parts = parts_of(count, block);
  const Grid grid = grid_of_warps(parts_of(rows * parts, 2));
  if (parts == 1) return launch(name, grid, parts_kernel<F, Source>, source, rows, count, block, out);
  const Scratch scratch(static_cast<std::size_t>(rows * parts) * sizeof(T));
  launch(name, grid, parts_kernel<F, Source>, source, rows, count, block, scratch.as<T>());
  combine_parts<F>(name, scratch.as<T>(), rows, parts, parts, 1, out);
}

// ---- columns ----

constexpr int columns_threads = 256;

/// Of each matrix of rows × width, blocks of `row_block` rows become one row each, four rows at a time;
/// `rest` values behind the last row make another. out: outer × parts × width. Packs of columns are read
/// together, where all rows begin at multiples of them.
template <class F, int pack, class T>
__global__ void columns_kernel(const T* values, std::int64_t outer, std::int64_t rows, std::int64_t width,
                               std::int64_t rest, T* out) {
  constexpr int warps = columns_threads / warp_lanes;
  constexpr int across = warp_lanes / pack;  // threads of a row
  using Values = Pack<T, pack>;
  __shared__ Values quads[row_block / 4][across];
  const auto combined = [](Values a, const Values& b) {
    for (int k = 0; k < pack; ++k) a.values[k] = F::combine(a.values[k], b.values[k]);
    return a;
  };
  const std::int64_t row_blocks = (rows + row_block - 1) / row_block;
  const std::int64_t parts = row_blocks + (rest > 0 ? 1 : 0);
  const std::int64_t tiles = (width + warp_lanes - 1) / warp_lanes;
  const auto warp = static_cast<int>(threadIdx.x / warp_lanes);
  const int lane = lane_number();
  for (std::int64_t task = blockIdx.x; task < outer * parts * tiles; task += gridDim.x) {
    const std::int64_t tile = task % tiles * warp_lanes;
    const std::int64_t part = task / tiles % parts, matrix = task / tiles / parts;
    const T* x = values + matrix * (rows * width + rest) + part * row_block * width + tile;
    const std::int64_t left = rows - part * row_block;
    const auto here = static_cast<int>(left < 0 ? 0 : left < row_block ? left : row_block);
    if (const int column = lane % across * pack; tile + column < width) {
#pragma unroll 2
      for (int quad = warp * pack + lane / across; quad < here / 4; quad += warps * pack) {
        const auto row = [&](int number) {
          return load_pack<pack>(x + (4 * quad + number) * width + column);
        };
        quads[quad][lane % across] = combined(combined(row(0), row(1)), combined(row(2), row(3)));
      }
    }
    __syncthreads();
    if (const std::int64_t column = tile + lane; warp == 0 && column < width) {
      T result = F::template neutral<T>;
      for (int quad = 0; quad < here / 4; ++quad)
        result = F::combine(result, quads[quad][lane / pack].values[lane % pack]);
      for (int row = here / 4 * 4; row < here; ++row) result = F::combine(result, x[row * width + lane]);
      if (part == row_blocks && column < rest)
        result = values[matrix * (rows * width + rest) + rows * width + column];
      out[(matrix * parts + part) * width + column] = result;
    }
    __syncthreads();
  }
}

template <class F, class T>
void launch_columns(const T* values, std::int64_t outer, std::int64_t rows, std::int64_t width,
                    std::int64_t rest, T* out) {
  constexpr int pack = std::min(4, pack_width<T>);
  const bool packs =
      takes_packs<Pack<T, pack>>(values) && width % pack == 0 && (outer == 1 || rest % pack == 0);
  const std::int64_t blocks =
      outer * (parts_of(rows, row_block) + (rest > 0 ? 1 : 0)) * parts_of(width, warp_lanes);
  launch("reduce_columns",
         Grid{.blocks = std::min<std::int64_t>(blocks, 1 << 16),
              .threads = columns_threads,
              .cooperation = Cooperation::block},
         packs ? columns_kernel<F, pack, T> : columns_kernel<F, 1, T>, values, outer, rows, width, rest, out);
}

/// As reduce_columns of cpu/loops/reduce.cpp.
template <class F, class T>
void reduce_columns(const T* values, std::int64_t outer, std::int64_t count, std::int64_t inner, T* out) {
  const std::int64_t together = std::min(count, inner < narrow ? parts_of(narrow, inner) : 1);
  const std::int64_t width = inner * together, rows = count / together, rest = count - rows * together;
  const std::int64_t part_rows = parts_of(rows, row_block) + (rest > 0 ? 1 : 0);
  if (rows == 1 && together > 1)
    return combine_parts<F>("reduce_columns", values, outer, part_rows * together, count, inner, out);
  if (part_rows * together == 1) return launch_columns<F>(values, outer, rows, width, rest * inner, out);
  const Scratch scratch(static_cast<std::size_t>(outer * part_rows * width) * sizeof(T));
  launch_columns<F>(values, outer, rows, width, rest * inner, scratch.as<T>());
  combine_parts<F>("reduce_columns", scratch.as<T>(), outer, part_rows * together, part_rows * together,
                   inner, out);
}

template <class F, class T>
void reduce_as(const void* from, std::int64_t outer, std::int64_t count, std::int64_t inner, void* to) {
  const T* values = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  if (outer * inner == 0) return;
  if (count == 0)
    return launch("reduce_nothing", grid_for(outer * inner, pack_width<T>), fill_kernel<T>, out,
                  F::template neutral<T>, outer * inner);
  if (inner > 1) return reduce_columns<F>(values, outer, count, inner, out);
  using Row = Lanes<T, F>;
  if (count >= Row::step) return reduce_rows<F>("reduce_rows", Plain<T>{values}, outer, count, out);
  const auto group = static_cast<int>(
      std::min<std::uint64_t>(Row::vector, std::bit_floor(static_cast<std::uint64_t>(count))));
  launch("reduce_short_rows", grid_of_warps(parts_of(outer, warp_lanes / group)), short_rows_kernel<F, T>,
         values, outer, count, group, out);
}

/// Truth values are joined eight at a time where they lie so: the order makes no difference.
template <class F>
void reduce_truth(const void* values, std::int64_t outer, std::int64_t count, std::int64_t inner, void* out) {
  using Eight = std::uint64_t;
  constexpr auto together = static_cast<std::int64_t>(sizeof(Eight)), many = 64 * together;
  const auto begins = [](const void* place) { return takes_packs<Pack<Eight, 1>>(place); };
  if (inner % together == 0 && begins(values) && begins(out))
    return reduce_as<F, Eight>(values, outer, count, inner / together, out);
  if (inner > 1 || count < many || count % together != 0 || !begins(values))
    return reduce_as<F, std::uint8_t>(values, outer, count, inner, out);
  const Scratch joined(static_cast<std::size_t>(outer) * sizeof(Eight));
  reduce_as<F, Eight>(values, outer, count / together, 1, joined.as<Eight>());
  reduce_as<F, std::uint8_t>(joined.as<Eight>(), outer, together, 1, out);
}

template <class T, class Wide>
void reduce_numbers(kernels::Reduction op, const void* values, std::int64_t outer, std::int64_t count,
                    std::int64_t inner, void* out) {
  switch (op) {
    case kernels::Reduction::sum:
      return reduce_as<Sum, Wide>(values, outer, count, inner, out);
    case kernels::Reduction::prod:
      return reduce_as<Product, Wide>(values, outer, count, inner, out);
    case kernels::Reduction::max:
      return reduce_as<Maximum, T>(values, outer, count, inner, out);
    case kernels::Reduction::min:
      return reduce_as<Minimum, T>(values, outer, count, inner, out);
    default:
      throw NoKernel("reduce of numbers by a function of truth values");
  }
}

template <class F, class T>
void add_pairs(const char* name, const void* a, const void* b, std::int64_t count, void* out) {
  if (count == 0)
    return launch(name, Grid{.blocks = 1, .threads = 1}, fill_kernel<T>, static_cast<T*>(out), T(0),
                  std::int64_t{1});
  reduce_rows<Sum>(name, Pairs<F, T>{static_cast<const T*>(a), static_cast<const T*>(b)}, 1, count,
                   static_cast<T*>(out));
}

}  // namespace

void reduce(Reduction op, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
            std::int64_t inner, void* out) {
  switch (dtype) {
    case DType::bool_:
      if (op == kernels::Reduction::any) return reduce_truth<Any>(values, outer, count, inner, out);
      if (op == kernels::Reduction::all) return reduce_truth<All>(values, outer, count, inner, out);
      throw NoKernel("reduce of truth values by a function of numbers");
    case DType::int32:
      return reduce_numbers<std::int32_t, std::uint32_t>(op, values, outer, count, inner, out);
    case DType::int64:
      return reduce_numbers<std::int64_t, std::uint64_t>(op, values, outer, count, inner, out);
    case DType::float32:
      return reduce_numbers<float, float>(op, values, outer, count, inner, out);
    case DType::float64:
      return reduce_numbers<double, double>(op, values, outer, count, inner, out);
    default:
      throw NoKernel("reduce of " + std::string(dtype_name(dtype)));
  }
}

void dot(DType dtype, const void* a, const void* b, std::int64_t count, void* out) {
  switch (dtype) {
    case DType::int32:
      return add_pairs<Multiplied, std::uint32_t>("dot", a, b, count, out);
    case DType::int64:
      return add_pairs<Multiplied, std::uint64_t>("dot", a, b, count, out);
    case DType::float32:
      return add_pairs<Multiplied, float>("dot", a, b, count, out);
    case DType::float64:
      return add_pairs<Multiplied, double>("dot", a, b, count, out);
    default:
      throw NoKernel("dot of " + std::string(dtype_name(dtype)));
  }
}

void squared_distance(DType dtype, const void* a, const void* b, std::int64_t count, void* out) {
  if (dtype == DType::float32) return add_pairs<SquaredDistance, float>("squared_distance", a, b, count, out);
  if (dtype == DType::float64)
    return add_pairs<SquaredDistance, double>("squared_distance", a, b, count, out);
  throw NoKernel("squared_distance of " + std::string(dtype_name(dtype)));
}

}  // namespace tapedeck::cuda
