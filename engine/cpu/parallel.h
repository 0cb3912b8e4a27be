// The engine's own threads.
#pragma once

#include <cstdint>
#include <functional>

namespace tapedeck::cpu {

/// Threads that kernels may use, the caller included. The default is the number of cores that this process
/// may use.
int thread_count();
/// Throws InvalidArgumentError for a count below 1.
void set_thread_count(int count);

/// Runs `body(begin, end)` over [0, count) in blocks of `grain` (the last may be shorter), on several
/// threads. Blocks do not depend on the number of threads, so a reduction that combines its blocks in order
/// gives the same bits on any machine. Runs inline where there is one block or one thread. Rethrows what a
/// body threw. Between blocks the calling thread checks for interrupts.
void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& body);

/// For long work, inside a block or outside: throws if the work must end. On the thread that runs the op it
/// throws Interrupted if the user interrupted; on a worker it throws if another block of its job has thrown.
/// Costs about 30 ns: to be called about once per millisecond.
void check_stop();

}  // namespace tapedeck::cpu
