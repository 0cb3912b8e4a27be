// Adds up the threads' partial sums.
#pragma once

#include <cstdint>

#include "engine/cpu/blocks.h"

namespace tapedeck::cpu {

/// out[i] += part[i] for `parts` consecutive arrays of `count` values, in order.
template <class T>
void add_parts(T* out, const T* part, std::int64_t parts, std::int64_t count) {
  if (parts == 0) return;
  for_blocks(count, grain_for(0.3 * static_cast<double>(parts)), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = 0; k < parts; ++k)
      for (std::int64_t i = begin; i < end; ++i) out[i] += part[k * count + i];
  });
}

}  // namespace tapedeck::cpu
