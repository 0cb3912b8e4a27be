// The engine's own threads.
#pragma once

#include <cstdint>
#include <functional>

namespace tapedeck::cpu {

/// Threads that kernels may use, the caller included. Starts at the number of cores that this process may
/// use.
int thread_count();
/// Throws InvalidArgumentError for less than 1.
void set_thread_count(int count);

/// Runs `body(begin, end)` over [0, count) in blocks of `grain` (the last may be shorter), on several
/// threads. Blocks do not depend on the number of threads, so a reduction that combines its blocks in order
/// gives the same bits on any machine. Runs inline where there is one block or one thread. Rethrows what a
/// body threw. Between blocks the calling thread checks for interrupts.
void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace tapedeck::cpu
