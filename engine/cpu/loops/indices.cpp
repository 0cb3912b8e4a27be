#include <atomic>
#include <cstring>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/elements.h"
#include "engine/cpu/loops/in_order.h"

namespace tapedeck::cpu {
namespace {

template <class T>
std::optional<BadIndex> check(const T* indices, std::int64_t count, std::int64_t low, std::int64_t high,
                              std::int64_t* out) {
  std::atomic<std::int64_t> first = count;  // the first bad one, whichever block finishes first
  for_blocks(count, grain_for(0.5), [=, &first](std::int64_t begin, std::int64_t end) {
    std::int64_t outside = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<std::int64_t>(indices[i]);
      outside |= static_cast<std::int64_t>(index < low) | static_cast<std::int64_t>(index >= high);
      out[i] = index;
    }
    if (outside == 0) return;
    std::int64_t place = begin;
    while (out[place] >= low && out[place] < high) ++place;
    std::int64_t before = first.load(std::memory_order_relaxed);
    while (place < before && !first.compare_exchange_weak(before, place, std::memory_order_relaxed)) {
    }
  });
  if (first == count) return std::nullopt;
  return BadIndex{first, out[first]};
}

template <class T>
void mark(std::size_t size, const T* indices, std::int64_t outer, std::int64_t depth, std::int64_t inner,
          const void* on, void* out) {
  for_blocks(outer * inner, grain_for(5), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<std::int64_t>(indices[i]);
      if (index >= 0 && index < depth)
        std::memcpy(at(out, (i / inner * depth + index) * inner + i % inner, size), on, size);
    }
  });
}

template <class T>
std::optional<std::int64_t> number_slices(const T* coordinates, std::int64_t rows, const Shape& shape,
                                          std::int64_t rows_per_batch, std::int64_t* out) {
  const int depth = shape.rank();
  const std::int64_t per_batch = element_count(shape);
  std::optional<std::int64_t> bad;
  in_order(rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end && !bad; ++row) {
      std::int64_t number = 0;
      for (int i = 0; i < depth; ++i) {
        const std::int64_t at = coordinates[row * depth + i];
        if (at < 0 || at >= shape[i]) {
          bad = row;
          break;
        }
        number = number * shape[i] + at;
      }
      out[row] = row / rows_per_batch * per_batch + number;
    }
  });
  return bad;
}

}  // namespace

std::optional<BadIndex> check_indices(DType dtype, const void* indices, std::int64_t count, std::int64_t low,
                                      std::int64_t high, std::int64_t* out, const std::string&) {
  if (dtype == DType::int32) return check(static_cast<const std::int32_t*>(indices), count, low, high, out);
  return check(static_cast<const std::int64_t*>(indices), count, low, high, out);
}

void one_hot(std::size_t size, DType dtype, const void* indices, std::int64_t outer, std::int64_t depth,
             std::int64_t inner, const void* on, const void* off, void* out) {
  fill(size, off, out, outer * depth * inner);
  if (dtype == DType::int32)
    mark(size, static_cast<const std::int32_t*>(indices), outer, depth, inner, on, out);
  else
    mark(size, static_cast<const std::int64_t*>(indices), outer, depth, inner, on, out);
}

std::optional<std::int64_t> slice_numbers(DType dtype, const void* coordinates, std::int64_t rows,
                                          const Shape& shape, std::int64_t rows_per_batch, std::int64_t* out,
                                          const std::string&) {
  if (dtype == DType::int32)
    return number_slices(static_cast<const std::int32_t*>(coordinates), rows, shape, rows_per_batch, out);
  return number_slices(static_cast<const std::int64_t*>(coordinates), rows, shape, rows_per_batch, out);
}

std::optional<std::int64_t> invert_permutation(const std::int64_t* x, std::int64_t count, std::int64_t* out,
                                               const std::string&) {
  constexpr std::int64_t nowhere = -1;
  fill(sizeof nowhere, &nowhere, out, count);
  std::optional<std::int64_t> twice;
  in_order(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end && !twice; ++i) {
      std::int64_t& place = out[x[i]];
      if (place != nowhere)
        twice = i;
      else
        place = i;
    }
  });
  return twice;
}

}  // namespace tapedeck::cpu
