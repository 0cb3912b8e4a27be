#include <cmath>

#include "engine/cuda/kernels.h"
#include "engine/cuda/loops/channel_sums.h"
#include "engine/cuda/loops/packs.h"

namespace tapedeck::cuda {
namespace {

template <class T>
__device__ double inverse_deviation(T variance, double epsilon) {
  return 1.0 / std::sqrt(static_cast<double>(variance) + epsilon);
}

/// The mean of each part, and the sum of the squared distances from it. out: 2 × parts × channels.
template <class T, class Index>
__global__ void channel_moments(Index channels, Divisor<Index> inner, Index all, Index values, int tile,
                                Index parts, const T* x, double* out) {
  __shared__ double shared[ChannelParts::threads];
  const ChannelLane<Index> lane(channels, inner, all, values, tile);
  double sum = 0;
  for (Index i = lane.first; i < lane.last; i += lane.lanes) sum += static_cast<double>(x[lane.place(i)]);
  const double mean = lane.sum(sum, shared) / static_cast<double>(lane.last - lane.part * values);
  double spread = 0;
  for (Index i = lane.first; i < lane.last; i += lane.lanes) {
    const double distance = static_cast<double>(x[lane.place(i)]) - mean;
    spread += distance * distance;
  }
  spread = lane.sum(spread, shared);
  if (!lane.writes()) return;
  const std::int64_t at = static_cast<std::int64_t>(lane.part) * channels + lane.channel;
  out[at] = mean;
  out[static_cast<std::int64_t>(parts) * channels + at] = spread;
}

/// Mean and variance of each channel from those of the parts, and scale / √(variance + epsilon). Of no parts:
/// NaN.
template <class T>
__global__ void join_moments(std::int64_t channels, std::int64_t parts, std::int64_t values, std::int64_t all,
                             const double* moments, const T* scale, double epsilon, T* mean, T* variance,
                             T* factor) {
  __shared__ double shared[most_warps];
  const auto values_of = [=](std::int64_t part) {
    return static_cast<double>((part + 1) * values < all ? values : all - part * values);
  };
  for (std::int64_t channel = blockIdx.x; channel < channels; channel += gridDim.x) {
    const double* spreads = moments + parts * channels;
    double sum = 0;
    for (std::int64_t part = threadIdx.x; part < parts; part += blockDim.x)
      sum += moments[part * channels + channel] * values_of(part);
    const double centre = block_sum(sum, shared) / static_cast<double>(all);
    double spread = 0;
    for (std::int64_t part = threadIdx.x; part < parts; part += blockDim.x) {
      const double distance = moments[part * channels + channel] - centre;
      spread += spreads[part * channels + channel] + distance * distance * values_of(part);
    }
    spread = block_sum(spread, shared);
    if (threadIdx.x > 0) continue;
    mean[channel] = static_cast<T>(centre);
    variance[channel] = static_cast<T>(spread / static_cast<double>(all));
    factor[channel] =
        static_cast<T>(static_cast<double>(scale[channel]) * inverse_deviation(variance[channel], epsilon));
  }
}

template <class T, class Index>
__global__ void normalize_channels(Divisor<Index> channels, Divisor<Index> inner, Index count, const T* x,
                                   const T* mean, const T* factor, const T* offset, T* y) {
  constexpr int width = pack_width<T>;
  const std::int64_t all = count;
  for (std::int64_t i = thread_number() * width; i < all; i += thread_count() * width) {
    Pack<T, width> values = load_pack<width>(x, i, all);
    for (int k = 0; k < width; ++k) {
      const Index channel = static_cast<Index>(i + k) / inner % channels;
      values.values[k] = (values.values[k] - mean[channel]) * factor[channel] + offset[channel];
    }
    store_pack(y, i, all, values);
  }
}

/// Σ dy and Σ dy·(x − mean).
template <class T>
struct ChannelProducts {
  const T *dy, *x, *mean;
  __device__ void operator()(std::int64_t place, std::int64_t, std::int64_t channel, double* sums) const {
    const auto given = static_cast<double>(dy[place]);
    sums[0] += given;
    sums[1] += given * (static_cast<double>(x[place]) - static_cast<double>(mean[channel]));
  }
};
/// The gradients of scale and offset; dx = factor·(dy − plain − (x − mean)·weighted).
template <class T>
struct StoreChannelGradient {
  const T *scale, *variance;
  double epsilon;
  std::int64_t all;
  T *dscale, *doffset, *factor, *plain, *weighted;
  __device__ void operator()(std::int64_t channel, const double* sums) const {
    const double inverse = inverse_deviation(variance[channel], epsilon);
    dscale[channel] =
        all > 0 ? static_cast<T>(sums[1] * inverse) : T(0);  // the statistics of nothing are NaN
    doffset[channel] = static_cast<T>(sums[0]);
    if (all == 0) return;
    factor[channel] = static_cast<T>(static_cast<double>(scale[channel]) * inverse);
    plain[channel] = static_cast<T>(sums[0] / static_cast<double>(all));
    weighted[channel] = static_cast<T>(sums[1] * inverse * inverse / static_cast<double>(all));
  }
};

template <class T, class Index>
__global__ void channels_gradient(Divisor<Index> channels, Divisor<Index> inner, Index count, const T* dy,
                                  const T* x, const T* mean, const T* factor, const T* plain,
                                  const T* weighted, T* dx) {
  constexpr int width = pack_width<T>;
  const std::int64_t all = count;
  for (std::int64_t i = thread_number() * width; i < all; i += thread_count() * width) {
    const Pack<T, width> values = load_pack<width>(x, i, all), given = load_pack<width>(dy, i, all);
    Pack<T, width> result;
    for (int k = 0; k < width; ++k) {
      const Index channel = static_cast<Index>(i + k) / inner % channels;
      const T distance = values.values[k] - mean[channel];
      result.values[k] = factor[channel] * (given.values[k] - plain[channel] - distance * weighted[channel]);
    }
    store_pack(dx, i, all, result);
  }
}

template <class T>
__global__ void normalize_rows(std::int64_t rows, std::int64_t count, const T* x, const T* scale,
                               const T* offset, double epsilon, T* y, T* mean, T* variance) {
  constexpr int width = pack_width<T>;
  const int begin = static_cast<int>(threadIdx.x) * width, step = static_cast<int>(blockDim.x) * width;
  __shared__ double shared[most_warps];
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* values = x + row * count;
    double sum = 0;
    for (std::int64_t i = begin; i < count; i += step) {
      const Pack<T, width> pack = load_pack<width>(values, i, count);
      for (int k = 0; k < width; ++k)
        if (i + k < count) sum += static_cast<double>(pack.values[k]);
    }
    const double centre = block_sum(sum, shared) / static_cast<double>(count);
    double spread = 0;
    for (std::int64_t i = begin; i < count; i += step) {
      const Pack<T, width> pack = load_pack<width>(values, i, count);
      for (int k = 0; k < width; ++k) {
        const double distance = static_cast<double>(pack.values[k]) - centre;
        if (i + k < count) spread += distance * distance;
      }
    }
    const T own_mean = static_cast<T>(centre);
    const T own_variance = static_cast<T>(block_sum(spread, shared) / static_cast<double>(count));
    const T factor = static_cast<T>(inverse_deviation(own_variance, epsilon));
    for (std::int64_t i = begin; i < count; i += step) {
      Pack<T, width> pack = load_pack<width>(values, i, count);
      const Pack<T, width> scales = load_pack<width>(scale, i, count);
      const Pack<T, width> offsets = load_pack<width>(offset, i, count);
      for (int k = 0; k < width; ++k)
        pack.values[k] = (pack.values[k] - own_mean) * factor * scales.values[k] + offsets.values[k];
      store_pack(y + row * count, i, count, pack);
    }
    if (threadIdx.x > 0) continue;
    mean[row] = own_mean;
    variance[row] = own_variance;
  }
}

/// `inverse`: 1 / √(variance + epsilon) of each row, for the gradient of scale.
template <class T>
__global__ void rows_gradient(std::int64_t rows, std::int64_t count, const T* x, const T* scale,
                              const T* mean, const T* variance, const T* dy, double epsilon, T* dx,
                              T* inverse) {
  constexpr int width = pack_width<T>;
  const int begin = static_cast<int>(threadIdx.x) * width, step = static_cast<int>(blockDim.x) * width;
  __shared__ double shared[most_warps];
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T *values = x + row * count, *given = dy + row * count;
    const auto centre = static_cast<double>(mean[row]);
    double plain = 0, weighted = 0;
    for (std::int64_t i = begin; i < count; i += step) {
      const Pack<T, width> pack = load_pack<width>(values, i, count);
      const Pack<T, width> gradients = load_pack<width>(given, i, count);
      const Pack<T, width> scales = load_pack<width>(scale, i, count);
      for (int k = 0; k < width; ++k) {
        if (i + k >= count) continue;
        const double h = static_cast<double>(gradients.values[k]) * static_cast<double>(scales.values[k]);
        plain += h;
        weighted += h * (static_cast<double>(pack.values[k]) - centre);
      }
    }
    const double deviation = inverse_deviation(variance[row], epsilon);
    const T factor = static_cast<T>(deviation);
    const T plain_share = static_cast<T>(block_sum(plain, shared) / static_cast<double>(count));
    const T weighted_share =
        static_cast<T>(block_sum(weighted, shared) * deviation * deviation / static_cast<double>(count));
    for (std::int64_t i = begin; i < count; i += step) {
      const Pack<T, width> pack = load_pack<width>(values, i, count);
      Pack<T, width> gradients = load_pack<width>(given, i, count);
      const Pack<T, width> scales = load_pack<width>(scale, i, count);
      for (int k = 0; k < width; ++k)
        gradients.values[k] = factor * (gradients.values[k] * scales.values[k] - plain_share -
                                        (pack.values[k] - mean[row]) * weighted_share);
      store_pack(dx + row * count, i, count, gradients);
    }
    if (threadIdx.x == 0) inverse[row] = factor;
  }
}

