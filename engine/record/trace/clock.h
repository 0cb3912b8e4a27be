// The clock of records: it is read twice per op, so it is the cheapest available.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tapedeck::clock {

namespace detail {
/// Nanoseconds per tick of the processor's counter; 0 if it does not run at a constant rate. Measured once.
double measure_tick();
extern const double tick_ns;
}  // namespace detail

/// Ticks at a constant rate; only differences are meaningful.
inline std::int64_t ticks() {
#if defined(__x86_64__)
  if (detail::tick_ns > 0) return static_cast<std::int64_t>(__rdtsc());
#endif
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

inline std::int64_t nanoseconds(std::int64_t ticks) {
  return detail::tick_ns > 0 ? static_cast<std::int64_t>(static_cast<double>(ticks) * detail::tick_ns)
                             : ticks;
}

/// The inverse of nanoseconds(): the ticks that give this number, or the nearest to it.
inline std::int64_t ticks_of(std::int64_t nanoseconds) {
  if (detail::tick_ns <= 0) return nanoseconds;
  // Slightly more than the quotient: nanoseconds() rounds down.
  return static_cast<std::int64_t>(static_cast<double>(nanoseconds) / detail::tick_ns + 0.999);
}

}  // namespace tapedeck::clock
