// Each value is read from memory once for the statistics and once for the result. Blocks have sizes that
// depend on shapes alone and are combined in order, in doubles: the same bits for any number of threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t cached = 16384;  ///< values that a loop reads twice, the second time from a cache

template <class T>
const NormalizationLoops<T>& normalization() {
  if constexpr (std::is_same_v<T, float>)
    return loops().normalize_float;
  else
    return loops().normalize_double;
}

template <class T>
ReduceLoop sum_loop() {
  return loops().reduce[static_cast<int>(Reduction::sum)][static_cast<int>(dtype_of<T>())];
}

template <class F>
void visit_floating(DType dtype, F&& f) {
  if (dtype == DType::float32)
    f(TypeTag<float>{});
  else
    f(TypeTag<double>{});
}

template <class T>
std::unique_ptr<T[]> array(std::int64_t count) {
  return std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
}

/// How a channel's values are split into parts: a part is `rows` rows of all channels if a row has one value
/// per channel, else the inner values of one outer index.
struct Parts {
  bool columns;
  std::int64_t rows, count;  ///< rows of a part; how many parts
  std::int64_t values;       ///< of a channel in a whole part
  std::int64_t all;          ///< of a channel

  explicit Parts(const Channels& of)
      : columns(of.inner == 1),
        rows(columns ? std::max<std::int64_t>(32, cached / std::max<std::int64_t>(1, of.channels)) : 1),
        count((of.outer + rows - 1) / rows),
        values(columns ? rows : of.inner),
        all(of.outer * of.inner) {}

  std::int64_t values_of(std::int64_t part) const {
    return columns ? std::min(values, all - part * values) : values;
  }
};

/// Calls `rows_body(part, first row, rows)`, or `piece(part, channel, first value)`, for all parts.
template <class Rows, class Piece>
void for_parts(const Channels& of, const Parts& parts, const Rows& rows_body, const Piece& piece) {
  if (parts.columns) {
    const std::int64_t size = std::max<std::int64_t>(1, parts.rows * of.channels);
    for_blocks(parts.count, std::max<std::int64_t>(1, 2 * cached / size),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t part = begin; part < end; ++part)
                   rows_body(part, part * parts.rows, parts.values_of(part));
               });
    return;
  }
  for_blocks(of.outer * of.channels,
             std::max<std::int64_t>(1, 2 * cached / std::max<std::int64_t>(1, of.inner)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i)
                 piece(i / of.channels, i % of.channels, i * of.inner);
             });
}

/// Mean and variance of each channel from those of the parts (Chan, Golub and LeVeque 1983, equation 2.1).
template <class T>
void combine(const Channels& of, const Parts& parts, const T* means, const T* spreads, T* mean, T* variance) {
  for_blocks(of.channels, grain_for(2.0 * static_cast<double>(parts.count)),
             [&](std::int64_t begin, std::int64_t end) {
               std::vector<double> centre(static_cast<std::size_t>(end - begin), 0.), spread(centre);
               std::int64_t known = 0;
               for (std::int64_t part = 0; part < parts.count; ++part) {
                 const std::int64_t more = parts.values_of(part);
                 const double share = static_cast<double>(more) / static_cast<double>(known + more);
                 const double weight = static_cast<double>(known) * share;
                 for (std::int64_t c = begin; c < end; ++c) {
                   const auto at = static_cast<std::size_t>(c - begin);
                   const auto own = static_cast<double>(means[part * of.channels + c]);
                   const double distance = own - centre[at];
                   // An infinite mean stays infinite next to finite ones.
                   centre[at] = std::isfinite(distance) ? centre[at] + distance * share : centre[at] + own;
                   spread[at] +=
                       static_cast<double>(spreads[part * of.channels + c]) + distance * distance * weight;
                 }
                 known += more;
               }
               for (std::int64_t c = begin; c < end; ++c) {
                 mean[c] = static_cast<T>(centre[static_cast<std::size_t>(c - begin)]);
                 variance[c] =
                     static_cast<T>(spread[static_cast<std::size_t>(c - begin)] / static_cast<double>(known));
               }
             });
}

