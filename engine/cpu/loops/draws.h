// Functions that make one random number; the CPU and GPUs (cuda/loops/random.cu) share them, so that their
// numbers are the same.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "engine/tensor/device_code.h"

namespace tapedeck::cpu {

using PhiloxBlock = std::array<std::uint32_t, 4>;

/// Ten rounds of Philox 4x32 on one counter.
TAPEDECK_DEVICE inline PhiloxBlock philox_block(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
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

/// Block `index` of the stream; `attempt` distinguishes redrawn blocks.
TAPEDECK_DEVICE inline PhiloxBlock stream_block(std::uint64_t key, std::uint64_t index,
                                                std::uint32_t attempt = 0) {
  return philox_block(
      {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), attempt, 0},
      {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
}

/// [0, 1) by 24 or 53 random bits.
TAPEDECK_DEVICE inline float fraction(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24F;
}
TAPEDECK_DEVICE inline double fraction(std::uint64_t word) {
  return static_cast<double>(word >> 11) * 0x1p-53;
}

/// A fraction as a number of [low, high). Rounding may carry low + u·(high − low) up to high, which is
/// outside.
template <class T>
TAPEDECK_DEVICE inline T scale_fraction(T u, T low, T high) {
  const T range = high - low;
  const T value = std::isfinite(range) ? low + u * range : low * (T(1) - u) + high * u;
  return value < high || !(low < high) ? value : std::nextafter(high, low);
}

/// A 64-bit fraction times the range: each number is within 2⁻⁶⁴ · range of its fair share.
TAPEDECK_DEVICE inline std::uint64_t scale_word(std::uint64_t word, std::uint64_t range) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(word) * range >> 64);
}

/// The smallest fraction that random_dropout keeps. Exact as a float32.
inline float least_kept(double rate) {
  return static_cast<float>(std::ceil(rate * 0x1p24) * 0x1p-24);
}

}  // namespace tapedeck::cpu
