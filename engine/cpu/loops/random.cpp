// Random numbers from one counter-based generator.
//
// Philox 4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
// section 3.3.
#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>

#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/draws.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t batch_blocks = 256;  ///< whose words are made at once; they stay in the L1 cache

/// Calls `make(words, first, values)` for batches of blocks of the stream: the words of the blocks from
/// `first` on, and where the values of all of them go. Each block yields `per_block` values.
template <class T, std::int64_t per_block, class Make>
void fill_batches(std::uint64_t key, std::uint64_t counter, T* out, std::int64_t count, double cost,
                  Make make) {
  const std::int64_t blocks = (count + per_block - 1) / per_block;
  const std::int64_t grain = grain_for(cost * static_cast<double>(per_block)) / batch_blocks * batch_blocks;
  for_blocks(blocks, std::max(grain, batch_blocks), [=](std::int64_t begin, std::int64_t end) {
    alignas(64) std::array<std::uint32_t, 4 * batch_blocks> words;
    alignas(64) std::array<T, static_cast<std::size_t>(per_block * batch_blocks)> rest;
    for (std::int64_t block = begin; block < end; block += batch_blocks) {
      const std::int64_t here = std::min(batch_blocks, end - block);
      const std::uint64_t first = counter + static_cast<std::uint64_t>(block);
      loops().philox_words(key, first, here, words.data());
      T* const target = out + block * per_block;
      const std::int64_t wanted = std::min(here * per_block, count - block * per_block);
      const std::span<const std::uint32_t> given(words.data(), static_cast<std::size_t>(4 * here));
      if (wanted == here * per_block) {
        make(given, first, target);
      } else {  // the last block's values are not all wanted
        make(given, first, rest.data());
        std::copy_n(rest.begin(), wanted, target);
      }
    }
  });
}

/// Two words of a block as one.
std::uint64_t pair_at(std::span<const std::uint32_t> words, std::size_t pair) {
  return words[2 * pair] | static_cast<std::uint64_t>(words[2 * pair + 1]) << 32;
}

void uniform_float(std::uint64_t key, std::uint64_t counter, float low, float high, float* out,
                   std::int64_t count) {
  const float range = high - low;
  const bool plain = std::isfinite(range) && low < high;
  const float last = std::nextafter(high, low);
  fill_batches<float, 4>(
      key, counter, out, count, 0.5, [=](std::span<const std::uint32_t> words, std::uint64_t, float* values) {
        if (plain) return loops().uniform_float(words.data(), std::ssize(words), low, range, last, values);
        for (std::size_t i = 0; i < words.size(); ++i)
          values[i] = scale_fraction(fraction(words[i]), low, high);
      });
}

void uniform_double(std::uint64_t key, std::uint64_t counter, double low, double high, double* out,
                    std::int64_t count) {
  fill_batches<double, 2>(key, counter, out, count, 3.0,
                          [=](std::span<const std::uint32_t> words, std::uint64_t, double* values) {
                            for (std::size_t i = 0; i < words.size() / 2; ++i)
                              values[i] = scale_fraction(fraction(pair_at(words, i)), low, high);
                          });
}

/// Normal numbers of whole blocks: a pair of each two words of T's size.
template <class T>
void normal_of(std::span<const std::uint32_t> words, double mean, double deviation, T* values) {
  constexpr std::size_t pair_words = 2 * sizeof(T) / sizeof(std::uint32_t);
  const auto loop = std::is_same_v<T, float> ? loops().normal_float : loops().normal_double;
  loop(words.data(), std::ssize(words) / static_cast<std::int64_t>(pair_words), mean, deviation, values);
}

template <class T>
constexpr std::int64_t normals_of_a_block = 16 / static_cast<std::int64_t>(sizeof(T));

template <class T>
void normal(std::uint64_t key, std::uint64_t counter, double mean, double deviation, T* out,
            std::int64_t count) {
  fill_batches<T, normals_of_a_block<T>>(key, counter, out, count, 1.5,
                                         [=](std::span<const std::uint32_t> words, std::uint64_t, T* values) {
                                           normal_of(words, mean, deviation, values);
                                         });
}

/// Redraws a block's numbers until all are within two deviations: those that are keep their order.
template <class T>
void redraw(std::uint64_t key, std::uint64_t index, std::span<T> values) {
  std::size_t found = 0;
  for (std::uint32_t attempt = 0; found < values.size(); ++attempt) {
    const PhiloxBlock block = stream_block(key, index, attempt);
    std::array<T, static_cast<std::size_t>(normals_of_a_block<T>)> drawn;
    normal_of<T>(block, 0.0, 1.0, drawn.data());
    for (const T x : drawn)
      if (std::abs(x) < T(2) && found < values.size()) values[found++] = x;
  }
}

