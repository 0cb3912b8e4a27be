// Stream compaction: the indices at which a predicate holds, in order.
#pragma once

#include "engine/cuda/launch.h"

namespace tapedeck::cuda {

constexpr int compact_threads = 256;
constexpr std::int64_t least_compact_part = 2048, most_compact_parts = 2048;

/// Indices from 0 to count − 1, in parts with a block each.
struct CompactParts {
  std::int64_t count, part, parts;

  explicit CompactParts(std::int64_t places) : count(places) {
    const std::int64_t least = (places + most_compact_parts - 1) / most_compact_parts;
    part = std::max(least_compact_part, (least + compact_threads - 1) / compact_threads * compact_threads);
    parts = (places + part - 1) / part;
  }
  Grid grid() const {
    return {.blocks = parts, .threads = compact_threads, .cooperation = Cooperation::block};
  }
  std::size_t counts_bytes() const { return static_cast<std::size_t>(parts) * sizeof(std::int64_t); }
};

/// The sum over the block, for all of its threads.
__device__ inline unsigned long long block_sum(unsigned long long value) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (int by = 16; by > 0; by /= 2) value += __shfl_down_sync(0xffffffffU, value, static_cast<unsigned>(by));
  if (threadIdx.x % 32 == 0) atomicAdd(&sum, value);
  __syncthreads();
  const unsigned long long result = sum;
  __syncthreads();
  return result;
}

/// Counts the indices of each part for which `holds(place)` is true.
template <class Holds>
__global__ void count_parts_kernel(CompactParts of, Holds holds, std::int64_t* counts) {
  const std::int64_t begin = blockIdx.x * of.part;
  const std::int64_t end = begin + of.part < of.count ? begin + of.part : of.count;
  unsigned long long found = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += compact_threads) found += holds(i) ? 1 : 0;
  found = block_sum(found);
  if (threadIdx.x == 0) counts[blockIdx.x] = static_cast<std::int64_t>(found);
}

/// Calls `write(place, number, holds)` for each index; `number`: how many indices up to this one hold.
template <class Holds, class Write>
__global__ void number_places_kernel(CompactParts of, Holds holds, Write write, const std::int64_t* counts) {
  constexpr int warps = compact_threads / 32;
  __shared__ int in_warp[warps];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  unsigned long long before = 0;
  for (std::int64_t i = threadIdx.x; i < blockIdx.x; i += compact_threads)
    before += static_cast<unsigned long long>(counts[i]);
  auto number = static_cast<std::int64_t>(block_sum(before));
  const std::int64_t begin = blockIdx.x * of.part;
  const std::int64_t end = begin + of.part < of.count ? begin + of.part : of.count;
  for (std::int64_t first = begin; first < end; first += compact_threads) {
    const std::int64_t i = first + threadIdx.x;
    const bool own = i < end && holds(i);
    const unsigned lanes = __ballot_sync(0xffffffffU, own ? 1 : 0);
    if (lane == 0) in_warp[warp] = __popc(lanes);
    __syncthreads();
    int here = __popc(lanes & (~0U >> (31 - lane))), all = 0;
    for (int other = 0; other < warps; ++other) {
      if (other < warp) here += in_warp[other];
      all += in_warp[other];
    }
    if (i < end) write(i, number + here, own);
    number += all;
    __syncthreads();
  }
}

}  // namespace tapedeck::cuda