template <class T>
void statistics(const Channels& of, const Parts& parts, const T* x, T* mean, T* variance) {
  const NormalizationLoops<T>& loop = normalization<T>();
  const ReduceLoop sum = sum_loop<T>();
  const ReduceRowsLoop sum_rows =
      loops().reduce_rows[static_cast<int>(Reduction::sum)][static_cast<int>(dtype_of<T>())];
  const auto means = array<T>(parts.count * of.channels);
  const auto spreads = array<T>(parts.count * of.channels);
  for_parts(
      of, parts,
      [&](std::int64_t part, std::int64_t row, std::int64_t rows) {
        T* own = means.get() + part * of.channels;
        const T* values = x + row * of.channels;
        sum_rows(values, rows, of.channels, of.channels, own);
        for (std::int64_t c = 0; c < of.channels; ++c) own[c] /= static_cast<T>(rows);
        loop.spread_columns(values, rows, of.channels, own, spreads.get() + part * of.channels);
      },
      [&](std::int64_t part, std::int64_t channel, std::int64_t first) {
        T total{};
        sum(x + first, of.inner, &total);
        const T own = total / static_cast<T>(of.inner);
        means[static_cast<std::size_t>(part * of.channels + channel)] = own;
        spreads[static_cast<std::size_t>(part * of.channels + channel)] =
            loop.spread(x + first, of.inner, own);
      });
  combine(of, parts, means.get(), spreads.get(), mean, variance);
}

template <class T>
double inverse_deviation(T variance, double epsilon) {
  return 1.0 / std::sqrt(static_cast<double>(variance) + epsilon);
}

template <class T>
void batch_norm_of(const Channels& of, const T* x, const T* scale, const T* offset, double epsilon, T* y,
                   T* mean, T* variance) {
  const Parts parts(of);
  if (parts.all == 0) {
    std::fill_n(mean, of.channels, std::numeric_limits<T>::quiet_NaN());
    std::fill_n(variance, of.channels, std::numeric_limits<T>::quiet_NaN());
    return;
  }
  statistics(of, parts, x, mean, variance);
  const auto factors = array<T>(of.channels);
  for (std::int64_t c = 0; c < of.channels; ++c)
    factors[static_cast<std::size_t>(c)] =
        static_cast<T>(static_cast<double>(scale[c]) * inverse_deviation(variance[c], epsilon));
  const NormalizationLoops<T>& loop = normalization<T>();
  for_parts(
      of, parts,
      [&](std::int64_t, std::int64_t row, std::int64_t rows) {
        loop.normalize_columns(x + row * of.channels, rows, of.channels, mean, factors.get(), offset,
                               y + row * of.channels);
      },
      [&](std::int64_t, std::int64_t channel, std::int64_t first) {
        loop.normalize(x + first, of.inner, mean[channel], factors[static_cast<std::size_t>(channel)],
                       offset[channel], y + first);
      });
}

/// Sums of the parts' values, channel by channel.
template <class T>
void add_up(const Channels& of, std::int64_t parts, const T* values, double* out) {
  std::fill_n(out, of.channels, 0.);
  for (std::int64_t part = 0; part < parts; ++part)
    for (std::int64_t c = 0; c < of.channels; ++c)
      out[c] += static_cast<double>(values[part * of.channels + c]);
}

