// The positions of extreme values: the result does not depend on the order of comparison.
#include <bit>

#include "engine/cuda/kernels.h"
#include "engine/cuda/warp.h"
#include "engine/tensor/dtype.h"

namespace tapedeck::cuda {
namespace {

constexpr std::int64_t part_of_row = 4096;
constexpr std::int64_t most_parts = 1024;
constexpr std::int64_t part_of_column = 64;
constexpr std::int64_t enough_threads = 1 << 15;

template <class T>
__device__ __forceinline__ bool comes_first(bool largest, T candidate, T best) {
  if (best != best) return false;
  return candidate != candidate || (largest ? candidate > best : candidate < best);
}

template <class T>
struct Found {
  T value;
  std::int64_t place;

  __device__ __forceinline__ void join(bool largest, const Found& other) {
    if (comes_first(largest, other.value, value) ||
        (other.place < place && !comes_first(largest, value, other.value)))
      *this = other;
  }
};

/// Values outer × count × inner; the places that are looked at are all of them, or those of `candidates`,
/// outer × candidate_count × inner.
template <class T>
struct Searched {
  const T* values;
  std::int64_t count, inner;
  const std::int64_t* candidates;
  std::int64_t candidate_count;

  __device__ __forceinline__ Found<T> at(std::int64_t i, std::int64_t k, std::int64_t j) const {
    const std::int64_t place = candidates ? candidates[(i * candidate_count + k) * inner + j] : k;
    return {values[(i * count + place) * inner + j], place};
  }
};

/// `group` threads, a power of two, for each part of `size` places of each column; out: outer × parts ×
/// inner.
template <class T>
__global__ void arg_by_groups_kernel(bool largest, Searched<T> in, std::int64_t outer, std::int64_t size,
                                     int group, std::int64_t* out) {
  const std::int64_t parts = (in.candidate_count + size - 1) / size;
  const std::int64_t tasks = outer * parts * in.inner, tasks_a_warp = warp_lanes / group;
  const int lane = lane_number() % group;
  for (std::int64_t first = warp_number() * tasks_a_warp; first < tasks;
       first += warp_count() * tasks_a_warp) {
    const std::int64_t own = first + lane_number() / group, task = own < tasks ? own : first;
    const std::int64_t j = task % in.inner, part = task / in.inner % parts, i = task / in.inner / parts;
    const std::int64_t begin = part * size;
    const std::int64_t end = in.candidate_count < begin + size ? in.candidate_count : begin + size;
    // Threads behind the end look at the first value, too: it is not counted twice.
    Found<T> best = in.at(i, begin + (begin + lane < end ? lane : 0), j);
    for (std::int64_t k = begin + lane + group; k < end; k += group) best.join(largest, in.at(i, k, j));
    for (int bits = group / 2; bits > 0; bits /= 2)
      best.join(largest, {shuffle_xor(best.value, bits), shuffle_xor(best.place, bits)});
    if (own < tasks && lane == 0) out[own] = best.place;
  }
}

/// A thread for each part of each column, so that those of a warp read side by side.
template <class T>
__global__ void arg_by_threads_kernel(bool largest, Searched<T> in, std::int64_t outer, std::int64_t size,
                                      std::int64_t* out) {
  const std::int64_t parts = (in.candidate_count + size - 1) / size;
  for (std::int64_t task = thread_number(); task < outer * parts * in.inner; task += thread_count()) {
    const std::int64_t j = task % in.inner, part = task / in.inner % parts, i = task / in.inner / parts;
    const std::int64_t begin = part * size;
    const std::int64_t end = in.candidate_count < begin + size ? in.candidate_count : begin + size;
    Found<T> best = in.at(i, begin, j);
    for (std::int64_t k = begin + 1; k < end; ++k) best.join(largest, in.at(i, k, j));
    out[task] = best.place;
  }
}

template <class T>
void search(bool largest, const Searched<T>& in, std::int64_t outer, std::int64_t size, std::int64_t* out) {
  const std::int64_t tasks = outer * ((in.candidate_count + size - 1) / size) * in.inner;
  const std::int64_t length = std::min(size, in.candidate_count);
  if (in.inner > 1 && (length <= part_of_column || tasks >= enough_threads))
    return launch("arg_extreme", grid_for(tasks), arg_by_threads_kernel<T>, largest, in, outer, size, out);
  const auto group = static_cast<int>(
      std::min<std::uint64_t>(warp_lanes, std::bit_ceil(static_cast<std::uint64_t>(length))));
  const std::int64_t tasks_a_warp = warp_lanes / group;
  launch("arg_extreme", grid_of_warps((tasks + tasks_a_warp - 1) / tasks_a_warp), arg_by_groups_kernel<T>,
         largest, in, outer, size, group, out);
}

template <class T>
void arg_extreme_of(bool largest, const void* values, std::int64_t outer, std::int64_t count,
                    std::int64_t inner, std::int64_t* out) {
  Searched<T> in{static_cast<const T*>(values), count, inner, nullptr, count};
  std::int64_t parts = inner == 1
                           ? std::min(most_parts, (count + part_of_row - 1) / part_of_row)
                           : std::min({most_parts, enough_threads / (outer * inner), count / part_of_column});
  if (parts <= 1) return search(largest, in, outer, count, out);
  const std::int64_t size = (count + parts - 1) / parts;
  parts = (count + size - 1) / size;
  const Scratch scratch(static_cast<std::size_t>(outer * parts * inner) * sizeof(std::int64_t));
  search(largest, in, outer, size, scratch.as<std::int64_t>());
  in.candidates = scratch.as<std::int64_t>();
  in.candidate_count = parts;
  search(largest, in, outer, parts, out);
}

}  // namespace

void arg_extreme(bool largest, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
                 std::int64_t inner, std::int64_t* out) {
  if (outer * inner == 0) return;
  switch (dtype) {
    case DType::bool_:
      return arg_extreme_of<std::uint8_t>(largest, values, outer, count, inner, out);
    case DType::int32:
      return arg_extreme_of<std::int32_t>(largest, values, outer, count, inner, out);
    case DType::int64:
      return arg_extreme_of<std::int64_t>(largest, values, outer, count, inner, out);
    case DType::float32:
      return arg_extreme_of<float>(largest, values, outer, count, inner, out);
    case DType::float64:
      return arg_extreme_of<double>(largest, values, outer, count, inner, out);
    default:
      throw NoKernel("arg_extreme of " + std::string(dtype_name(dtype)));
  }
}

}  // namespace tapedeck::cuda
