#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/draws.h"
#include "engine/cpu/loops/stirling.h"

namespace tapedeck::cpu {
namespace {

/// The two 64-bit words of value `index`; `attempt` and `part` tell further words of it apart.
std::array<std::uint64_t, 2> words_at(StreamPlace place, std::int64_t index, std::uint32_t attempt = 0,
                                      std::uint32_t part = 0) {
  const std::uint64_t at = place.counter + static_cast<std::uint64_t>(index);
  const PhiloxBlock block =
      philox_block({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at >> 32), attempt, part},
                   {static_cast<std::uint32_t>(place.key), static_cast<std::uint32_t>(place.key >> 32)});
  return {block[0] | std::uint64_t{block[1]} << 32, block[2] | std::uint64_t{block[3]} << 32};
}

/// In (0, 1].
double positive_fraction(std::uint64_t word) {
  return (static_cast<double>(word >> 11) + 1.0) * 0x1p-53;
}

/// exp(logits − their maximum), as cumulative sums; empty if that is not a distribution.
template <class T>
std::vector<double> cumulated(const T* logits, std::int64_t classes) {
  double highest = -std::numeric_limits<double>::infinity();
  for (std::int64_t k = 0; k < classes; ++k) {
    if (std::isnan(logits[k])) return {};
    highest = std::max(highest, static_cast<double>(logits[k]));
  }
  if (!std::isfinite(highest)) return {};
  std::vector<double> sums(static_cast<std::size_t>(classes));
  double sum = 0;
  for (std::int64_t k = 0; k < classes; ++k) {
    sum += std::exp(static_cast<double>(logits[k]) - highest);
    sums[static_cast<std::size_t>(k)] = sum;
  }
  return sums;
}

template <class T, class Index>
std::int64_t draw_classes(const T* logits, std::int64_t rows, std::int64_t classes, StreamPlace place,
                          Index* out, std::int64_t samples) {
  std::atomic<std::int64_t> first_bad = rows;
  const auto draw_row = [&](std::int64_t row) {
    const std::vector<double> sums = cumulated(logits + row * classes, classes);
    if (sums.empty()) {
      std::int64_t bad = first_bad;
      while (row < bad && !first_bad.compare_exchange_weak(bad, row)) continue;
      return;
    }
    for_blocks(samples, grain_for(30.0), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        // Below the whole sum, and past every class of probability 0.
        const double point = fraction(words_at(place, row * samples + i)[0]) * sums.back();
        const auto found = std::upper_bound(sums.begin(), sums.end(), point);
        out[row * samples + i] =
            static_cast<Index>(std::min<std::int64_t>(found - sums.begin(), classes - 1));
      }
    });
  };
  const double cost = 10.0 * static_cast<double>(classes) + 30.0 * static_cast<double>(samples);
  for_blocks(rows, grain_for(50.0 + cost), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) draw_row(row);
  });
  return first_bad < rows ? first_bad.load() : -1;
}

/// Marsaglia and Tsang's method; an alpha below 1 by their remark that Gamma(α) = Gamma(α + 1)·U^(1/α).
double gamma_value(double alpha, StreamPlace place, std::int64_t index) {
  const double shape = alpha < 1 ? alpha + 1 : alpha;
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (std::uint32_t attempt = 0;; ++attempt) {
    const auto normal = words_at(place, index, attempt, 0);
    const auto uniform = words_at(place, index, attempt, 1);
    const double x = std::sqrt(-2.0 * std::log(positive_fraction(normal[0]))) *
                     std::cos(2.0 * std::numbers::pi * fraction(normal[1]));
    const double root = 1.0 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = positive_fraction(uniform[0]);
    if (u >= 1.0 - 0.0331 * (x * x) * (x * x) && std::log(u) >= 0.5 * x * x + d * (1.0 - v + std::log(v)))
      continue;
    const double value = d * v;
    return alpha < 1 ? value * std::pow(positive_fraction(uniform[1]), 1.0 / alpha) : value;
  }
}

template <class T>
void draw_gamma(const T* alpha, std::int64_t alpha_count, StreamPlace place, T* out, std::int64_t count) {
  for_blocks(count, grain_for(60.0), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      // The distribution excludes zero: a result that rounds to 0 becomes the smallest positive number.
      out[i] = std::max(static_cast<T>(gamma_value(static_cast<double>(alpha[i % alpha_count]), place, i)),
                        std::numeric_limits<T>::min());
  });
}

/// Sums the probabilities up to a uniform number.
double small_poisson_value(double lam, StreamPlace place, std::int64_t index) {
  double left = fraction(words_at(place, index)[0]);
  double probability = std::exp(-lam);
  double value = 0;
  for (; left >= probability && probability > 0; ++value) {
    left -= probability;
    probability *= lam / (value + 1);
  }
  return value;
}

