#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/elements.h"

namespace tapedeck::cpu {
namespace {

constexpr double update_cost = 1.0;  // nanoseconds an element, to choose blocks
constexpr std::int64_t streamed_update_bytes = std::int64_t{16}
                                               << 20;  // see streaming_bytes in elementwise.cpp
constexpr std::int64_t past_cache_chunk = 512;         // elements that are written at once

/// The arrays from an element on.
UpdateArrays arrays_from(const UpdateArrays& arrays, std::int64_t begin, std::size_t size) {
  UpdateArrays part = arrays;
  for (std::size_t k = 0; k < arrays.targets; ++k) {
    part.from[k] = at(arrays.from[k], begin, size);
    part.to[k] = at(arrays.to[k], begin, size);
  }
  part.gradient = at(arrays.gradient, begin, size);
  return part;
}

/// Results that leave the cache before they are read bypass it: their lines need not be read first.
void update_past_cache(UpdateLoop loop, const UpdateArrays& arrays, const double* numbers, std::int64_t count,
                       std::size_t size) {
  alignas(64) std::byte buffers[most_targets][past_cache_chunk * sizeof(double)];
  for (std::int64_t i = 0; i < count; i += past_cache_chunk) {
    const std::int64_t n = std::min(past_cache_chunk, count - i);
    UpdateArrays part = arrays_from(arrays, i, size);
    const auto results = part.to;
    for (std::size_t k = 0; k < arrays.targets; ++k) part.to[k] = buffers[k];
    loop(part, numbers, n);
    for (std::size_t k = 0; k < arrays.targets; ++k)
      loops().stream(results[k], buffers[k], static_cast<std::size_t>(n) * size);
  }
}

template <class T>
std::int64_t sum_rows_of(const T* from, const std::int64_t* numbers, std::int64_t row_count,
                         std::int64_t width, std::int64_t* distinct, T* to) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(row_count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return numbers[a] < numbers[b]; });
  std::vector<std::int64_t> begins;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t row = numbers[order[i]];
    if (i > 0 && row == distinct[begins.size() - 1]) continue;
    distinct[begins.size()] = row;
    begins.push_back(static_cast<std::int64_t>(i));
  }
  const auto count = static_cast<std::int64_t>(begins.size());
  begins.push_back(row_count);
  const auto grain = std::max<std::int64_t>(1, grain_for(0.5) / std::max<std::int64_t>(1, width));
  for_blocks(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const auto first = static_cast<std::size_t>(begins[static_cast<std::size_t>(k)]);
      const auto last = static_cast<std::size_t>(begins[static_cast<std::size_t>(k) + 1]);
      T* sum = to + k * width;
      std::copy_n(from + order[first] * width, width, sum);
      for (std::size_t i = first + 1; i < last; ++i) {
        const T* more = from + order[i] * width;
        for (std::int64_t j = 0; j < width; ++j) sum[j] += more[j];
      }
    }
  });
  return count;
}

}  // namespace

void update(Update rule, DType dtype, const UpdateArrays& arrays, const double* numbers, std::int64_t count) {
  const UpdateLoop loop = loops().update[static_cast<int>(rule)][static_cast<int>(dtype)];
  const std::size_t size = item_size(dtype);
  const bool past_cache =
      !arrays.in_place && count * static_cast<std::int64_t>(size) >= streamed_update_bytes;
  const std::int64_t grain = grain_for(update_cost) / past_cache_chunk * past_cache_chunk;
  for_blocks(count, grain, [&](std::int64_t begin, std::int64_t end) {
    const UpdateArrays part = arrays_from(arrays, begin, size);
    if (past_cache)
      update_past_cache(loop, part, numbers, end - begin, size);
    else
      loop(part, numbers, end - begin);
  });
}

void update_rows(Update rule, DType dtype, const UpdateArrays& arrays, const double* numbers,
                 const std::int64_t* rows, std::int64_t count, std::int64_t width) {
  const UpdateLoop loop = loops().update[static_cast<int>(rule)][static_cast<int>(dtype)];
  const std::size_t size = item_size(dtype);
  const auto grain = std::max<std::int64_t>(1, grain_for(update_cost) / std::max<std::int64_t>(1, width));
  for_blocks(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      if (rows[k] < 0) continue;
      UpdateArrays row = arrays_from(arrays, rows[k] * width, size);
      row.gradient = at(arrays.gradient, k * width, size);
      loop(row, numbers, width);
    }
  });
}

std::int64_t sum_rows(DType dtype, const void* values, const std::int64_t* numbers, std::int64_t count,
                      std::int64_t width, std::int64_t* distinct, void* sums) {
  if (dtype == DType::float32)
    return sum_rows_of(static_cast<const float*>(values), numbers, count, width, distinct,
                       static_cast<float*>(sums));
  return sum_rows_of(static_cast<const double*>(values), numbers, count, width, distinct,
                     static_cast<double*>(sums));
}

}  // namespace tapedeck::cpu
