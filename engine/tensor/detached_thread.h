// A thread that works behind everybody's back until the process ends.
#pragma once

namespace tapedeck::detail {

/// It gets no signals: those are for the host's main thread. False where the system has no thread to give.
bool start_detached_thread(void (*body)()) noexcept;

}  // namespace tapedeck::detail
