// Loops that only one thread can run, in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "engine/cpu/parallel.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::cpu {

/// Releases the host's lock while it lives if the work is long enough for other threads to notice.
class LongWork {
 public:
  static constexpr std::int64_t few = 1 << 16;
  explicit LongWork(std::int64_t values) {
    if (values > few) unlock_.emplace();
  }

 private:
  std::optional<HostUnlock> unlock_;
};

/// Runs `body(begin, end)` over [0, count) in pieces, between which a user's interrupt takes effect.
template <class Body>
void in_order(std::int64_t count, Body&& body) {
  const LongWork work(count);
  for (std::int64_t begin = 0; begin < count; begin += LongWork::few) {
    check_stop();
    body(begin, std::min(count, begin + LongWork::few));
  }
}

}  // namespace tapedeck::cpu