/// Σ dy and Σ dy·(x − mean) of each channel.
template <class T>
void channel_products(const Channels& of, const Parts& parts, const T* dy, const T* x, const T* mean,
                      double* plain, double* weighted) {
  const NormalizationLoops<T>& loop = normalization<T>();
  const auto first_sums = array<T>(parts.count * of.channels);
  const auto second_sums = array<T>(parts.count * of.channels);
  for_parts(
      of, parts,
      [&](std::int64_t part, std::int64_t row, std::int64_t rows) {
        loop.products_of_columns(dy + row * of.channels, x + row * of.channels, rows, of.channels, mean,
                                 first_sums.get() + part * of.channels,
                                 second_sums.get() + part * of.channels);
      },
      [&](std::int64_t part, std::int64_t channel, std::int64_t first) {
        T sums[2];
        loop.products(dy + first, x + first, nullptr, of.inner, mean[channel], sums);
        first_sums[static_cast<std::size_t>(part * of.channels + channel)] = sums[0];
        second_sums[static_cast<std::size_t>(part * of.channels + channel)] = sums[1];
      });
  add_up(of, parts.count, first_sums.get(), plain);
  add_up(of, parts.count, second_sums.get(), weighted);
}

template <class T>
void batch_norm_gradient_of(const Channels& of, const T* x, const T* scale, const T* mean, const T* variance,
                            const T* dy, double epsilon, T* dx, T* dscale, T* doffset) {
  const Parts parts(of);
  const auto plain = array<double>(of.channels), weighted = array<double>(of.channels);
  channel_products(of, parts, dy, x, mean, plain.get(), weighted.get());
  const auto factors = array<T>(of.channels), plain_share = array<T>(of.channels),
             weighted_share = array<T>(of.channels);
  const auto all = static_cast<double>(std::max<std::int64_t>(1, parts.all));
  for (std::int64_t c = 0; c < of.channels; ++c) {
    const auto at = static_cast<std::size_t>(c);
    const double inverse = inverse_deviation(variance[c], epsilon);
    const bool any = parts.all > 0;  // the statistics of nothing are NaN
    dscale[c] = any ? static_cast<T>(weighted[at] * inverse) : T(0);
    doffset[c] = static_cast<T>(plain[at]);
    factors[at] = static_cast<T>(static_cast<double>(scale[c]) * inverse);
    plain_share[at] = static_cast<T>(plain[at] / all);
    weighted_share[at] = static_cast<T>(weighted[at] * inverse * inverse / all);
  }
  const NormalizationLoops<T>& loop = normalization<T>();
  for_parts(
      of, parts,
      [&](std::int64_t, std::int64_t row, std::int64_t rows) {
        const std::int64_t first = row * of.channels;
        loop.gradient_of_columns(dy + first, x + first, rows, of.channels, mean, factors.get(),
                                 plain_share.get(), weighted_share.get(), dx + first);
      },
      [&](std::int64_t, std::int64_t channel, std::int64_t first) {
        const auto at = static_cast<std::size_t>(channel);
        loop.gradient(dy + first, x + first, of.inner, mean[channel],
                      {factors[at], plain_share[at], weighted_share[at]}, dx + first);
      });
}

template <class T>
void layer_norm_of(std::int64_t rows, std::int64_t count, const T* x, const T* scale, const T* offset,
                   double epsilon, T* y, T* mean, T* variance) {
  if (count == 0) {
    std::fill_n(mean, rows, std::numeric_limits<T>::quiet_NaN());
    std::fill_n(variance, rows, std::numeric_limits<T>::quiet_NaN());
    return;
  }
  const NormalizationLoops<T>& loop = normalization<T>();
  const ReduceLoop sum = sum_loop<T>();
  for_blocks(rows, std::max<std::int64_t>(1, cached / count), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* values = x + row * count;
      T total{};
      sum(values, count, &total);
      mean[row] = total / static_cast<T>(count);
      variance[row] = loop.spread(values, count, mean[row]) / static_cast<T>(count);
      loop.normalize_row(values, count, mean[row], static_cast<T>(inverse_deviation(variance[row], epsilon)),
                         scale, offset, y + row * count);
    }
  });
}