/// Transformed rejection, algorithm PTRS of W. Hörmann, "The transformed rejection method for generating
/// Poisson random variables", Insurance: Mathematics and Economics 12 (1993); for lam ≥ 10.
double large_poisson_value(double lam, StreamPlace place, std::int64_t index) {
  const double b = 0.931 + 2.53 * std::sqrt(lam);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double quick = 0.9277 - 3.6224 / (b - 2);
  for (std::uint32_t attempt = 0;; ++attempt) {
    const auto words = words_at(place, index, attempt);
    const double u = fraction(words[0]) - 0.5;
    const double v = positive_fraction(words[1]);
    const double distance = 0.5 - std::abs(u);
    const double value = std::floor((2 * a / distance + b) * u + lam + 0.43);
    if (distance >= 0.07 && v <= quick) return value;
    if (!(value >= 0) || (distance < 0.013 && v > distance)) continue;
    if (v * inverse_alpha <= (a / (distance * distance) + b) * poisson_probability(value, lam)) return value;
  }
}

template <class T>
void draw_poisson(std::span<const double> lam, StreamPlace place, T* out, std::int64_t count) {
  const double highest = static_cast<double>(std::numeric_limits<T>::max());
  for_blocks(count, grain_for(60.0), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double mean = lam[static_cast<std::size_t>(i) % lam.size()];
      const double value =
          mean < 10 ? small_poisson_value(mean, place, i) : large_poisson_value(mean, place, i);
      out[i] = value >= highest ? std::numeric_limits<T>::max() : static_cast<T>(value);
    }
  });
}

/// Sums the probabilities up to a uniform number; for p ≤ ½ and count·p < 10.
double small_binomial_value(double count, double p, StreamPlace place, std::int64_t index) {
  double left = fraction(words_at(place, index)[0]);
  double probability = std::exp(count * std::log1p(-p));
  double value = 0;
  for (; left >= probability && value < count && probability > 0; ++value) {
    left -= probability;
    probability *= (count - value) / (value + 1) * (p / (1 - p));
  }
  return value;
}

/// Transformed rejection, algorithm BTRS of W. Hörmann, "The generation of binomial random variates", Journal
/// of Statistical Computation and Simulation 46 (1993); for p ≤ ½ and count·p ≥ 10.
double large_binomial_value(double count, double p, StreamPlace place, std::int64_t index) {
  // Times a constant: of two Poisson distributed numbers whose sum is known, one is binomial.
  const auto weight = [=](double k) {
    return poisson_probability(k, count * p) * poisson_probability(count - k, count * (1 - p));
  };
  const double deviation = std::sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double quick = 0.92 - 4.2 / b;
  const double scale = (2.83 + 5.1 / b) * deviation * weight(std::floor((count + 1) * p));
  for (std::uint32_t attempt = 0;; ++attempt) {
    const auto words = words_at(place, index, attempt);
    const double u = fraction(words[0]) - 0.5;
    const double v = positive_fraction(words[1]);
    const double distance = 0.5 - std::abs(u);
    const double value = std::floor((2 * a / distance + b) * u + count * p + 0.5);
    if (distance >= 0.07 && v <= quick) return value;
    if (!(value >= 0) || value > count) continue;
    if (v * scale <= (a / (distance * distance) + b) * weight(value)) return value;
  }
}

double binomial_value(double count, double p, StreamPlace place, std::int64_t index) {
  if (p > 0.5) return count - binomial_value(count, 1 - p, place, index);
  return count * p < 10 ? small_binomial_value(count, p, place, index)
                        : large_binomial_value(count, p, place, index);
}

}  // namespace

std::int64_t random_classes(DType logits_dtype, const void* logits, std::int64_t rows, std::int64_t classes,
                            const StreamPlace& place, DType dtype, void* out, std::int64_t samples) {
  const auto draw = [&]<class T>(const T* typed) {
    return dtype == DType::int32
               ? draw_classes(typed, rows, classes, place, static_cast<std::int32_t*>(out), samples)
               : draw_classes(typed, rows, classes, place, static_cast<std::int64_t*>(out), samples);
  };
  return logits_dtype == DType::float32 ? draw(static_cast<const float*>(logits))
                                        : draw(static_cast<const double*>(logits));
}

void random_poisson(const double* lam, std::int64_t lam_count, const StreamPlace& place, DType dtype,
                    void* out, std::int64_t count) {
  const std::span means(lam, static_cast<std::size_t>(lam_count));
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) draw_poisson(means, place, static_cast<T*>(out), count);
  });
}

void random_binomial(const double* counts, const double* probabilities, const StreamPlace& place, DType dtype,
                     void* out, std::int64_t count) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      const double highest = static_cast<double>(std::numeric_limits<T>::max());
      T* const numbers = static_cast<T*>(out);
      for_blocks(count, grain_for(80.0), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const double value = binomial_value(counts[i], probabilities[i], place, i);
          numbers[i] = value >= highest ? std::numeric_limits<T>::max() : static_cast<T>(value);
        }
      });
    }
  });
}

void random_gamma(DType dtype, const void* alpha, std::int64_t alpha_count, const StreamPlace& place,
                  void* out, std::int64_t count) {
  if (dtype == DType::float32)
    draw_gamma(static_cast<const float*>(alpha), alpha_count, place, static_cast<float*>(out), count);
  else
    draw_gamma(static_cast<const double*>(alpha), alpha_count, place, static_cast<double*>(out), count);
}

}  // namespace tapedeck::cpu
