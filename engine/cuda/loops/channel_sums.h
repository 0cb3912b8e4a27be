// Sums over all values of each channel of outer × channels × inner arrays: first within parts, then over the
// parts, in an order that depends only on the shape.
#pragma once

#include <algorithm>
#include <bit>

#include "engine/backend/kernels.h"
#include "engine/cuda/block_sums.h"
#include "engine/cuda/index.h"

namespace tapedeck::cuda {

/// How the channels' values are divided. A block takes `tile` adjacent channels and `values` values of each.
struct ChannelParts {
  static constexpr int threads = 256;
  static constexpr std::int64_t enough_blocks = 1024;  ///< for the processors of a large GPU
  static constexpr std::int64_t worth_a_thread = 8;    ///< values

  kernels::Channels of;
  std::int64_t all;  ///< values of a channel
  int tile;          ///< a power of two
  std::int64_t tiles;
  std::int64_t values;  ///< of a channel in a part
  std::int64_t count;   ///< parts

  explicit ChannelParts(const kernels::Channels& channels)
      : of(channels),
        all(of.outer * of.inner),
        tile(of.inner == 1 ? static_cast<int>(std::bit_ceil(
                                 static_cast<unsigned>(std::clamp<std::int64_t>(of.channels, 1, 32))))
                           : 1),
        tiles((of.channels + tile - 1) / tile) {
    const std::int64_t lanes = threads / tile;
    const std::int64_t wanted =
        std::min(enough_blocks / std::max<std::int64_t>(1, tiles), all / (lanes * worth_a_thread));
    const std::int64_t most = std::clamp<std::int64_t>(wanted, 1, threads);
    values = std::max<std::int64_t>(1, (all + most - 1) / most);
    count = (all + values - 1) / values;
  }
  Grid grid() const {
    return {.blocks = tiles * count, .threads = threads, .cooperation = Cooperation::block};
  }
  Grid join_grid() const {
    return {.blocks = of.channels, .threads = count <= 32 ? 32 : threads, .cooperation = Cooperation::block};
  }
};

/// A thread's share of a part.
template <class Index>
struct ChannelLane {
  Index channels;
  Divisor<Index> inner;
  Index part, channel, first, last;  ///< `first`, `last`: of the channel's values
  int tile, lanes;

  __device__ ChannelLane(Index all_channels, const Divisor<Index>& inner_values, Index all, Index values,
                         int of_tile)
      : channels(all_channels),
        inner(inner_values),
        tile(of_tile),
        lanes(static_cast<int>(blockDim.x) / of_tile) {
    const Index tiles = (channels + tile - 1) / tile;
    part = static_cast<Index>(blockIdx.x) / tiles;
    channel = (static_cast<Index>(blockIdx.x) - part * tiles) * tile + static_cast<Index>(threadIdx.x) % tile;
    last = (part + 1) * values < all ? (part + 1) * values : all;
    first = channel < channels ? part * values + static_cast<Index>(threadIdx.x) / tile : last;
  }
  __device__ Index place(Index value) const {
    if (inner == 1) return value * channels + channel;
    const Index outer = value / inner;
    return (outer * channels + channel) * inner + (value - outer * inner);
  }
  __device__ bool writes() const { return static_cast<int>(threadIdx.x) < tile && channel < channels; }
  /// The sum over the threads of the same channel, returned to all of them. `shared` has room for a value of
  /// each thread.
  __device__ double sum(double value, double* shared) const {
    const int thread = static_cast<int>(threadIdx.x);
    shared[thread] = value;
    __syncthreads();
    for (int half = static_cast<int>(blockDim.x) / 2; half >= tile; half /= 2) {
      if (thread < half) shared[thread] += shared[thread + half];
      __syncthreads();
    }
    value = shared[thread % tile];
    __syncthreads();
    return value;
  }
};

/// term(place, value's number in its channel, channel, sums) adds to `sums`. out: sums × parts × channels.
template <int sums, class Index, class Term>
__global__ void channel_parts(Index channels, Divisor<Index> inner, Index all, Index values, int tile,
                              Index parts, Term term, double* out) {
  __shared__ double shared[ChannelParts::threads];
  const ChannelLane<Index> lane(channels, inner, all, values, tile);
  double own[sums] = {};
  for (Index i = lane.first; i < lane.last; i += lane.lanes) term(lane.place(i), i, lane.channel, own);
  for (int k = 0; k < sums; ++k) {
    const double total = lane.sum(own[k], shared);
    if (lane.writes())
      out[(static_cast<std::int64_t>(k) * parts + lane.part) * channels + lane.channel] = total;
  }
}

/// store(channel, sums) takes the results.
template <int sums, class Store>
__global__ void channel_totals(std::int64_t channels, std::int64_t parts, const double* values, Store store) {
  __shared__ double shared[most_warps];
  for (std::int64_t channel = blockIdx.x; channel < channels; channel += gridDim.x) {
    double totals[sums] = {};
    for (int k = 0; k < sums; ++k) {
      double own = 0;
      for (std::int64_t part = threadIdx.x; part < parts; part += blockDim.x)
        own += values[(k * parts + part) * channels + channel];
      totals[k] = block_sum(own, shared);
    }
    if (threadIdx.x == 0) store(channel, totals);
  }
}

/// Calls `term` for all values, and `store` for each channel.
template <int sums, class Term, class Store>
void sum_channels(const char* name, const ChannelParts& parts, const Term& term, const Store& store) {
  const Scratch values(static_cast<std::size_t>(sums * parts.count * parts.of.channels) * sizeof(double));
  visit_index(parts.all * parts.of.channels + parts.values, [&]<class Index>(Index) {
    launch(name, parts.grid(), channel_parts<sums, Index, Term>, static_cast<Index>(parts.of.channels),
           Divisor<Index>(parts.of.inner), static_cast<Index>(parts.all), static_cast<Index>(parts.values),
           parts.tile, static_cast<Index>(parts.count), term, values.as<double>());
  });
  launch(name, parts.join_grid(), channel_totals<sums, Store>, parts.of.channels, parts.count,
         values.as<double>(), store);
}

}  // namespace tapedeck::cuda
