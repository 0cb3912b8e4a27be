// A background thread that runs until the process ends.
#pragma once

namespace tapedeck::detail {

/// Blocks all signals in it: those are for the host's main thread. Returns false if the system cannot create
/// a thread.
bool start_detached_thread(void (*body)()) noexcept;

}  // namespace tapedeck::detail
