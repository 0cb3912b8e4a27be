#include "engine/record/trace/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tapedeck::clock::detail {

#if defined(__x86_64__)
double measure_tick() {
  // Advanced power management, leaf 8000_0007h: bit 8 of EDX says that the counter's rate never changes.
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || (d & 1u << 8) == 0) return 0;
  using Steady = std::chrono::steady_clock;
  const auto start = Steady::now();
  const std::uint64_t first = __rdtsc();
  while (Steady::now() - start < std::chrono::milliseconds(2)) {
  }
  const std::uint64_t last = __rdtsc();
  const std::chrono::duration<double, std::nano> time = Steady::now() - start;
  return last > first ? time.count() / static_cast<double>(last - first) : 0;
}
#else
double measure_tick() {
  return 0;
}
#endif

const double tick_ns = measure_tick();

}  // namespace tapedeck::clock::detail
