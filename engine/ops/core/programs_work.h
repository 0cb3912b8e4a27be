// Whether a thread works for the program or for the debugger.
#pragma once

#include "engine/ops/core/thread_state.h"

namespace tapedeck {

/// False inside QuietScope and UnobservedScope: code run by replays or the debugger must not add to the
/// program's curves, files and logs.
inline bool is_programs_work() {
  return detail::thread_state.quiet == 0 && detail::thread_state.unobserved == 0;
}

}  // namespace tapedeck