/// Σ dy·(x − mean)·inverse and Σ dy of each place in the rows.
template <class T>
struct PlaceProducts {
  const T *dy, *x, *mean, *inverse;
  __device__ void operator()(std::int64_t place, std::int64_t row, std::int64_t, double* sums) const {
    const auto given = static_cast<double>(dy[place]);
    sums[0] += given * (static_cast<double>(x[place]) - static_cast<double>(mean[row])) *
               static_cast<double>(inverse[row]);
    sums[1] += given;
  }
};
template <class T>
struct StorePlaceGradient {
  T *dscale, *doffset;
  __device__ void operator()(std::int64_t place, const double* sums) const {
    dscale[place] = static_cast<T>(sums[0]);
    doffset[place] = static_cast<T>(sums[1]);
  }
};

template <class T>
std::size_t bytes_of(std::int64_t count) {
  return static_cast<std::size_t>(count) * sizeof(T);
}

template <class T>
void batch_norm_of(const Channels& of, const T* x, const T* scale, const T* offset, double epsilon, T* y,
                   T* mean, T* variance) {
  const ChannelParts parts(of);
  const Scratch moments(bytes_of<double>(2 * parts.count * of.channels)), factor(bytes_of<T>(of.channels));
  const std::int64_t count = parts.all * of.channels;
  visit_index(count + parts.values, [&]<class Index>(Index) {
    launch("batch_norm_moments", parts.grid(), channel_moments<T, Index>, static_cast<Index>(of.channels),
           Divisor<Index>(of.inner), static_cast<Index>(parts.all), static_cast<Index>(parts.values),
           parts.tile, static_cast<Index>(parts.count), x, moments.as<double>());
    launch("batch_norm_moments", parts.join_grid(), join_moments<T>, of.channels, parts.count, parts.values,
           parts.all, moments.as<double>(), scale, epsilon, mean, variance, factor.as<T>());
    launch("batch_norm", grid_for(count, pack_width<T>), normalize_channels<T, Index>,
           Divisor<Index>(of.channels), Divisor<Index>(of.inner), static_cast<Index>(count), x, mean,
           factor.as<T>(), offset, y);
  });
}

