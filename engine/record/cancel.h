// Cancellation of work for a view.
#pragma once

#include <atomic>

namespace tapedeck {

/// Thrown by work whose flag is set.
struct Cancelled {};

using CancelFlag = std::atomic<bool>;

inline void check_cancelled(const CancelFlag* flag) {
  if (flag && flag->load(std::memory_order_relaxed)) throw Cancelled();
}

}  // namespace tapedeck
