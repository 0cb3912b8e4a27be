// Statistics of one block of a tensor's values: always in doubles, in eight lanes, so that every instruction
// set gives the same bits.
#include <limits>
#include <type_traits>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/vector/wide.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

constexpr int lanes = 8;
using Doubles = Wide<double, lanes>;
using Masks = decltype(Doubles{} < Doubles{});  // 0 or -1 in each lane

/// bool is read as bytes.
template <class T>
struct Stored {
  using type = T;
};
template <>
struct Stored<bool> {
  using type = std::uint8_t;
};

/// Calls `block` with eight values, and again; the remainder one by one, with `single`.
template <class T, class Block, class Single>
TAPEDECK_INLINE void for_values(const T* values, std::int64_t count, const Block& block,
                                const Single& single) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Doubles eight;
    load_converted(eight, values + i);
    block(eight);
  }
  for (; i < count; ++i) single(static_cast<double>(values[i]));
}

/// Whole numbers have no subnormal ones: nothing is nearer to 0 than 1.
template <class T>
constexpr double smallest_normal() {
  if constexpr (std::is_floating_point_v<T>) return static_cast<double>(std::numeric_limits<T>::min());
  return 1.0;
}

template <class T>
BlockStatistics examine(const void* from, std::int64_t count) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Doubles sums = {}, odds = {}, low, high;
  fill(low, infinity);
  fill(high, -infinity);
  constexpr double limit = smallest_normal<T>();
  Masks zeros = {}, tiny = {};
  BlockStatistics all{0, infinity, -infinity, 0, 0, 0};
  for_values(
      static_cast<const T*>(from), count,
      [&](const Doubles& values) {
        sums += values;
        odds += values - values;  // 0, or NaN
        zeros -= values == 0.;
        tiny -= (values < limit) & (values > -limit);
        low = pick(values < low, values, low);
        high = pick(values > high, values, high);
      },
      [&](double value) {
        all.sum += value;
        all.odd += value - value;
        all.zeros += value == 0;
        all.subnormals += value < limit && value > -limit && value != 0;
        all.minimum = value < all.minimum ? value : all.minimum;
        all.maximum = value > all.maximum ? value : all.maximum;
      });
  for (int i = 0; i < lanes; ++i) {
    all.sum += lane(sums, i);
    all.odd += lane(odds, i);
    all.zeros += static_cast<std::uint64_t>(lane(zeros, i));
    all.subnormals += static_cast<std::uint64_t>(lane(tiny, i) - lane(zeros, i));
    all.minimum = lane(low, i) < all.minimum ? lane(low, i) : all.minimum;
    all.maximum = lane(high, i) > all.maximum ? lane(high, i) : all.maximum;
  }
  return all;
}

template <class T>
double spread(const void* from, std::int64_t count, double mean) {
  Doubles sums = {};
  double sum = 0;
  for_values(
      static_cast<const T*>(from), count,
      [&](const Doubles& values) {
        const Doubles distances = values - mean;
        sums += distances * distances;
      },
      [&](double value) { sum += (value - mean) * (value - mean); });
  for (int i = 0; i < lanes; ++i) sum += lane(sums, i);
  return sum;
}

template <class T>
void count_bins(const void* from, std::int64_t count, const BinScale& bins, std::uint32_t* counts) {
  constexpr std::int64_t together = 512;
  const T* values = static_cast<const T*>(from);
  std::int32_t places[together];
  for (std::int64_t begin = 0; begin < count; begin += together) {
    const std::int64_t n = count - begin < together ? count - begin : together;
    for (std::int64_t i = 0; i < n; ++i) {
      const double distance = static_cast<double>(values[begin + i]) / 2 - bins.low;
      const double position = distance * bins.scale;
      const double limited = position < bins.last ? position : bins.last;
      const bool inside = (distance >= 0) & (distance <= bins.width);
      places[i] = static_cast<std::int32_t>(inside ? limited : bins.outside);
    }
    const auto row = static_cast<std::int64_t>(bins.outside) + 1;
    for (std::int64_t i = 0; i < n; ++i) ++counts[i % BinScale::copies * row + places[i]];
  }
}

/// One pass over the values in their own type: x − x is 0, or NaN.
template <class T>
bool finite(const void* from, std::int64_t count) {
  constexpr int together = 4;  // so that no sum waits for the one before it
  constexpr int width = static_cast<int>(64 / sizeof(T));
  constexpr std::int64_t at_once = std::int64_t{1} << 14;
  using Values = Wide<T, width>;
  const T* values = static_cast<const T*>(from);
  for (std::int64_t begin = 0; begin < count; begin += at_once) {
    const std::int64_t end = count - begin < at_once ? count : begin + at_once;
    Values odds[together] = {};
    std::int64_t i = begin;
    for (; i + together * width <= end; i += together * width)
      for (int part = 0; part < together; ++part) {
        Values block;
        load(block, values + i + part * width);
        odds[part] += block - block;
      }
    T odd = 0;
    for (; i < end; ++i) odd += values[i] - values[i];
    for (const Values& part : odds)
      for (int k = 0; k < width; ++k) odd += lane(part, k);
    if (!(odd == 0)) return false;
  }
  return true;
}

template <class T>
void add(LoopTable& table) {
  using S = typename Stored<T>::type;
  StatisticsLoops& loops = table.statistics[static_cast<int>(dtype_of<T>())];
  loops.examine = examine<S>;
  loops.spread = spread<S>;
  loops.count_bins = count_bins<S>;
  if constexpr (std::is_floating_point_v<T>) loops.finite = finite<T>;
}

}  // namespace

void add_statistics(LoopTable& table) {
  add<bool>(table);
  add<std::int32_t>(table);
  add<std::int64_t>(table);
  add<float>(table);
  add<double>(table);
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