template <class T>
void batch_norm_gradient_of(const Channels& of, const T* x, const T* scale, const T* mean, const T* variance,
                            const T* dy, double epsilon, T* dx, T* dscale, T* doffset) {
  const ChannelParts parts(of);
  const Scratch shares(bytes_of<T>(3 * of.channels));
  T* const factor = shares.as<T>();
  T* const plain = factor + of.channels;
  T* const weighted = plain + of.channels;
  sum_channels<2>(
      "batch_norm_gradient_sums", parts, ChannelProducts<T>{dy, x, mean},
      StoreChannelGradient<T>{scale, variance, epsilon, parts.all, dscale, doffset, factor, plain, weighted});
  const std::int64_t count = parts.all * of.channels;
  visit_index(count, [&]<class Index>(Index) {
    launch("batch_norm_gradient", grid_for(count, pack_width<T>), channels_gradient<T, Index>,
           Divisor<Index>(of.channels), Divisor<Index>(of.inner), static_cast<Index>(count), dy, x, mean,
           factor, plain, weighted, dx);
  });
}

template <class T>
void layer_norm_gradient_of(std::int64_t rows, std::int64_t count, const T* x, const T* scale, const T* mean,
                            const T* variance, const T* dy, double epsilon, T* dx, T* dscale, T* doffset) {
  const Scratch inverse(bytes_of<T>(rows));
  launch("layer_norm_gradient", grid_of_rows(rows, count), rows_gradient<T>, rows, count, x, scale, mean,
         variance, dy, epsilon, dx, inverse.as<T>());
  sum_channels<2>("layer_norm_gradient_sums", ChannelParts({rows, count, 1}),
                  PlaceProducts<T>{dy, x, mean, inverse.as<T>()}, StorePlaceGradient<T>{dscale, doffset});
}