template <class T>
void truncated_normal(std::uint64_t key, std::uint64_t counter, double mean, double deviation, T* out,
                      std::int64_t count) {
  constexpr auto width = static_cast<std::size_t>(normals_of_a_block<T>);
  fill_batches<T, normals_of_a_block<T>>(
      key, counter, out, count, 5.0,
      [=](std::span<const std::uint32_t> words, std::uint64_t first, T* values) {
        normal_of(words, 0.0, 1.0, values);
        for (std::size_t i = 0; i < words.size() / 4; ++i) {
          const std::span<T> block(values + i * width, width);
          if (std::any_of(block.begin(), block.end(), [](T x) { return !(std::abs(x) < T(2)); }))
            redraw(key, first + i, block);
          for (T& x : block) x = static_cast<T>(mean) + static_cast<T>(deviation) * x;
        }
      });
}

/// The loops of one batch, whose values stay in the L1 cache.
template <class T>
struct KeepOrDrop {
  float least;  ///< of the fractions that are kept
  T factor;

  void operator()(const std::uint32_t* words, const T* x, T* out, std::int64_t count) const {
    constexpr auto dtype = static_cast<int>(dtype_of<T>());
    const LoopTable& table = loops();
    alignas(64) std::array<float, 4 * batch_blocks> fractions;
    alignas(64) std::array<bool, 4 * batch_blocks> kept;
    alignas(64) std::array<T, 4 * batch_blocks> products;
    alignas(64) static constexpr std::array<T, 4 * batch_blocks> zeros{};
    table.uniform_float(words, count, 0.0F, 1.0F, 1.0F, fractions.data());
    table.binary[static_cast<int>(Binary::greater_equal)][static_cast<int>(DType::float32)](
        fractions.data(), 1, &least, 0, kept.data(), count);
    table.binary[static_cast<int>(Binary::multiply)][dtype](x, 1, &factor, 0, products.data(), count);
    table.select[dtype](kept.data(), 1, products.data(), 1, zeros.data(), 1, out, count);
  }
};

template <class T>
void dropout(StreamPlace place, double rate, const T* x, T* out, std::int64_t count) {
  const KeepOrDrop<T> keep_or_drop{least_kept(rate), static_cast<T>(1.0 / (1.0 - rate))};
  for_blocks((count + 3) / 4, grain_for(2.0) / batch_blocks * batch_blocks,
             [=](std::int64_t begin, std::int64_t end) {
               alignas(64) std::array<std::uint32_t, 4 * batch_blocks> words;
               for (std::int64_t block = begin; block < end; block += batch_blocks) {
                 const std::int64_t here = std::min(batch_blocks, end - block);
                 loops().philox_words(place.key, place.counter + static_cast<std::uint64_t>(block), here,
                                      words.data());
                 keep_or_drop(words.data(), x + 4 * block, out + 4 * block,
                              std::min(4 * here, count - 4 * block));
               }
             });
}

}  // namespace

void random_dropout(DType dtype, const StreamPlace& place, double rate, const void* x, void* out,
                    std::int64_t count) {
  if (dtype == DType::float32)
    dropout(place, rate, static_cast<const float*>(x), static_cast<float*>(out), count);
  else
    dropout(place, rate, static_cast<const double*>(x), static_cast<double*>(out), count);
}

void random_uniform(DType dtype, const StreamPlace& place, double low, double high, void* out,
                    std::int64_t count) {
  if (dtype == DType::float32)
    uniform_float(place.key, place.counter, static_cast<float>(low), static_cast<float>(high),
                  static_cast<float*>(out), count);
  else
    uniform_double(place.key, place.counter, low, high, static_cast<double*>(out), count);
}

void random_integers(DType dtype, const StreamPlace& place, std::int64_t low, std::int64_t high, void* out,
                     std::int64_t count) {
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const auto fill = [&]<class T>(T* typed) {
    fill_batches<T, 2>(place.key, place.counter, typed, count, 2.5,
                       [=](std::span<const std::uint32_t> words, std::uint64_t, T* values) {
                         for (std::size_t i = 0; i < words.size() / 2; ++i) {
                           values[i] = static_cast<T>(static_cast<std::uint64_t>(low) +
                                                      scale_word(pair_at(words, i), range));
                         }
                       });
  };
  if (dtype == DType::int32)
    fill(static_cast<std::int32_t*>(out));
  else
    fill(static_cast<std::int64_t*>(out));
}

void random_normal(DType dtype, const StreamPlace& place, double mean, double deviation, bool truncated,
                   void* out, std::int64_t count) {
  const auto fill = [&]<class T>(T* typed) {
    if (truncated)
      truncated_normal(place.key, place.counter, mean, deviation, typed, count);
    else
      normal(place.key, place.counter, mean, deviation, typed, count);
  };
  if (dtype == DType::float32)
    fill(static_cast<float*>(out));
  else
    fill(static_cast<double*>(out));
}

}  // namespace tapedeck::cpu
