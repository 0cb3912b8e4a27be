// parallel_for without the cost of a std::function for small work.
#pragma once

#include <functional>

#include "engine/cpu/parallel.h"

namespace tapedeck::cpu {

/// Runs `body(begin, end)` over [0, count) in blocks of `grain`; one block runs inline.
template <class Body>
void for_blocks(std::int64_t count, std::int64_t grain, Body&& body) {
  if (count <= grain) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
  parallel_for(count, grain, std::ref(body));
}

/// How many work items of `cost` nanoseconds each make a block large enough for a separate thread (about 20
/// µs).
constexpr std::int64_t grain_for(double cost) {
  return cost >= 20000.0 ? 1 : static_cast<std::int64_t>(20000.0 / cost);
}

}  // namespace tapedeck::cpu
