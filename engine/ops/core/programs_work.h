// Whose work a thread does.
#pragma once

#include "engine/ops/core/thread_state.h"

namespace tapedeck {

/// False inside of QuietScope and UnobservedScope: what replays or the debugger's own code run leaves nothing
/// in the program's curves, files and logs.
inline bool is_programs_work() {
  return detail::thread_state.quiet == 0 && detail::thread_state.unobserved == 0;
}

}  // namespace tapedeck