template <class F>
void visit_floating(const char* kernel, DType dtype, F&& f) {
  if (dtype == DType::float32)
    f(float{});
  else if (dtype == DType::float64)
    f(double{});
  else
    throw NoKernel(kernel);
}
template <class T>
const T* of(const void* values) {
  return static_cast<const T*>(values);
}
template <class T>
T* of(void* values) {
  return static_cast<T*>(values);
}

}  // namespace

void batch_norm(DType dtype, const Channels& channels, const void* x, const void* scale, const void* offset,
                double epsilon, void* y, void* mean, void* variance) {
  visit_floating("batch_norm", dtype, [&]<class T>(T) {
    batch_norm_of(channels, of<T>(x), of<T>(scale), of<T>(offset), epsilon, of<T>(y), of<T>(mean),
                  of<T>(variance));
  });
}

void batch_norm_gradient(DType dtype, const Channels& channels, const void* x, const void* scale,
                         const void* mean, const void* variance, const void* dy, double epsilon, void* dx,
                         void* dscale, void* doffset) {
  visit_floating("batch_norm_gradient", dtype, [&]<class T>(T) {
    batch_norm_gradient_of(channels, of<T>(x), of<T>(scale), of<T>(mean), of<T>(variance), of<T>(dy), epsilon,
                           of<T>(dx), of<T>(dscale), of<T>(doffset));
  });
}

void layer_norm(DType dtype, std::int64_t rows, std::int64_t count, const void* x, const void* scale,
                const void* offset, double epsilon, void* y, void* mean, void* variance) {
  visit_floating("layer_norm", dtype, [&]<class T>(T) {
    launch("layer_norm", grid_of_rows(rows, count), normalize_rows<T>, rows, count, of<T>(x), of<T>(scale),
           of<T>(offset), epsilon, of<T>(y), of<T>(mean), of<T>(variance));
  });
}

void layer_norm_gradient(DType dtype, std::int64_t rows, std::int64_t count, const void* x, const void* scale,
                         const void* mean, const void* variance, const void* dy, double epsilon, void* dx,
                         void* dscale, void* doffset) {
  visit_floating("layer_norm_gradient", dtype, [&]<class T>(T) {
    layer_norm_gradient_of(rows, count, of<T>(x), of<T>(scale), of<T>(mean), of<T>(variance), of<T>(dy),
                           epsilon, of<T>(dx), of<T>(dscale), of<T>(doffset));
  });
}

}  // namespace tapedeck::cuda
