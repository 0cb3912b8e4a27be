#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/in_order.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t steps_between_checks = 1 << 12;
constexpr std::int64_t tile_width = 256;  ///< columns whose running values stay in the L1 cache

template <bool product, class T, class Carried>
void scan_tile(const Scan& kind, const T* values, std::int64_t count, std::int64_t inner, std::int64_t width,
               T* out) {
  std::array<Carried, tile_width> running;
  running.fill(Carried(product ? 1 : 0));
  for (std::int64_t step = 0; step < count; ++step) {
    if (step % steps_between_checks == 0) check_stop();
    const std::int64_t row = (kind.reverse ? count - 1 - step : step) * inner;
    for (std::int64_t j = 0; j < width; ++j) {
      Carried& value = running[static_cast<std::size_t>(j)];
      const Carried before = value;
      const auto next = static_cast<Carried>(values[row + j]);
      value = product ? value * next : value + next;
      out[row + j] = static_cast<T>(kind.exclusive ? before : value);
    }
  }
}

constexpr std::int64_t rows_at_once = 8;  ///< whose sums do not wait for each other

/// `rows` contiguous rows of `count` values, each scanned on its own from its value of `running`.
template <bool product, class T, class Carried>
void scan_rows(const Scan& kind, const T* values, std::int64_t count, std::int64_t rows, T* out,
               std::array<Carried, rows_at_once> running) {
  const auto scan = [&](auto number) {
    for (std::int64_t step = 0; step < count; ++step) {
      if (step % steps_between_checks == 0) check_stop();
      const std::int64_t column = kind.reverse ? count - 1 - step : step;
      for (std::int64_t row = 0; row < number; ++row) {
        Carried& value = running[static_cast<std::size_t>(row)];
        const Carried before = value;
        const auto next = static_cast<Carried>(values[row * count + column]);
        value = product ? value * next : value + next;
        out[row * count + column] = static_cast<T>(kind.exclusive ? before : value);
      }
    }
  };
  if (rows == rows_at_once)
    scan(std::integral_constant<std::int64_t, rows_at_once>());
  else
    scan(rows);
}

/// Segments of a long row. Not a power of two: segments scanned at once would map to the same cache sets.
constexpr std::int64_t segment = 4016;

/// Running sums of one row: its segments are added up first, then each is scanned from where the ones before
/// it end, several at once.
template <class T, class Carried>
void scan_long_row(const Scan& kind, const T* values, std::int64_t count, T* out) {
  const std::int64_t segments = (count + segment - 1) / segment;
  std::vector<Carried> before(static_cast<std::size_t>(segments));
  for_blocks(segments, std::max<std::int64_t>(1, grain_for(0.3) / segment),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) {
                 check_stop();
                 const std::int64_t last = std::min(count, (i + 1) * segment);
                 std::array<Carried, rows_at_once> sums{};
                 std::int64_t at = i * segment;
                 for (; at + rows_at_once <= last; at += rows_at_once)
                   for (std::int64_t j = 0; j < rows_at_once; ++j)
                     sums[static_cast<std::size_t>(j)] += static_cast<Carried>(values[at + j]);
                 for (; at < last; ++at) sums[0] += static_cast<Carried>(values[at]);
                 before[static_cast<std::size_t>(i)] = std::accumulate(sums.begin(), sums.end(), Carried(0));
               }
             });
  Carried reached = 0;
  for (std::int64_t i = 0; i < segments; ++i)
    reached += std::exchange(before[static_cast<std::size_t>(kind.reverse ? segments - 1 - i : i)], reached);
  // The last segment may be shorter: it is scanned alone.
  const std::int64_t whole = count / segment, groups = (whole + rows_at_once - 1) / rows_at_once;
  const auto scan = [&](std::int64_t first, std::int64_t length, std::int64_t number) {
    std::array<Carried, rows_at_once> running{};
    std::copy_n(before.begin() + first, number, running.begin());
    scan_rows<false, T, Carried>(kind, values + first * segment, length, number, out + first * segment,
                                 running);
  };
  for_blocks(groups, std::max<std::int64_t>(1, grain_for(1.0) / (segment * rows_at_once)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin * rows_at_once; i < std::min(whole, end * rows_at_once);
                    i += rows_at_once)
                 scan(i, segment, std::min(rows_at_once, whole - i));
             });
  if (whole < segments) scan(whole, count - whole * segment, 1);
}