template <class T>
void layer_norm_gradient_of(std::int64_t rows, std::int64_t count, const T* x, const T* scale, const T* mean,
                            const T* variance, const T* dy, double epsilon, T* dx, T* dscale, T* doffset) {
  const std::int64_t part_rows = std::max<std::int64_t>(16, cached / std::max<std::int64_t>(1, count));
  const std::int64_t parts = (rows + part_rows - 1) / part_rows;
  const auto scales = std::make_unique<T[]>(static_cast<std::size_t>(parts * count));
  const auto offsets = std::make_unique<T[]>(static_cast<std::size_t>(parts * count));
  const NormalizationLoops<T>& loop = normalization<T>();
  for_blocks(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part)
      for (std::int64_t row = part * part_rows; row < std::min(rows, (part + 1) * part_rows); ++row) {
        const std::int64_t first = row * count;
        T sums[2];
        loop.products(dy + first, x + first, scale, count, mean[row], sums);
        const double inverse = inverse_deviation(variance[row], epsilon);
        const NormalGradient<T> of{
            static_cast<T>(inverse), sums[0] / static_cast<T>(count),
            static_cast<T>(static_cast<double>(sums[1]) * inverse * inverse / static_cast<double>(count))};
        loop.gradient_of_row(dy + first, x + first, scale, count, mean[row], of, dx + first,
                             scales.get() + part * count, offsets.get() + part * count);
      }
  });
  const auto total = array<double>(count);
  const Channels places{1, count, 1};
  add_up(places, parts, scales.get(), total.get());
  for (std::int64_t i = 0; i < count; ++i) dscale[i] = static_cast<T>(total[static_cast<std::size_t>(i)]);
  add_up(places, parts, offsets.get(), total.get());
  for (std::int64_t i = 0; i < count; ++i) doffset[i] = static_cast<T>(total[static_cast<std::size_t>(i)]);
}

}  // namespace

void batch_norm(DType dtype, const Channels& of, const void* x, const void* scale, const void* offset,
                double epsilon, void* y, void* mean, void* variance) {
  visit_floating(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    batch_norm_of(of, static_cast<const T*>(x), static_cast<const T*>(scale), static_cast<const T*>(offset),
                  epsilon, static_cast<T*>(y), static_cast<T*>(mean), static_cast<T*>(variance));
  });
}

void batch_norm_gradient(DType dtype, const Channels& of, const void* x, const void* scale, const void* mean,
                         const void* variance, const void* dy, double epsilon, void* dx, void* dscale,
                         void* doffset) {
  visit_floating(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    batch_norm_gradient_of(of, static_cast<const T*>(x), static_cast<const T*>(scale),
                           static_cast<const T*>(mean), static_cast<const T*>(variance),
                           static_cast<const T*>(dy), epsilon, static_cast<T*>(dx), static_cast<T*>(dscale),
                           static_cast<T*>(doffset));
  });
}

void layer_norm(DType dtype, std::int64_t rows, std::int64_t count, const void* x, const void* scale,
                const void* offset, double epsilon, void* y, void* mean, void* variance) {
  visit_floating(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    layer_norm_of(rows, count, static_cast<const T*>(x), static_cast<const T*>(scale),
                  static_cast<const T*>(offset), epsilon, static_cast<T*>(y), static_cast<T*>(mean),
                  static_cast<T*>(variance));
  });
}

void layer_norm_gradient(DType dtype, std::int64_t rows, std::int64_t count, const void* x, const void* scale,
                         const void* mean, const void* variance, const void* dy, double epsilon, void* dx,
                         void* dscale, void* doffset) {
  visit_floating(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    layer_norm_gradient_of(rows, count, static_cast<const T*>(x), static_cast<const T*>(scale),
                           static_cast<const T*>(mean), static_cast<const T*>(variance),
                           static_cast<const T*>(dy), epsilon, static_cast<T*>(dx), static_cast<T*>(dscale),
                           static_cast<T*>(doffset));
  });
}

}  // namespace tapedeck::cpu
