// Loops of batch and layer normalization. What is added up along a row goes into lanes of 64 bytes, two
// vectors at a time, so that every instruction set gives the same bits.
#include "engine/cpu/dispatch.h"
#include "engine/cpu/vector/wide.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

template <class T>
constexpr std::int64_t lanes = 64 / static_cast<std::int64_t>(sizeof(T));
template <class T>
using Lanes = Wide<T, static_cast<int>(lanes<T>)>;

template <class T>
TAPEDECK_INLINE T sum_of_lanes(const Lanes<T>& first, const Lanes<T>& second) {
  T both[lanes<T>];
  store(first + second, both);
  T sum = 0;
  for (const T one : both) sum += one;
  return sum;
}

/// Σ (x − mean)².
template <class T>
T spread(const T* x, std::int64_t count, T mean) {
  Lanes<T> sums[2] = {}, values[2];
  std::int64_t i = 0;
  for (; i + 2 * lanes<T> <= count; i += 2 * lanes<T>)
    for (int part = 0; part < 2; ++part) {
      load(values[part], x + i + part * lanes<T>);
      values[part] -= mean;
      sums[part] += values[part] * values[part];
    }
  T sum = sum_of_lanes<T>(sums[0], sums[1]);
  for (; i < count; ++i) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}

/// Σ h and Σ h·(x − mean) with h = dy·scale, or dy where scale is null.
template <class T>
void products(const T* dy, const T* x, const T* scale, std::int64_t count, T mean, T* sums) {
  Lanes<T> plain[2] = {}, weighted[2] = {}, h, values;
  std::int64_t i = 0;
  for (; i + 2 * lanes<T> <= count; i += 2 * lanes<T>)
    for (int part = 0; part < 2; ++part) {
      const std::int64_t at = i + part * lanes<T>;
      load(h, dy + at);
      if (scale) {
        load(values, scale + at);
        h *= values;
      }
      load(values, x + at);
      plain[part] += h;
      weighted[part] += h * (values - mean);
    }
  sums[0] = sum_of_lanes<T>(plain[0], plain[1]);
  sums[1] = sum_of_lanes<T>(weighted[0], weighted[1]);
  for (; i < count; ++i) {
    const T last = scale ? dy[i] * scale[i] : dy[i];
    sums[0] += last;
    sums[1] += last * (x[i] - mean);
  }
}

template <class T>
void normalize(const T* __restrict x, std::int64_t count, T mean, T factor, T offset, T* __restrict y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * factor + offset;
}

template <class T>
void normalize_row(const T* __restrict x, std::int64_t count, T mean, T factor, const T* __restrict scale,
                   const T* __restrict offset, T* __restrict y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = (x[i] - mean) * factor * scale[i] + offset[i];
}

template <class T>
void normalize_columns(const T* __restrict x, std::int64_t rows, std::int64_t width, const T* __restrict mean,
                       const T* __restrict factor, const T* __restrict offset, T* __restrict y) {
  for (std::int64_t row = 0; row < rows; ++row, x += width, y += width)
    for (std::int64_t j = 0; j < width; ++j) y[j] = (x[j] - mean[j]) * factor[j] + offset[j];
}

template <class T>
void spread_columns(const T* __restrict x, std::int64_t rows, std::int64_t width, const T* __restrict mean,
                    T* __restrict out) {
  for (std::int64_t j = 0; j < width; ++j) out[j] = 0;
  std::int64_t row = 0;
  for (; row + 2 <= rows; row += 2) {
    const T* __restrict first = x + row * width;
    const T* __restrict second = first + width;
    for (std::int64_t j = 0; j < width; ++j) {
      const T a = first[j] - mean[j], b = second[j] - mean[j];
      out[j] += a * a + b * b;
    }
  }
  for (; row < rows; ++row)
    for (std::int64_t j = 0; j < width; ++j) {
      const T a = x[row * width + j] - mean[j];
      out[j] += a * a;
    }
}

template <class T>
void products_of_columns(const T* __restrict dy, const T* __restrict x, std::int64_t rows, std::int64_t width,
                         const T* __restrict mean, T* __restrict plain, T* __restrict weighted) {
  for (std::int64_t j = 0; j < width; ++j) plain[j] = weighted[j] = 0;
  for (std::int64_t row = 0; row < rows; ++row, dy += width, x += width)
    for (std::int64_t j = 0; j < width; ++j) {
      plain[j] += dy[j];
      weighted[j] += dy[j] * (x[j] - mean[j]);
    }
}

template <class T>
void gradient(const T* __restrict dy, const T* __restrict x, std::int64_t count, T mean,
              const NormalGradient<T>& of, T* __restrict dx) {
  for (std::int64_t i = 0; i < count; ++i)
    dx[i] = of.factor * (dy[i] - of.plain - (x[i] - mean) * of.weighted);
}

template <class T>
void gradient_of_row(const T* __restrict dy, const T* __restrict x, const T* __restrict scale,
                     std::int64_t count, T mean, const NormalGradient<T>& of, T* __restrict dx,
                     T* __restrict dscale, T* __restrict doffset) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T distance = x[i] - mean;
    dx[i] = of.factor * (dy[i] * scale[i] - of.plain - distance * of.weighted);
    dscale[i] += dy[i] * distance * of.factor;
    doffset[i] += dy[i];
  }
}

template <class T>
void gradient_of_columns(const T* __restrict dy, const T* __restrict x, std::int64_t rows, std::int64_t width,
                         const T* __restrict mean, const T* __restrict factor, const T* __restrict plain,
                         const T* __restrict weighted, T* __restrict dx) {
  for (std::int64_t row = 0; row < rows; ++row, dy += width, x += width, dx += width)
    for (std::int64_t j = 0; j < width; ++j)
      dx[j] = factor[j] * (dy[j] - plain[j] - (x[j] - mean[j]) * weighted[j]);
}

template <class T>
NormalizationLoops<T> loops_of() {
  return {.spread = spread<T>,
          .products = products<T>,
          .normalize = normalize<T>,
          .normalize_row = normalize_row<T>,
          .normalize_columns = normalize_columns<T>,
          .spread_columns = spread_columns<T>,
          .products_of_columns = products_of_columns<T>,
          .gradient = gradient<T>,
          .gradient_of_row = gradient_of_row<T>,
          .gradient_of_columns = gradient_of_columns<T>};
}

}  // namespace

void add_normalization(LoopTable& table) {
  table.normalize_float = loops_of<float>();
  table.normalize_double = loops_of<double>();
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
