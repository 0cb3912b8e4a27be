// How work for a view learns that nobody waits for it any longer.
#pragma once

#include <atomic>

namespace tapedeck {

/// Thrown out of work whose flag was set.
struct Cancelled {};

using CancelFlag = std::atomic<bool>;

inline void check_cancelled(const CancelFlag* flag) {
  if (flag && flag->load(std::memory_order_relaxed)) throw Cancelled();
}

}  // namespace tapedeck
