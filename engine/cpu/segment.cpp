#include "engine/cpu/segment.h"

#include <algorithm>

#include "engine/cpu/blocks.h"

namespace tapedeck::cpu {
namespace {

/// Threads take columns, so every sum keeps its order.
template <class T>
void add_rows(const T* rows, const std::int64_t* segments, std::int64_t count, std::int64_t width,
              T* target) {
  const auto grain = std::max<std::int64_t>(16, 65536 / std::max<std::int64_t>(1, count));
  for_blocks(width, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < count; ++i) {
      const T* from = rows + i * width;
      T* to = target + segments[i] * width;
      for (std::int64_t j = begin; j < end; ++j) to[j] = static_cast<T>(to[j] + from[j]);
    }
  });
}

}  // namespace

void segment_sum(DType dtype, const void* rows, const std::int64_t* segments, std::int64_t count,
                 std::int64_t width, void* target) {
  const auto add = [&]<class T>(T* typed) {
    add_rows(static_cast<const T*>(rows), segments, count, width, typed);
  };
  switch (dtype) {
    case DType::int32:
      return add(static_cast<std::uint32_t*>(target));  // unsigned: overflow wraps around
    case DType::int64:
      return add(static_cast<std::uint64_t*>(target));
    case DType::float32:
      return add(static_cast<float*>(target));
    case DType::float64:
      return add(static_cast<double*>(target));
    case DType::bool_:
      break;
  }
}

}  // namespace tapedeck::cpu
