#include "engine/cpu/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "engine/cpu/blocks.h"

namespace tapedeck::cpu {
namespace {

__extension__ using WideUnsigned = unsigned __int128;

/// Block `index` of the stream; `attempt` tells redrawn blocks apart.
PhiloxBlock block_at(std::uint64_t key, std::uint64_t index, std::uint32_t attempt = 0) {
  return philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), attempt, 0},
                {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
}

std::uint64_t pair_of(const PhiloxBlock& block, int half) {
  return block[static_cast<std::size_t>(2 * half)] |
         static_cast<std::uint64_t>(block[static_cast<std::size_t>(2 * half + 1)]) << 32;
}

/// Calls `make(block, values)` for each block of the stream, which yields `per_block` values.
template <class T, std::size_t per_block, class Make>
void fill_blocks(std::uint64_t counter, T* out, std::int64_t count, double cost, Make make) {
  constexpr auto width = static_cast<std::int64_t>(per_block);
  const std::int64_t blocks = (count + width - 1) / width;
  for_blocks(blocks, grain_for(cost * static_cast<double>(width)), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::array<T, per_block> values;
      make(counter + static_cast<std::uint64_t>(i), values);
      std::copy_n(values.begin(), std::min(width, count - i * width), out + i * width);
    }
  });
}

/// Rounding may carry low + u·(high − low) up to high, which is outside.
template <class T>
T scale(T u, T low, T high) {
  const T range = high - low;
  const T value = std::isfinite(range) ? low + u * range : low * (T(1) - u) + high * u;
  return value < high || !(low < high) ? value : std::nextafter(high, low);
}

void uniform_float(std::uint64_t key, std::uint64_t counter, float low, float high, float* out,
                   std::int64_t count) {
  fill_blocks<float, 4>(counter, out, count, 1.5, [=](std::uint64_t index, std::array<float, 4>& values) {
    const PhiloxBlock block = block_at(key, index);
    for (std::size_t i = 0; i < 4; ++i)
      values[i] = scale(static_cast<float>(block[i] >> 8) * 0x1p-24F, low, high);
  });
}

void uniform_double(std::uint64_t key, std::uint64_t counter, double low, double high, double* out,
                    std::int64_t count) {
  fill_blocks<double, 2>(counter, out, count, 3.0, [=](std::uint64_t index, std::array<double, 2>& values) {
    const PhiloxBlock block = block_at(key, index);
    for (int i = 0; i < 2; ++i)
      values[static_cast<std::size_t>(i)] =
          scale(static_cast<double>(pair_of(block, i) >> 11) * 0x1p-53, low, high);
  });
}

/// Two independent normal numbers from two words.
std::pair<double, double> box_muller(double first, double second) {
  const double radius = std::sqrt(-2.0 * std::log(first));
  const double angle = 2.0 * std::numbers::pi * second;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

std::array<double, 2> normal_pair(const PhiloxBlock& block) {
  const auto [x, y] = box_muller((static_cast<double>(pair_of(block, 0) >> 11) + 1.0) * 0x1p-53,
                                 static_cast<double>(pair_of(block, 1) >> 11) * 0x1p-53);
  return {x, y};
}

template <class T>
void normal(std::uint64_t key, std::uint64_t counter, double mean, double deviation, T* out,
            std::int64_t count) {
  fill_blocks<T, 2>(counter, out, count, 15.0, [=](std::uint64_t index, std::array<T, 2>& values) {
    const auto pair = normal_pair(block_at(key, index));
    for (std::size_t i = 0; i < 2; ++i) values[i] = static_cast<T>(mean + deviation * pair[i]);
  });
}

template <class T>
void truncated_normal(std::uint64_t key, std::uint64_t counter, double mean, double deviation, T* out,
                      std::int64_t count) {
  fill_blocks<T, 2>(counter, out, count, 20.0, [=](std::uint64_t index, std::array<T, 2>& values) {
    std::size_t found = 0;
    for (std::uint32_t attempt = 0; found < 2; ++attempt)
      for (const double x : normal_pair(block_at(key, index, attempt)))
        if (std::abs(x) < 2.0 && found < 2) values[found++] = static_cast<T>(mean + deviation * x);
  });
}

}  // namespace

PhiloxBlock philox(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
        static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key[0] += 0x9E3779B9;  // the golden ratio
    key[1] += 0xBB67AE85;  // √3 − 1
  }
  return counter;
}

void random_uniform(DType dtype, std::uint64_t key, std::uint64_t counter, double low, double high, void* out,
                    std::int64_t count) {
  if (dtype == DType::float32)
    uniform_float(key, counter, static_cast<float>(low), static_cast<float>(high), static_cast<float*>(out),
                  count);
  else
    uniform_double(key, counter, low, high, static_cast<double*>(out), count);
}

void random_integers(DType dtype, std::uint64_t key, std::uint64_t counter, std::int64_t low,
                     std::int64_t high, void* out, std::int64_t count) {
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  // A 64-bit fraction times the range: each number is within 2⁻⁶⁴ · range of its fair share.
  const auto draw = [=](const PhiloxBlock& block, int half) {
    const auto offset =
        static_cast<std::uint64_t>(static_cast<WideUnsigned>(pair_of(block, half)) * range >> 64);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
  };
  const auto fill = [&]<class T>(T* typed) {
    fill_blocks<T, 2>(counter, typed, count, 3.0, [=](std::uint64_t index, std::array<T, 2>& values) {
      const PhiloxBlock block = block_at(key, index);
      for (int i = 0; i < 2; ++i) values[static_cast<std::size_t>(i)] = static_cast<T>(draw(block, i));
    });
  };
  if (dtype == DType::int32)
    fill(static_cast<std::int32_t*>(out));
  else
    fill(static_cast<std::int64_t*>(out));
}

void random_normal(DType dtype, std::uint64_t key, std::uint64_t counter, double mean, double deviation,
                   bool truncated, void* out, std::int64_t count) {
  const auto fill = [&]<class T>(T* typed) {
    if (truncated)
      truncated_normal(key, counter, mean, deviation, typed, count);
    else
      normal(key, counter, mean, deviation, typed, count);
  };
  if (dtype == DType::float32)
    fill(static_cast<float*>(out));
  else
    fill(static_cast<double*>(out));
}

}  // namespace tapedeck::cpu