template <bool product, class T>
void scan_typed(const Scan& kind, const T* values, std::int64_t outer, std::int64_t count, std::int64_t inner,
                T* out) {
  using Unsigned = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  using Carried = std::conditional_t<std::is_floating_point_v<T>, double, Unsigned>;
  std::array<Carried, rows_at_once> nothing;
  nothing.fill(Carried(product ? 1 : 0));
  // Not products, nor float64: a segment's could overflow where the row's own does not.
  if constexpr (!product && !std::is_same_v<T, double>)
    if (inner == 1 && outer < rows_at_once && count >= 2 * rows_at_once * segment) {
      for (std::int64_t row = 0; row < outer; ++row)
        scan_long_row<T, Carried>(kind, values + row * count, count, out + row * count);
      return;
    }
  if (inner == 1)
    return for_blocks(
        (outer + rows_at_once - 1) / rows_at_once,
        std::max<std::int64_t>(1, grain_for(1.0) / std::max<std::int64_t>(1, count * rows_at_once)),
        [=](std::int64_t begin, std::int64_t end) {
          for (std::int64_t first = begin * rows_at_once; first < std::min(outer, end * rows_at_once);
               first += rows_at_once)
            scan_rows<product, T, Carried>(kind, values + first * count, count,
                                           std::min(rows_at_once, outer - first), out + first * count,
                                           nothing);
        });
  const std::int64_t tiles = (inner + tile_width - 1) / tile_width;
  const std::int64_t work = std::max<std::int64_t>(1, count * std::min(inner, tile_width));
  for_blocks(outer * tiles, std::max<std::int64_t>(1, grain_for(1.0) / work),
             [=](std::int64_t begin, std::int64_t end) {
               for (std::int64_t task = begin; task < end; ++task) {
                 const std::int64_t column = task % tiles * tile_width;
                 const std::int64_t start = task / tiles * count * inner + column;
                 scan_tile<product, T, Carried>(kind, values + start, count, inner,
                                                std::min(tile_width, inner - column), out + start);
               }
             });
}

/// ln Σ eˣ as the largest x and Σ e^(x − largest).
struct LogSum {
  double largest = -std::numeric_limits<double>::infinity();
  double sum = 0.0;

  void add(double x) {
    if (x <= largest) {
      if (x == largest && sum == 0.0) return;  // −∞ adds nothing to nothing
      sum += x == largest ? 1.0 : std::exp(x - largest);
    } else {  // larger, or NaN, which stays
      sum = std::isnan(largest) ? sum : sum * std::exp(largest - x) + 1.0;
      largest = std::isnan(largest) ? largest : x;
    }
  }
  double value() const { return largest + std::log(sum); }
};

template <class T>
void scan_log_sum_typed(const Scan& kind, const T* values, std::int64_t outer, std::int64_t count,
                        std::int64_t inner, T* out) {
  for_blocks(outer * inner, std::max<std::int64_t>(1, grain_for(30.0) / std::max<std::int64_t>(1, count)),
             [=](std::int64_t begin, std::int64_t end) {
               for (std::int64_t column = begin; column < end; ++column) {
                 const std::int64_t start = column / inner * count * inner + column % inner;
                 LogSum running;
                 double reached = running.value();
                 for (std::int64_t step = 0; step < count; ++step) {
                   if (step % steps_between_checks == 0) check_stop();
                   const std::int64_t at = start + (kind.reverse ? count - 1 - step : step) * inner;
                   const double before = reached;
                   running.add(static_cast<double>(values[at]));
                   reached = running.value();
                   out[at] = static_cast<T>(kind.exclusive ? before : reached);
                 }
               }
             });
}

template <class T>
void scan_max_row(bool reverse, const T* values, std::int64_t count, T* out, std::int32_t* positions) {
  std::int64_t largest = reverse ? count - 1 : 0;
  for (std::int64_t step = 0; step < count; ++step) {
    if (step % steps_between_checks == 0) check_stop();
    const std::int64_t at = reverse ? count - 1 - step : step;
    if (values[at] != values[at] || values[at] >= values[largest]) largest = at;
    out[at] = values[largest];
    positions[at] = static_cast<std::int32_t>(largest);
  }
}

}  // namespace

void scan_log_sum_exp(Scan kind, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
                      std::int64_t inner, void* out) {
  const LongWork work(outer * count * inner);
  if (dtype == DType::float32)
    scan_log_sum_typed(kind, static_cast<const float*>(values), outer, count, inner,
                       static_cast<float*>(out));
  else
    scan_log_sum_typed(kind, static_cast<const double*>(values), outer, count, inner,
                       static_cast<double*>(out));
}

void scan_max(bool reverse, DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out,
              std::int32_t* positions) {
  const LongWork work(rows * count);
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>)
      for_blocks(rows, std::max<std::int64_t>(1, grain_for(1.0) / std::max<std::int64_t>(1, count)),
                 [=](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row)
                     scan_max_row(reverse, static_cast<const T*>(values) + row * count, count,
                                  static_cast<T*>(out) + row * count, positions + row * count);
                 });
  });
}

void scan(Scan kind, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
          std::int64_t inner, void* out) {
  const LongWork work(outer * count * inner);
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      const T* from = static_cast<const T*>(values);
      T* to = static_cast<T*>(out);
      if (kind.product)
        scan_typed<true>(kind, from, outer, count, inner, to);
      else
        scan_typed<false>(kind, from, outer, count, inner, to);
    }
  });
}

}  // namespace tapedeck::cpu
